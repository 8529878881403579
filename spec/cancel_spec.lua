-- SPDX-License-Identifier: MIT
-- Cancelling: whoever asks for it, what ran is really gone, the error says
-- what came before, and cleanup still goes out.

local cjson = require "cjson"
local service = require "support.service"
local interrupted = require "support.interrupted"
local scripted = require "support.scripted"
local tasks = require "support.tasks"

-- Half a second and what a busy machine adds: behaviour, not speed.
local SOON_S = 2

local t, box, dir

setup(function()
  t = tasks.open()
  box = t:create "cancel"
  dir = t.ebb.dir
end)
teardown(function() t:close() end)
after_each(function() scripted.stop_all() end)

local build = os.getenv "EBB_BUILD" or "build"
local marks = 0

-- The argument of a sleep that nobody else on this machine has.
local function new_mark()
  marks = marks + 1
  return ("1234.%d%06d%d"):format(os.time(), math.random(999999), marks)
end

local function runs(mark) return interrupted.runs("sleep " .. mark) end

local function wait_until_runs(mark)
  assert(interrupted.wait(20, function() return runs(mark) end),
    "the command never ran")
end

-- On this machine and as the sandbox sees itself. Who waited for its end has
-- seen it already.
local function assert_gone(mark)
  assert.truthy(interrupted.wait(SOON_S, function() return not runs(mark) end),
    "sleep " .. mark .. " still runs")
  local seen = t:call("runCommand", { sandboxId = box,
    command = "ps -eo args | grep -c '[s]leep " .. mark .. "'" })
  assert.equal("0\n", seen.stdout.text)
end

local function start(words, input)
  return interrupted.start(dir, ("EBB_STATE=%s EBB_JOURNAL=%s/journal.db "
    .. "%s/ebb --local --json %s"):format(dir, dir, build, words), input)
end

local function call(task, input)
  return start("call e2b." .. task .. " -", cjson.encode(input))
end

-- Scripts begin with `box` and the modules.
local function script(text)
  return start("run -", ([[
    local e2b, ebb = require "e2b", require "ebb"
    local box = "%s"
    local function hang(mark)
      return e2b.runCommand{ sandboxId = box,
        command = "echo begun; sleep " .. mark .. "; echo over" }
    end
    local function caught(fn, ...)
      local ok, e = pcall(fn, ...)
      assert(not ok, "it did not fail")
      return { code = e.code, out = e.details and e.details.stdout
        and e.details.stdout.text, may = e.details and e.details.mayStillRun }
    end
  ]]):format(box) .. text)
end

-- What a script returns, which ends by itself.
local function result(text)
  local answer = script(text):finish()
  assert.equal(0, answer.status, answer.errors)
  return cjson.decode(answer.out), answer
end

