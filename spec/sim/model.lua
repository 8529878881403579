-- SPDX-License-Identifier: MIT

-- The reference: what `ebb` does for a script, in plain Lua, without a
-- journal, a process or a clock. Given the outcomes of steps in the order in
-- which they came, it says what the script saw, and which outcomes cannot be.
--
-- Branches are coroutines; one runs when what it waits for has come. A cancel
-- is wanted of a branch until an error tells it; cleanup is shielded from it.

local library = require "library"

local model = {}

local machine = {}
machine.__index = machine

-- What a branch yields while it waits, through the script's own coroutines.
local WAIT = {}

local function wait()
  coroutine.yield(WAIT)
end

-- coroutine.wrap of a script. An error that left a coroutine would close its
-- scopes where they cannot wait.
local function wrap(fn)
  local ended = false
  local co = coroutine.create(function(...)
    local results = table.pack(pcall(fn, ...))
    ended = true
    return table.unpack(results, 1, results.n)
  end)
  return function(...)
    local got = table.pack(coroutine.resume(co, ...))
    while got[2] == WAIT do
      wait()
      got = table.pack(coroutine.resume(co))
    end
    if ended and not got[2] then
      error(got[3], 0)
    end
    return table.unpack(got, ended and 3 or 2, got.n)
  end
end

