-- SPDX-License-Identifier: MIT
-- Every call ends within its limit + 1 s, whatever the peer does not do. Each
-- limit is a few hundred ms here; a call of class read has four attempts of it.

local scripted = require "support.scripted"

local CODE, COMMAND = "POST /execute", "POST /process.Process/Start"
local BOX = { sandboxId = "ibox" }

-- The second that is promised, and what starting programs takes on a busy
-- machine: behaviour, not speed.
local SLACK_S = 2.5

after_each(scripted.stop_all)

local function input(more)
  local whole = { sandboxId = "ibox" }
  for name, value in pairs(more) do whole[name] = value end
  return whole
end

-- Asserts that the call failed so, and in time.
local function assert_ends(answer, code, limit_s, words)
  assert.equal(code, answer.error and answer.error.code, answer.errors)
  if words then
    assert.truthy(answer.error.message:find(words, 1, true), answer.errors)
  end
  assert.is_true(answer.seconds >= limit_s - 0.05, answer.seconds)
  assert.is_true(answer.seconds < limit_s + SLACK_S, answer.seconds)
end

describe("connecting (read, connect=200)", function()
  it("ends when TLS is accepted and nothing is said", function()
    local s = scripted.start { { on = "accept", act = "hold" } }
    s.url = s.url:gsub("http:", "https:")
    local answer = s:call("e2b.getSandbox", BOX, { limits = "connect=200" })
    assert_ends(answer, "timeout", 0.8, "not connected within 200 ms")
    assert.equal(4, answer.error.attempts)
  end)

  it("ends when the name never resolves", function()
    if not os.execute "unshare -rmn true 2>/dev/null" then
      pending "needs namespaces: unshare -rmn"
      return
    end
    local c = scripted.client "http://api.nowhere.example"
    local answer = c:call("e2b.getSandbox", BOX, { limits = "connect=200",
      before = "unshare -rmn python3 -B spec/support/silent_names.py" })
    assert.equal("timeout", answer.error and answer.error.code,
      answer.errors)
    assert.truthy(answer.error.message:find("within 200 ms", 1, true))
    assert.is_true(answer.seconds < 0.8 + SLACK_S, answer.seconds)
  end)

  it("fails at once, four times, when nobody listens", function()
    local s = scripted.start()
    s:stop()
    local c = scripted.client(s.url)
    local answer = c:call("e2b.getSandbox", BOX)
    assert.equal("network", answer.error.code)
    assert.equal(4, answer.error.attempts)
    assert.is_true(answer.seconds < SLACK_S, answer.seconds)
  end)
end)

describe("the control plane (read, unary=200)", function()
  local silent = {
    ["that says nothing"] = { act = "hold" },
    ["that stops in the head"] = { cut_head = 20, with = "hold" },
    ["that stops in the body"] = { cut = 20, with = "hold" },
    ["that says a byte at a time"] = { bytewise = true, every = 30 },
    ["that leaves a chunked body open"] = { drop = "last chunk",
      with = "hold" },
    ["that neither reads nor says"] = { act = "freeze" },
  }
  for what, rule in pairs(silent) do
    it(("ends a call to a server %s"):format(what), function()
      rule.on = "GET /sandboxes/ibox"
      local s = scripted.start { rule }
      local answer = s:call("e2b.getSandbox", BOX, { limits = "unary=200" })
      assert_ends(answer, "timeout", 0.8, "within 200 ms")
      assert.equal(4, answer.error.attempts)
    end)
  end
end)

describe("files (transfer=300)", function()
  it("ends a read, four attempts, that stops in the middle", function()
    local s = scripted.start { { on = "GET /files", cut = 2,
      with = "hold" } }
    local answer = s:call("e2b.readFile", input { path = "/tmp/a.txt" },
      { limits = "transfer=300" })
    assert_ends(answer, "timeout", 1.2, "within 300 ms")
    assert.is_nil(answer.out)
  end)

  it("lets a read be slow as long as bytes move", function()
    local s = scripted.start { { on = "GET /files", bytewise = true,
      every = 5 } }
    local answer = s:call("e2b.readFile", input { path = "/tmp/a.txt" },
      { limits = "transfer=300" })
    assert.equal("hello", answer.out and answer.out.content, answer.errors)
  end)

  it("ends a write that nobody reads, unknown", function()
    local s = scripted.start { { on = "POST /files", read = "head",
      act = "freeze" } }
    local answer = s:call("e2b.writeFiles", input { maxTotalBytes = 2097152,
      files = { { path = "/tmp/x", content = ("x"):rep(2097152) } } },
      { limits = "transfer=300" })
    assert_ends(answer, "outcome_unknown", 0.3, "within 300 ms")
    assert.equal(0, s:executions())
  end)
end)

