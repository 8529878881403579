-- SPDX-License-Identifier: MIT
-- Two processes and one run: who has lost it does nothing more. Counted by the
-- scripted server, which acts on a request once it has read it.

local cjson = require "cjson"
local durable = require "support.durable"
local interrupted = require "support.interrupted"
local scripted = require "support.scripted"

local build = os.getenv "EBB_BUILD" or "build"
local runs, cloud

before_each(function() runs = durable.open() end)
after_each(function()
  scripted.stop_all()
  runs:close()
end)

local function account()
  return ("EBB_LOCAL= E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=e2b_%s")
    :format(cloud.url, cloud.url, ("0"):rep(40))
end

local function start(words)
  return interrupted.start(runs.dir, ("%s %s %s/ebb --json %s"):format(
    runs:environment(), account(), build, words))
end

local function program(words)
  return runs:program("--json " .. words, account())
end

local function show(id)
  local run = cjson.decode((program("runs show " .. id)))
  run.ageMs = nil
  return run
end

-- How often the server acted on a command with [name].
local function executed(name)
  local n = 0
  for _, request in ipairs(cloud:requests()) do
    if request.executed and (request.body or ""):find("[" .. name .. "]", 1,
        true) then
      n = n + 1
    end
  end
  return n
end

local function await_execution(name)
  assert(interrupted.wait(10, function() return executed(name) > 0 end),
    name .. " was never executed")
end

-- The last thing it wrote: a process that is stopped while it writes would hold
-- the journal's lock.
local function await_sleep()
  await_execution "one"
  assert(interrupted.wait(10, function()
    local steps = show("r").steps
    return steps[#steps].name == "ebb.sleep"
  end), "it does not sleep")
end

local three = [[
  local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
  local seen = {}
  for _, name in ipairs { "one", "two", "three" } do
    ebb.step("before " .. name, function() return count(name) end,
      { class = "read" })
    local ok, e = pcall(e2b.runCommand, { sandboxId = box.sandboxId,
      command = "true # [" .. name .. "]" })
    seen[#seen + 1] = ok and name or e.code
    if name == arg[1] then ebb.sleep(60) end
  end
  e2b.killSandbox { sandboxId = box.sandboxId }
  return table.concat(seen, " ")]]

describe("an owner that was stopped while its run was taken over", function()
  -- Its process is stopped where `stopped` waits for it to be.
  local function take_over(argument, stopped)
    local words = ("run --id r %s %s"):format(runs:write(three), argument)
    local owner = start(words)
    stopped()
    owner:signal "STOP"
    local _, status, err = program "runs resume r"
    assert.equal(6, status)
    assert.equal("owned", cjson.decode(err:match "[^\n]+\n$").code)
    return owner, words
  end

  local function check_stale(owner)
    owner:signal "CONT"
    local ended = owner:finish()
    assert.equal(6, ended.status)
    assert.equal("lost_ownership", ended.error.code)
    assert.equal("", ended.out)
  end

  it("stops before its next effect, its command in flight (A16)", function()
    cloud = scripted.start { { on = "POST /process.Process/Start", skip = 1,
      times = 1, delay = 1500 } }
    local owner, words = take_over("", function() await_execution "two" end)
    local out, status, err = program "runs resume r --take-over"
    assert.equal(0, status, err)
    assert.equal("one outcome_unknown three", (out:gsub('[\n"]', "")))
    local run = show "r"
    check_stale(owner)
    for _, name in ipairs { "one", "two", "three" } do
      assert.equal(1, executed(name), name)
    end
    assert.same(run, show "r")
    assert.equal("done", run.state)
    assert.equal(1, #cloud:requests "DELETE /.*")
    assert.equal(out, (program(words)))
  end)

  it("stops before its next effect, in between (A16)", function()
    cloud = scripted.start()
    local owner = take_over("one", await_sleep)
    local second = start "runs resume r --take-over"
    assert(interrupted.wait(10, function()
      return second:read "pid" ~= "" and
        show("r").owner.pid == tonumber(second:read "pid")
    end))
    check_stale(owner)
    assert.equal(0, executed "two")
    second:signal "KILL"
    second:finish()
    program "runs cancel r"
    assert.equal("cancelled", show("r").state)
    assert.equal(1, executed "one")
    assert.same({ "one" }, (runs:counts()))
  end)

  it("cannot catch that, and its cleanup does nothing (A16)", function()
    cloud = scripted.start()
    local text = [[
      local _ <close> = ebb.defer(function()
        ebb.step("cleanup", function() count "cleanup" end)
      end)
      local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
      e2b.runCommand { sandboxId = box.sandboxId, command = "true # [one]" }
      local function try(name)
        return pcall(e2b.runCommand, { sandboxId = box.sandboxId,
          command = "true # [" .. name .. "]" })
      end
      pcall(ebb.sleep, tonumber(arg[1]))
      local ok, e = try "two"
      count(ok and "went on" or e.code)
      try "three"]]
    local owner = start(("run --id r %s 2"):format(runs:write(text)))
    await_sleep()
    owner:signal "STOP"
    local _, status, err = program "runs resume r --take-over"
    assert.equal(0, status, err)
    assert.same({ "went on", "cleanup" }, (runs:counts()))
    owner:signal "CONT"
    local ended = owner:finish()
    assert.equal(6, ended.status)
    assert.equal("lost_ownership", ended.error.code)
    assert.same({ "lost_ownership" }, (runs:counts()))
    for _, name in ipairs { "one", "two", "three" } do
      assert.equal(1, executed(name), name)
    end
    assert.equal("done", show("r").state)
  end)
end)
