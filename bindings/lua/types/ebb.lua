-- SPDX-License-Identifier: MIT
---@meta ebb
-- luacheck: ignore 212 241
-- What require "ebb" gives. For editors only: nothing loads this file.

---A failed call raises this table; `tostring` of it is one readable line.
---@class ebb.Error
---@field code string `timeout`, `not_found`, `cancelled`, … or `script`
---@field message string
---@field task? string
---@field sandboxId? string
---@field status? integer of HTTP, or an errno
---@field retryable boolean
---@field attempts integer
---@field retryAfterMs? integer
---@field details? table
---@field cause? table
---@field hint? string
---@field traceback? string of an error that ended the script

---@class ebb.MapOptions
---@field limit? integer how many run at once; all when left out

---@class ebb.Field
---@field name string
---@field type "string"|"bool"|"int"|"number"|"map"|"list"|"any"
---@field required? boolean
---@field default? any
---@field min? number
---@field max? number
---@field choices? string[]
---@field items? ebb.Field[] of a list's objects
---@field help? string

---@class ebb.Task
---@field name string such as `report.render`
---@field run fun(input: table, attempt: integer): any
---@field fields? ebb.Field[] any table is taken when left out
---@field class? "lifecycle"|"read"|"none" how it is tried again
---@field help? string

---@class ebb.Settled
---@field ok boolean
---@field value? any
---@field error? any

---@class ebb.Json
---@field null lightuserdata
local json = {}

---Exact, with keys in order. A table that is no JSON is an error with its path.
---@param value any
---@param pretty? boolean
---@return string
function json.encode(value, pretty) end

---Exact: integers stay integers, `[]` stays a list, null is `ebb.null`.
---@param text string
---@return any
function json.decode(text) end

---@class ebb
---@field null lightuserdata null inside a list; the same as `cjson.null`
---@field json ebb.Json
local ebb = {}

---Calls all at once on one thread; the first error cancels the others and is
---raised after they have ended.
---@param functions fun()[]
---@return any[] results
function ebb.parallel(functions) end

---`fn(item, index)` over a list, at most `limit` at a time, results in order.
---@generic T, R
---@param list T[]
---@param fn fun(item: T, index: integer): R
---@param options? ebb.MapOptions
---@return R[]
function ebb.map(list, fn, options) end

---As `ebb.parallel`, but never raises what a function raised.
---@param functions fun()[]
---@return ebb.Settled[]
function ebb.settle(functions) end

---The first to end decides, by its results or its error; the others are
---cancelled.
---@param functions fun()[]
---@return any ...
function ebb.race(functions) end

---Calls `fn(...)`; raises `timeout` when it takes longer, and cancels it.
---@param seconds number
---@param fn function
---@return any ...
function ebb.timeout(seconds, fn, ...) end

---In a durable run it ends at the recorded time, whatever was restarted.
---@param seconds number
function ebb.sleep(seconds) end

---`local _ <close> = ebb.defer(fn, ...)` calls `fn(...)` at the end of the
---scope, also when an error or a cancel ends it.
---@param fn function
---@return table
function ebb.defer(fn, ...) end

---Runs `fn` once; its result passes through JSON, at most 4,000,000 bytes in a
---durable run, which records it. It may not wait. When its outcome is unknown,
---class `none` raises `outcome_unknown`, the others run it again.
---@param name string
---@param fn fun(): any
---@param options? { class?: "none"|"read"|"lifecycle" }
---@return any
function ebb.step(name, fn, options) end

---A task of one's own, called as the twelve are.
---@param task ebb.Task
---@return fun(input?: table): any
function ebb.task(task) end

---Seconds since 1970, with fraction; in a durable run a step, so recorded.
---@return number
function ebb.now() end

---Seconds, for measuring, never for deciding.
---@return number
function ebb.monotonic() end

---Random; in a durable run derived from it and the place: the same again.
---@return string
function ebb.uuid() end

---In a durable run also a line of its log, once for each execution of the step
---it belongs to: the one whose function writes it, else the next.
---@param level "debug"|"info"|"warn"|"error"
---@param message string
---@param fields? table
function ebb.log(level, message, fields) end

---Marks a table as a list, so that an empty one is `[]`; returns it.
---@generic T: table
---@param list T
---@return T
function ebb.array(list) end

return ebb