describe("Ctrl-C in ebb call", function()
  it("kills the command with what it started, and shows its output",
    function()
      local one, two = new_mark(), new_mark()
      local it = call("runCommand", { sandboxId = box, command = ("trap '' "
        .. "INT TERM; echo begun; echo no >&2; sleep %s & sleep %s; echo over")
        :format(one, two) })
      wait_until_runs(one)
      wait_until_runs(two)
      it:signal "INT"
      local answer = it:finish()
      assert.equal(130, answer.status)
      assert.equal("cancelled", answer.error.code)
      assert.equal("begun\n", answer.error.details.stdout.text)
      assert.equal("no\n", answer.error.details.stderr.text)
      assert.is_nil(answer.error.details.mayStillRun)
      assert.is_true(answer.seconds < SOON_S, answer.seconds)
      assert_gone(one)
      assert_gone(two)
    end)

  it("bounds the output so far", function()
    local mark = new_mark()
    local it = call("runCommand", { sandboxId = box, maxOutputBytes = 1000,
      command = "yes | head -c 100000; sleep " .. mark })
    wait_until_runs(mark)
    service.sleep(0.5) -- what is on its way to the caller arrives
    it:signal "TERM"
    local answer = it:finish()
    assert.equal("cancelled", answer.error.code)
    local stdout = answer.error.details.stdout
    assert.equal(1000, #stdout.text)
    assert.is_true(stdout.truncated)
    assert_gone(mark)
  end)

  it("interrupts code, and its kernel keeps what it had", function()
    t:call("runCode", { sandboxId = box, code = "x = 41" })
    local it = call("runCode", { sandboxId = box, code = [[
import time
print("begun", flush=True)
open("/tmp/code-runs", "w").close()
x = 42
time.sleep(1000)
x = 43]] })
    assert(interrupted.wait(20, function()
      return t:call("runCommand", { sandboxId = box,
        command = "test -e /tmp/code-runs" }).exitCode == 0
    end))
    it:signal "INT"
    local answer = it:finish()
    assert.equal(130, answer.status)
    assert.equal("cancelled", answer.error.code)
    assert.is_true(answer.error.details.mayStillRun)
    assert.equal("begun\n", answer.error.details.stdout.text)
    assert.is_true(answer.seconds < SOON_S, answer.seconds)
    local after = t:call("runCode", { sandboxId = box, code = "print(x)",
      timeoutMs = 10000 })
    assert.equal("42\n", after.stdout.text)
  end)
end)

describe("Ctrl-C in ebb run", function()
  it("kills what every branch has in flight, and deferred kills go out",
    function()
      local one, two = new_mark(), new_mark()
      local it = script(([[
        local extra = e2b.createSandbox{ idempotencyKey = "extra" }.sandboxId
        local _ <close> = ebb.defer(function()
          print(e2b.killSandbox{ sandboxId = extra }.changed)
        end)
        local seen = {}
        local ok, e = pcall(ebb.parallel, {
          function() seen[1] = caught(hang, "%s") end,
          function() seen[2] = caught(hang, "%s") end })
        print(seen[1].code, seen[1].out, seen[1].may)
        print(seen[2].code, seen[2].out, seen[2].may)
        error(e)]]):format(one, two))
      wait_until_runs(one)
      wait_until_runs(two)
      it:signal "INT"
      local answer = it:finish()
      assert.equal(130, answer.status, answer.errors)
      assert.equal(("cancelled\tbegun\n\tnil\n"):rep(2) .. "true\n",
        answer.out)
      assert.equal("cancelled", answer.error.code)
      assert.is_true(answer.seconds < SOON_S, answer.seconds)
      assert_gone(one)
      assert_gone(two)
    end)
end)

describe("what a script gives up", function()
  it("is gone after ebb.timeout", function()
    local mark = new_mark()
    local got = result(([[
      local inner
      local outer = caught(ebb.timeout, 0.5, function()
        inner = caught(hang, "%s")
        ebb.sleep(0)
      end)
      return { inner = inner, outer = outer }]]):format(mark))
    assert.equal("timeout", got.outer.code)
    assert.same({ code = "cancelled", out = "begun\n" }, got.inner)
    assert_gone(mark)
  end)

  it("is gone after ebb.race was won by another", function()
    local mark = new_mark()
    local got = result(([[
      local loser
      local won = ebb.race{
        function() loser = caught(hang, "%s") end,
        function() ebb.sleep(0.5) return "fast" end }
      return { won, loser }]]):format(mark))
    assert.same({ "fast", { code = "cancelled", out = "begun\n" } }, got)
    assert_gone(mark)
  end)

  it("is gone after a sibling failed in ebb.parallel", function()
    local mark = new_mark()
    local got = result(([[
      local sibling
      local ok, e = pcall(ebb.parallel, {
        function() sibling = caught(hang, "%s") end,
        function() ebb.sleep(0.5) error "boom" end })
      return { tostring(e):match "boom", sibling }]]):format(mark))
    assert.same({ "boom", { code = "cancelled", out = "begun\n" } }, got)
    assert_gone(mark)
  end)

  it("is gone when coroutine.close ends its sandbox", function()
    local mark = new_mark()
    local got = result(([[
      local co = coroutine.create(function()
        local id = e2b.createSandbox{ idempotencyKey = "co" }.sandboxId
        local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })
        e2b.runCommand{ sandboxId = id,
          command = "sleep %s >/dev/null 2>&1 &" }
        coroutine.yield(id)
      end)
      local _, id = coroutine.resume(co)
      local closed = coroutine.close(co)
      return { closed, caught(e2b.getSandbox, { sandboxId = id }).code }]])
      :format(mark))
    assert.same({ true, "not_found" }, got)
    assert_gone(mark)
  end)

  it("is not gone because another branch cannot close its coroutine",
    function()
      local mark = new_mark()
      local got = result(([[
        local co = coroutine.create(hang)
        local ok, e
        pcall(ebb.race, {
          function() coroutine.resume(co, "%s") end,
          function()
            ebb.sleep(0.5)
            ok, e = pcall(coroutine.close, co)
          end })
        return { ok, e }]]):format(mark))
      assert.is_false(got[1])
      assert.truthy(got[2]:find "cannot close a", got[2])
      assert_gone(mark)
    end)
end)

-- ---- a server that does not help ----

