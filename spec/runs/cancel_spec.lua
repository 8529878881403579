-- SPDX-License-Identifier: MIT
-- `ebb runs cancel` of a run that is running, and of one whose process is dead:
-- on the real local service, nothing of either is left.

local cjson = require "cjson"
local durable = require "support.durable"
local interrupted = require "support.interrupted"

local build = os.getenv "EBB_BUILD" or "build"
local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)
before_each(function() runs:counts() end)

-- A command that a look at the machine's processes finds.
local COMMAND = "sleep 61.71"

local script = ([[
  local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
  local _ <close> = ebb.defer(ebb.step, "cleanup", function()
    return count "cleanup"
  end)
  count "ready"
  local ok, e = pcall(e2b.runCommand, { sandboxId = box.sandboxId,
    command = "%s" })
  count(ok and "ended" or e.code)
  if arg[1] ~= "on" then error(e, 0) end
  e2b.killSandbox { sandboxId = box.sandboxId }]]):format(COMMAND)

local function start(id, argument)
  local it = interrupted.start(runs.dir,
    ("%s %s/ebb --local --json run --id %s %s %s"):format(runs:environment(),
      build, id, runs:write(script), argument or ""))
  assert(interrupted.wait(20, function() return interrupted.runs(COMMAND) end))
  return it
end

local function check_nothing_left(id)
  assert.equal("[]\n", (runs:words "sandbox list --json"))
  assert.is_false(interrupted.runs(COMMAND))
  local run = cjson.decode((runs:words("--json runs show " .. id)))
  assert.equal("cancelled", run.state)
  assert.same({}, run.sandboxes)
end

describe("a second Ctrl-C", function()
  it("gives up at once, and the run stays interrupted", function()
    local it = interrupted.start(runs.dir,
      ("%s %s/ebb run --id twice %s"):format(runs:environment(), build,
        runs:write [[
          local _ <close> = ebb.defer(function()
            count "cleanup"
            ebb.sleep(60)
            count "never"
          end)
          ebb.step("one", function() return count "one" end)
          ebb.sleep(60)]]))
    local seen = {}
    local function await(name)
      assert(interrupted.wait(10, function()
        for _, got in ipairs((runs:counts())) do seen[got] = true end
        return seen[name]
      end), name)
    end
    await "one"
    it:signal "INT"
    await "cleanup"
    it:signal "INT"
    local ended = it:finish()
    assert.equal(130, ended.status)
    assert.is_true(ended.seconds < 2, ended.seconds)
    assert.truthy(ended.errors:find("the run stays interrupted", 1, true),
      ended.errors)
    local run = cjson.decode((runs:words "--json runs show twice"))
    assert.equal("interrupted", run.state)
    assert.equal("done", run.steps[1].state)
    runs:words "runs cancel twice"
    assert.same({}, (runs:counts()))
  end)
end)

describe("ebb runs cancel", function()
  it("ends a running run after its cleanup, and its sandbox", function()
    local it = start "running"
    local _, status, err = runs:words "runs cancel running"
    assert.equal(0, status, err)
    check_nothing_left "running"
    local ended = it:finish()
    assert.equal(130, ended.status)
    assert.equal("cancelled", ended.error.code)
    assert.same({ "ready", "cancelled", "cleanup" }, (runs:counts()))
  end)

  it("says so of a run that went on to another end", function()
    local it = start("goes", "on")
    local _, status, err = runs:words "runs cancel goes"
    assert.equal(1, status)
    assert.truthy(err:find("run goes has ended already (done)", 1, true), err)
    assert.equal(0, it:finish().status)
    assert.same({ "ready", "cancelled", "cleanup" }, (runs:counts()))
  end)

  it("ends a run whose process is dead, with its command", function()
    local it = start "dead"
    it:signal "KILL"
    it:finish()
    assert.is_true(interrupted.runs(COMMAND))
    local _, status, err = runs:words "runs cancel dead"
    assert.equal(0, status, err)
    check_nothing_left "dead"
    assert.same({ "ready" }, (runs:counts()))
  end)

  it("ends a run whose process dies of being asked", function()
    local it = start "dies"
    it:signal "STOP"
    local asking = interrupted.start(runs.dir,
      ("%s %s/ebb --local runs cancel dies"):format(runs:environment(),
        build))
    os.execute "sleep 0.3"
    assert.is_false(asking:has_ended())
    it:signal "KILL"
    local ended = asking:finish()
    assert.equal(0, ended.status, ended.errors)
    check_nothing_left "dies"
    it:finish()
  end)
end)
