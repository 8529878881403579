-- SPDX-License-Identifier: MIT
-- Why a call failed is told apart: killed, lost, late, revoked, never there;
-- and whether the command may still be running (B20).

local scripted = require "support.scripted"

local COMMAND, CODE = "POST /process.Process/Start", "POST /execute"
local GET = "GET /sandboxes/ibox"
local DENIED = { code = 401, message = "Invalid API key" }
local GONE = { code = 404, message =
  'Sandbox "ibox" doesn\'t exist or you don\'t have access to it' }
local NOT_FOUND = { code = 502, message = "The sandbox was not found" }

after_each(scripted.stop_all)

local function run_command(s, more)
  local input = { sandboxId = "ibox", command = "make" }
  for name, value in pairs(more or {}) do input[name] = value end
  return s:call("e2b.runCommand", input)
end

local function run_code(s)
  return s:call("e2b.runCode", { sandboxId = "ibox", code = "f()" })
end

local function assert_says(answer, code, words, may_still_run)
  assert.equal(code, answer.error and answer.error.code, answer.errors)
  assert.truthy(answer.error.message:find(words, 1, true), answer.errors)
  local details = answer.error.details or {}
  assert.equal(may_still_run, details.mayStillRun == true, answer.errors)
end

local began = { { start = 7 }, { out = "one " } }
local running = {
  { "a command", COMMAND, run_command, { events = began } },
  { "code", CODE, run_code, { events = { { count = 1 }, { out = "one " } } } },
}

for _, row in ipairs(running) do
  local what, on, call, cut = table.unpack(row)
  local function broken()
    return { on = on, events = cut.events, drop = "last chunk" }
  end

  describe(("the stream of %s breaks (B20)"):format(what), function()
    it("and its sandbox has ended: unknown, nothing runs any more",
      function()
        local s = scripted.start { broken(),
          { on = GET, status = 404, body = GONE } }
        assert_says(call(s), "outcome_unknown", "sandbox has ended", false)
      end)

    it("and its sandbox lives: unknown, it may still run", function()
      local s = scripted.start { broken() }
      local answer = call(s)
      assert_says(answer, "outcome_unknown", "still runs", true)
      assert.equal("one ", answer.error.details.stdout.text)
      assert.equal(1, s:executions())
    end)

    it("and nobody says what became of it: unknown within 2 s, it may "
      .. "still run", function()
        for _, act in ipairs { "hold", "freeze", "close", "reset" } do
          local s = scripted.start { broken(), { on = GET, act = act } }
          local answer = call(s)
          assert_says(answer, "outcome_unknown", "may have run", true)
          assert.is_true(answer.seconds < 2 + 1.5, answer.seconds)
          assert.equal(1, #s:requests(on))
        end
      end)
  end)
end

describe("a deadline (B20)", function()
  it("that the server enforced: timeout, the command is gone", function()
    local s = scripted.start { { on = COMMAND, events = { began[1], began[2],
      { trailer = { error = { code = "deadline_exceeded",
        message = "context deadline exceeded" } } } } } }
    local answer = run_command(s, { timeoutMs = 2000 })
    assert_says(answer, "timeout", "killed after 2000 ms", false)
    assert.equal("one ", answer.error.details.stdout.text)
  end)

  it("that only we enforced: timeout, it may still run", function()
    local s = scripted.start { { on = COMMAND, events = { began[1], began[2],
      { pause = 5000 } } } }
    assert_says(run_command(s, { timeoutMs = 200 }), "timeout",
      "may still run", true)
  end)

  it("is explained when a child in the background holds the call", function()
    local s = scripted.start { { on = COMMAND, events = { began[1],
      { pause = 5000 } } } }
    assert_says(run_command(s, { timeoutMs = 200, command = "server &" }),
      "timeout", ">/dev/null 2>&1 &", true)
  end)
end)

describe("a refusal (B20)", function()
  it("of a revoked key: unauthorized, names the key's variable", function()
    local s = scripted.start { { on = "POST */connect", status = 401,
      executes = false, body = DENIED } }
    local answer = run_command(s)
    assert_says(answer, "unauthorized", "E2B_API_KEY", false)
    assert.equal(3, answer.status)
    assert.equal(0, s:executions())
  end)

  it("of a forbidden team: forbidden", function()
    local s = scripted.start { { on = "POST */connect", status = 403,
      executes = false, body = { code = 403, message = "team is blocked" } } }
    assert_says(run_command(s), "forbidden", "team is blocked", false)
  end)

  it("of a sandbox that never was: not_found", function()
    local s = scripted.start()
    local answer = s:call("e2b.runCommand",
      { sandboxId = "inone", command = "make" })
    assert_says(answer, "not_found", "inone", false)
    assert.equal(0, s:executions())
  end)

  it("of a sandbox that has expired since its connect: not_found", function()
    local s = scripted.start {
      { on = COMMAND, status = 502, body = NOT_FOUND, executes = false },
      { on = "POST */connect", skip = 1, status = 404, body = GONE } }
    local answer = run_command(s)
    assert_says(answer, "not_found", "has ended since", false)
    assert.equal(0, s:executions())
    assert.equal(1, #s:requests(COMMAND))
  end)

  it("of a sandbox that lives but is not reached: sandbox_not_running",
    function()
      local s = scripted.start { { on = COMMAND, status = 502,
        body = NOT_FOUND, executes = false } }
      assert_says(run_command(s), "sandbox_not_running",
        "nothing was executed", false)
    end)

  it("of the key in the service's own words does not show the key",
    function()
      local key = "e2b_" .. ("0"):rep(40)
      local s = scripted.start { { on = "POST */connect", status = 401,
        executes = false, body = { code = 401, message = "bad " .. key } } }
      local answer = run_command(s)
      assert.equal("unauthorized", answer.error.code)
      assert.is_nil(answer.errors:find(key, 1, true))
    end)
end)