local COMMAND = "POST /process.Process/Start"
local SIGNAL = "POST /process.Process/SendSignal"

local function against(server, words, input)
  local limits = "retry=5,jitter=0,first=20000,idle=20000,unary=20000"
  return interrupted.start(server.dir, ("E2B_API_URL=%s E2B_SANDBOX_URL=%s "
    .. "E2B_API_KEY=e2b_%s EBB_LIMITS=%s EBB_LOCAL= EBB_JOURNAL=%s/journal.db "
    .. "%s/ebb --json %s"):format(server.url, server.url, ("0"):rep(40),
    limits, server.dir, build, words), input)
end

local function wait_for_request(server, line)
  assert(interrupted.wait(20, function()
    return #server:requests(line) > 0
  end), "no " .. line)
end

local function interrupt_call(rules, line, task, input)
  local server = scripted.start(rules)
  input.sandboxId = "ibox"
  local it = against(server, "call e2b." .. task .. " -", cjson.encode(input))
  wait_for_request(server, line)
  require "system".sleep(0.2)
  it:signal "INT"
  return it:finish(), server
end

local running = { { start = 7 }, { out = "one " }, { pause = 20000 } }

describe("a cancelled call whose server stalls", function()
  it("has killed its command by pid, waits half a second and says so",
    function()
      local answer, server = interrupt_call(
        { { on = COMMAND, events = running }, { on = SIGNAL, act = "hold" } },
        COMMAND, "runCommand", { command = "x" })
      assert.equal(130, answer.status)
      assert.equal("one ", answer.error.details.stdout.text)
      assert.is_true(answer.error.details.mayStillRun)
      assert.is_true(answer.seconds > 0.45 and answer.seconds < 0.5 + SOON_S,
        answer.seconds)
      local kills = server:requests(SIGNAL)
      assert.equal(1, #kills)
      assert.equal("\10\2\8\7\16\9", kills[1].body)
    end)

  it("has an unknown outcome when no start event came", function()
    local answer, server = interrupt_call({ { on = COMMAND, act = "hold" } },
      COMMAND, "runCommand", { command = "x" })
    assert.equal(4, answer.status)
    assert.equal("outcome_unknown", answer.error.code)
    assert.is_true(answer.error.details.mayStillRun)
    assert.is_true(answer.seconds < SOON_S, answer.seconds)
    assert.equal(1, server:executions())
  end)

  it("is dropped when it reads or is about a sandbox's life", function()
    for line, task in pairs {
      ["POST /sandboxes/ibox/pause"] = "pauseSandbox",
      ["GET /sandboxes/ibox"] = "getSandbox",
      ["GET /files"] = "readFile",
    } do
      local answer = interrupt_call({ { on = line, act = "hold" } }, line,
        task, task == "readFile" and { path = "/tmp/a.txt" } or {})
      assert.equal(130, answer.status, task .. answer.errors)
      assert.equal("cancelled", answer.error.code)
      assert.is_true(answer.seconds < SOON_S, task .. answer.seconds)
    end
  end)
end)

describe("Ctrl-C again", function()
  it("gives up the cleanup that hangs", function()
    local server = scripted.start {
      { on = COMMAND, events = running },
      { on = "DELETE /sandboxes/ibox", act = "hold" } }
    local it = against(server, "run -", [[
      local e2b, ebb = require "e2b", require "ebb"
      local box = { sandboxId = "ibox" }
      local _ <close> = ebb.defer(e2b.killSandbox, box)
      e2b.runCommand{ sandboxId = "ibox", command = "x" }]])
    wait_for_request(server, COMMAND)
    require "system".sleep(0.2)
    it:signal "INT"
    wait_for_request(server, "DELETE /sandboxes/ibox")
    assert.is_false(it:has_ended())
    it:signal "INT"
    local answer = it:finish()
    assert.equal(130, answer.status, answer.errors)
    assert.is_true(answer.seconds < SOON_S, answer.seconds)
  end)

  it("ends a script at once the third time, whatever it is in", function()
    local mark = new_mark():gsub("^%d+", "5") -- it outlives the program
    local it = script(([[io.popen "exec sleep %s":read "a"]]):format(mark))
    wait_until_runs(mark)
    require "system".sleep(0.3) -- until it reads, where Lua cannot stop it
    for _ = 1, 3 do
      assert.is_false(it:has_ended())
      it:signal "INT"
      require "system".sleep(0.1)
    end
    local answer = it:finish()
    assert.equal(130, answer.status)
    assert.is_true(answer.seconds < SOON_S, answer.seconds)
  end)
end)