function machine:problem(text, ...)
  self.problems[#self.problems + 1] = text:format(...)
end

-- ---- branches ----

function machine:wake(branch)
  if branch and not branch.ended and not branch.is_ready then
    branch.is_ready = true
    self.ready[#self.ready + 1] = branch
  end
end

function machine:branch(path, fn, ...)
  local function body(...)
    return pcall(fn, ...) -- an error that leaves a coroutine closes nothing
  end
  local branch = { path = path, steps = 0, shield = 0,
    co = coroutine.create(body), args = table.pack(...) }
  self:wake(branch)
  return branch
end

function machine:finish(branch, ok, ...)
  branch.ended, branch.ok, branch.results = true, ok, table.pack(...)
  local group = branch.group
  if group then
    group.ended[#group.ended + 1] = branch
    group.running = group.running - 1
    self:wake(group.waiter)
  end
end

function machine:resume(branch, ...)
  self.current = branch
  local results = table.pack(coroutine.resume(branch.co, ...))
  self.current = nil
  if coroutine.status(branch.co) == "dead" then
    self:finish(branch, table.unpack(results, 2, results.n))
  end
end

function machine:run()
  while #self.ready > 0 do
    local branch = table.remove(self.ready, 1)
    branch.is_ready = false
    local args = branch.args
    branch.args = nil
    if args and branch.cancel then
      self:finish(branch, false, { code = "cancelled" }) -- it never began
    elseif args then
      self:resume(branch, table.unpack(args, 1, args.n))
    else
      self:resume(branch)
    end
  end
end

-- One that was interrupted from outside may hear of this one too: a later life
-- does not know any more that there was another.
local function cancel(branch)
  local again = branch.cancel ~= nil
  if branch.ended or again and not branch.interrupted then
    return
  end
  branch.cancel = branch.cancel or "wanted"
  branch.again = again
  local waits = branch.wait or branch.waits and branch.waits.step
  if branch.shield == 0 and waits then
    waits.cancel = true
  end
end

-- ---- steps ----

function machine:ask(name, input)
  local branch = self.current
  branch.steps = branch.steps + 1
  local path = branch.path .. branch.steps
  local step = { path = path, name = name, input = input, branch = branch,
    in_cleanup = branch.shield > 0 }
  if self.asked[path] then
    self:problem("step %s is asked for twice", path)
  end
  self.asked[path] = step
  if branch.cancel == "wanted" and branch.shield == 0 then
    step.cancel, step.too_late = true, true
  elseif branch.again and branch.shield == 0 then
    step.cancel = true
  end
  return step
end

-- What the branch gets of an outcome.
local function outcome_of(branch, row)
  if not row.failed then
    return row.outcome
  end
  if branch.cancel == "wanted" and branch.shield == 0
      and row.outcome.code == "cancelled" then
    branch.cancel = "told"
  end
  error(row.outcome, 0)
end

function machine:leaf(name, input)
  local branch = self.current
  local step = self:ask(name, input)
  branch.wait = step
  while not step.row do
    wait()
  end
  branch.wait = nil
  return outcome_of(branch, step.row)
end

-- ---- groups: branches that end together ----

local group = {}
group.__index = group

function machine:group(name, input, timed)
  return setmetatable({ machine = self, branch = self.current,
    step = self:ask(name, input), timed = timed, ended = {}, children = {},
    running = 0 }, group)
end

function group:start(fn, ...)
  local index = #self.children + 1
  local child = self.machine:branch(
    ("%s.%d/"):format(self.step.path, index), fn, ...)
  child.group, child.index = self, index
  self.children[index] = child
  self.running = self.running + 1
  return index
end

function group:pause()
  self.branch.waits, self.waiter = self, self.branch
  wait()
  self.branch.waits, self.waiter = nil, nil
end

-- index, ok, results… of the next to end; nothing: its time was up
function group:next()
  while true do
    if self.step.row then
      outcome_of(self.branch, self.step.row)
      if not self.timed then
        self.machine:problem("step %s has an outcome before it has an end",
          self.step.path)
      end
      return nil
    end
    local child = table.remove(self.ended, 1)
    if child then
      return child.index, child.ok,
        table.unpack(child.results, 1, child.results.n)
    elseif self.running == 0 then
      return nil
    end
    self:pause()
  end
end

-- Waits until it is recorded which branch decided; returns that.
function group:decide(branch, outcome)
  if not self.step.row then
    self.step.decided = { branch = branch, outcome = outcome }
  end
  while not self.step.row do
    self:pause()
  end
  return outcome_of(self.branch, self.step.row).branch
end

function group:__close()
  local branch = self.branch
  for _, child in ipairs(self.children) do
    cancel(child)
  end
  if not self.step.row then
    self.step.cancel = true
  end
  branch.shield = branch.shield + 1
  while self.running > 0 or not self.step.row do
    self:pause()
  end
  branch.shield = branch.shield - 1
end

local function environment(self)
  local ebb = library.make(self)
  local e2b = setmetatable({}, { __index = function(_, name)
    return function(input)
      return self:leaf("e2b." .. name, input)
    end
  end })
  return setmetatable({
    coroutine = { wrap = wrap, yield = coroutine.yield },
    require = function(name) return name == "ebb" and ebb or e2b end,
    see = function(text)
      if text:sub(1, 1) ~= "=" then -- what only the run itself can know
        self.lines[#self.lines + 1] = text
      end
    end,
    effect = function() error("the model executes nothing") end,
  }, { __index = _G })
end

-- ---- outcomes ----

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end
model.same = same

-- Whether somebody outside cancelled it: the script itself, or what computed
-- just then, the function of a step or a task of the script's own.
function machine:cancelled_from_outside(step)
  if not self.cancels or step.branch.shield > 0 then
    return false
  end
  return step.branch == self.main or not step.name:find "^e[b2]b%."
end

function machine:check_cancelled(step)
  if step.cancel then
    return
  elseif self:cancelled_from_outside(step) then
    step.branch.cancel = step.branch.cancel or "wanted"
    step.branch.interrupted = true
  else
    self:problem("step %s was cancelled by nobody", step.path)
  end
end

function machine:check_group(step, row)
  local timed_out = step.name == "ebb.timeout" and row.outcome.branch == 0
  if not timed_out and not same(step.decided, row.outcome) then
    self:problem("step %s was decided otherwise: %s by %s", step.path,
      tostring(row.outcome.outcome), tostring(row.outcome.branch))
  end
end

local groups = { ["ebb.parallel"] = true, ["ebb.map"] = true,
  ["ebb.settle"] = true, ["ebb.race"] = true, ["ebb.timeout"] = true }

function machine:deliver(row)
  local step = self.asked[row.path]
  if not step or step.row then
    self:problem("an outcome of step %s (%s), which nobody waits for",
      row.path, row.name)
    return
  end
  local code = row.failed and row.outcome.code
  if step.name ~= row.name then
    self:problem("step %s is %s, recorded is %s", row.path, step.name,
      row.name)
  elseif row.input and not same(step.input, row.input) then
    self:problem("step %s has another input", row.path)
  elseif code == "cancelled" then
    self:check_cancelled(step)
  elseif step.too_late and code ~= "outcome_unknown" then
    self:problem("step %s was asked for after the cancel, and ran", row.path)
  elseif groups[row.name] then
    self:check_group(step, row)
  end
  step.row = row
  self:wake(step.branch)
end

-- The script with these outcomes. cancels: somebody cancelled it from outside.
-- {lines=, problems=, ended=, ok=, value=, asked=}
function model.run(text, rows, cancels)
  local self = setmetatable({ asked = {}, ready = {}, lines = {},
    problems = {}, cancels = cancels }, machine)
  local fn = assert(load(text, "=model", "t", environment(self)))
  self.main = self:branch("", fn)
  self:run()
  for _, row in ipairs(rows) do
    if row.seq == 0 or #self.problems > 0 then
      break
    end
    self:deliver(row)
    self:run()
  end
  self.ended, self.ok = self.main.ended, self.main.ok
  self.value = self.main.results and self.main.results[1]
  return self
end

return model