describe("streams without timeoutMs (none, first=300, idle=300)", function()
  local limits = { limits = "first=300,idle=300" }
  local streams = {
    { "e2b.runCommand", COMMAND, input { command = "x", timeoutMs = 0 },
      { { start = 7 }, { out = "one " } } },
    { "e2b.runCode", CODE, input { code = "x", timeoutMs = 0 },
      { { count = 1 }, { out = "one " } } },
  }
  for _, stream in ipairs(streams) do
    local task, on, given, began = table.unpack(stream)

    it(("end %s without a first event, unknown"):format(task), function()
      local s = scripted.start { { on = on, events = { { pause = 5000 } } } }
      local answer = s:call(task, given,
        { limits = "first=300,idle=5000" })
      assert_ends(answer, "outcome_unknown", 0.3, "within 300 ms")
    end)

    it(("end %s after silence, unknown, with the output so far")
      :format(task), function()
        local events = { began[1], began[2], { pause = 5000 } }
        local s = scripted.start { { on = on, events = events } }
        local answer = s:call(task, given, limits)
        assert_ends(answer, "outcome_unknown", 0.3, "no byte moved")
        assert.equal("one ", answer.error.details.stdout.text)
        assert.is_true(answer.error.details.mayStillRun)
      end)

    it(("let %s go on as long as keepalives come"):format(task), function()
      local events = { began[1] }
      for _ = 1, 5 do
        events[#events + 1] = { pause = 150 }
        events[#events + 1] = { keepalive = true }
      end
      for _, event in ipairs(on == CODE and { { done = true } }
          or { { exit = 3 }, { trailer = { metadata = {} } } }) do
        events[#events + 1] = event
      end
      local s = scripted.start { { on = on, events = events } }
      local answer = s:call(task, given, limits)
      assert.equal(0, answer.status, answer.errors)
    end)
  end
end)

describe("timeoutMs (none, 300 ms)", function()
  local hanging = { { start = 7 }, { out = "one " }, { pause = 5000 } }

  it("kills a command by its pid when the server did not (D02)", function()
    local s = scripted.start { { on = COMMAND, events = hanging } }
    local answer = s:call("e2b.runCommand",
      input { command = "sleep 30", timeoutMs = 300 })
    assert_ends(answer, "timeout", 0.3)
    assert.equal("one ", answer.error.details.stdout.text)
    assert.is_true(answer.error.details.mayStillRun)
    local kill = s:requests "POST /process.Process/SendSignal"
    assert.equal(1, #kill)
    assert.equal("\10\2\8\7\16\9", kill[1].body) -- pid 7, SIGKILL
    assert.equal("300",
      s:requests(COMMAND)[1].headers["connect-timeout-ms"])
  end)

  it("says that it was killed when the end was seen (D02)", function()
    local s = scripted.start { { on = COMMAND, events = { { start = 7 },
      { pause = 900 }, { exit = -1 }, { trailer = { metadata = {} } } } } }
    local answer = s:call("e2b.runCommand",
      input { command = "sleep 30", timeoutMs = 300 })
    assert_ends(answer, "timeout", 0.3, "killed after 300 ms")
    assert.is_nil(answer.error.details.mayStillRun)
  end)

  it("ends a command whose stream never began", function()
    local s = scripted.start { { on = COMMAND, act = "hold" } }
    local answer = s:call("e2b.runCommand",
      input { command = "sleep 30", timeoutMs = 300 },
      { limits = "first=9000" })
    assert_ends(answer, "timeout", 0.3)
    assert.is_true(answer.error.details.mayStillRun)
  end)

  it("closes the connection of code, which interrupts it (C14, D02)",
    function()
      local s = scripted.start { { on = CODE, events = { { count = 1 },
        { out = "one " }, { pause = 600 }, { out = "two" },
        { pause = 300 }, { done = true } } } }
      local answer = s:call("e2b.runCode",
        input { code = "f()", timeoutMs = 300 })
      assert_ends(answer, "timeout", 0.3)
      assert.equal("one ", answer.error.details.stdout.text)
      assert.truthy(scripted.wait(3, function()
        local log = s:log()
        return log[#log].kind == "end" and log[#log].by == "client"
      end))
    end)

  it("closes the connection of code on Ctrl-C (C14)", function()
    local s = scripted.start { { on = CODE, act = "hold" } }
    local answer = s:call("e2b.runCode", input { code = "f()" },
      { before = "timeout -s INT 0.4", limits = "first=9000,idle=9000" })
    assert.equal("cancelled", answer.error and answer.error.code,
      answer.errors)
    assert.is_true(answer.error.details.mayStillRun)
    assert.is_true(answer.seconds < 0.4 + SLACK_S, answer.seconds)
    assert.truthy(scripted.wait(1, function()
      local log = s:log()
      return log[#log].kind == "end" and log[#log].by == "client"
    end))
  end)
end)
