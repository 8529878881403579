-- SPDX-License-Identifier: MIT
-- require "ebb": running functions at once, waiting, steps, a script's tasks.
-- Everything that waits is made of the C side's groups: functions that were
-- started together have ended when their group is closed.

local core = ...

local ebb = {
  sleep = core.sleep,
  now = core.now,
  uuid = core.uuid,
  monotonic = core.monotonic,
  log = core.log,
  array = core.array,
  null = core.null,
  json = {
    encode = core.json_encode,
    decode = core.json_decode,
    null = core.null,
  },
}

local function fail(code, message, ...)
  core.raise(code, message:format(...))
end

-- The functions of a list, each checked before the first one starts.
local function check_functions(what, list)
  if type(list) ~= "table" then
    fail("invalid_input", "%s: expected a list of functions, got %s", what,
      type(list))
  end
  for i = 1, #list do
    core.check_callable(list[i], what, "item " .. i)
  end
  return #list
end

-- What a function ended with: its results, or its error raised.
local function finish(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

-- Keeps `limit` functions running until `count` have ended; start(i) gives the
-- group's next one, ended(i, ok, value) hears of each end.
local function run_all(group, count, limit, start, ended)
  local started = 0
  while started < count and started < limit do
    started = started + 1
    start(started)
  end
  for _ = 1, count do
    ended(group:next())
    if started < count then
      started = started + 1
      start(started)
    end
  end
end

-- In a durable run each of these functions is a step: group:decide records
-- what decided, before the script sees it.
local function collect(group, results)
  return function(index, ok, ...)
    if not ok then
      group:decide(index, "failed")
    end
    results[index] = finish(ok, ...)
  end
end

-- All at once; the first error cancels the others and is raised.
function ebb.parallel(functions)
  local count = check_functions("ebb.parallel", functions)
  local results = {}
  local group <close> = core.group("ebb.parallel", { functions = count })
  run_all(group, count, count, function(i)
    group:start(functions[i])
  end, collect(group, results))
  group:decide(0, "ended")
  return results
end

local function check_limit(options, count)
  if options == nil then
    return count
  end
  if type(options) ~= "table" then
    fail("invalid_input", "ebb.map: expected options, got %s", type(options))
  end
  for key in pairs(options) do
    if key ~= "limit" then
      fail("invalid_input", "ebb.map: unknown option '%s' (there is limit)",
        tostring(key))
    end
  end
  local limit = options.limit or count
  if math.type(limit) ~= "integer" and
      not (math.type(limit) == "float" and limit == math.floor(limit)) or
      limit < 1 and count > 0 then
    fail("invalid_input", "ebb.map: limit: expected an integer from 1, got %s",
      tostring(options.limit))
  end
  return limit
end

-- fn(item, index) over a list, at most `limit` at a time, results in order.
function ebb.map(list, fn, options)
  if type(list) ~= "table" then
    fail("invalid_input", "ebb.map: expected a list, got %s", type(list))
  end
  core.check_callable(fn, "ebb.map", "function")
  local count = #list
  local limit = check_limit(options, count)
  local results = {}
  local group <close> = core.group("ebb.map",
    { items = count, limit = math.tointeger(limit) })
  run_all(group, count, limit, function(i)
    group:start(fn, list[i], i)
  end, collect(group, results))
  group:decide(0, "ended")
  return results
end

-- As parallel, but each function's end is told and none is raised.
function ebb.settle(functions)
  local count = check_functions("ebb.settle", functions)
  local ends = {}
  local group <close> = core.group("ebb.settle", { functions = count })
  run_all(group, count, count, function(i)
    group:start(functions[i])
  end, function(index, ok, value)
    ends[index] = ok and { ok = true, value = value }
      or { ok = false, error = value }
  end)
  group:decide(0, "ended")
  return ends
end

local function first_end(group, index, ...)
  group:decide(index, "ended first")
  return finish(...)
end

-- The first to end decides, by its result or its error.
function ebb.race(functions)
  local count = check_functions("ebb.race", functions)
  if count == 0 then
    fail("invalid_input", "ebb.race: expected at least one function")
  end
  local group <close> = core.group("ebb.race", { functions = count })
  for i = 1, count do
    group:start(functions[i])
  end
  return first_end(group, group:next())
end

-- Raises `timeout` when fn takes longer, and cancels what it has in flight.
function ebb.timeout(seconds, fn, ...)
  core.check_seconds(seconds, "ebb.timeout")
  core.check_callable(fn, "ebb.timeout", "function")
  local group <close> = core.group("ebb.timeout", { seconds = seconds },
    seconds)
  local work = group:start(fn, ...)
  if not group:is_step() then
    group:start(core.sleep, seconds)
  end
  return (function(index, ...)
    if index ~= work or group:decide(work, "ended in time") ~= work then
      fail("timeout", "ebb.timeout: not done within %.14g s", seconds)
    end
    return finish(...)
  end)(group:next())
end

-- Runs fn(...) at the end of the scope it is declared in, also when an error
-- or a cancel ends it; a cancel does not interrupt it. When there is an error
-- already, that one stays and a failure of fn is logged.
local deferred = {
  __name = "ebb.defer",
  __close = function(self, reason)
    local _ <close> = core.shield()
    local ok, problem = pcall(self.fn, table.unpack(self, 1, self.n))
    if ok then
      return
    elseif reason == nil then
      error(problem, 0)
    end
    core.log("warn", "a deferred call failed: " ..
      tostring(problem):gsub("%z", " "))
  end,
}

core.scope(deferred.__close)

function ebb.defer(fn, ...)
  core.check_callable(fn, "ebb.defer", "function")
  local self = table.pack(...)
  self.fn = fn
  return setmetatable(self, deferred)
end

local function check_keys(what, given, known)
  for key in pairs(given) do
    if not known[key] then
      fail("invalid_input", "%s: unknown field '%s'", what, tostring(key))
    end
  end
end

local function run_step(fn)
  local _ <close> = core.hold_step()
  return (fn())
end

local classes = { none = true, read = true, lifecycle = true }

-- Runs fn once; what it returns is what its JSON form says. It may not wait:
-- no task, sleep or other step inside.
function ebb.step(name, fn, options)
  if type(name) ~= "string" or name == "" then
    fail("invalid_input", "ebb.step: name: expected a string, got %s",
      name == "" and "an empty one" or type(name))
  end
  core.check_callable(fn, "ebb.step", "function")
  if options ~= nil then
    check_keys("ebb.step", options, { class = true })
    if options.class ~= nil and not classes[options.class] then
      fail("invalid_input", "ebb.step: class: '%s' is not none, read or "
        .. "lifecycle", tostring(options.class))
    end
  end
  local run, recorded = core.step_begin(name, options and options.class)
  if run then
    return core.step_end(pcall(run_step, fn))
  elseif run == false then
    return recorded
  end
  return core.json_form(run_step(fn), "ebb.step '" .. name .. "'")
end

-- A task of the script's own: checked, retried and listed as the twelve are.
-- run(input, attempt) returns the result or raises.
function ebb.task(config)
  if type(config) ~= "table" then
    fail("invalid_input", "ebb.task: expected one table, got %s", type(config))
  end
  check_keys("ebb.task", config,
    { name = true, fields = true, class = true, help = true, run = true })
  core.register(config.name, config.run, config.class, config.help,
    config.fields)
  return core.call(config.name)
end

return ebb
