-- SPDX-License-Identifier: MIT
-- What is tried again, how often and after which waits, end to end. The first
-- wait is 5 ms here instead of 1 s; spec/c/test_retry.c has the real ones, on
-- a clock that does not wait.

local scripted = require "support.scripted"

after_each(scripted.stop_all)

local reads = {
  { "e2b.getSandbox", "GET /sandboxes/ibox", { sandboxId = "ibox" } },
  { "e2b.readFile", "GET /files", { sandboxId = "ibox", path = "/tmp/a.txt" } },
  { "e2b.listFiles", "POST /filesystem.Filesystem/ListDir",
    { sandboxId = "ibox", path = "/tmp" } },
}
local lifecycle = {
  { "e2b.pauseSandbox", "POST /sandboxes/ibox/pause", { sandboxId = "ibox" } },
  { "e2b.killSandbox", "DELETE /sandboxes/ibox", { sandboxId = "ibox" } },
}

-- Calls a task whose request fails the first `times` times as rule says.
local function call(task, rule, options)
  local copy = { on = task[2], executes = false }
  for key, value in pairs(rule) do copy[key] = value end
  local s = scripted.start { copy }
  local answer = s:call(task[1], task[3], options)
  return answer, s:requests(task[2]), s
end

local function each(classes, fn)
  for _, tasks in ipairs(classes) do
    for _, task in ipairs(tasks) do fn(task) end
  end
end

describe("classes read and lifecycle", function()
  local passing = {
    ["a closed connection"] = { act = "close" },
    ["a reset"] = { act = "reset" },
    ["half a head"] = { cut_head = 9 },
    ["a cut body"] = { status = 200, body = "0123456789", cut = 4 },
    ["429"] = { status = 429 }, ["500"] = { status = 500 },
    ["502"] = { status = 502 }, ["503"] = { status = 503 },
    ["504"] = { status = 504 }, ["599"] = { status = 599 },
    ["408"] = { status = 408 },
  }
  for name, fault in pairs(passing) do
    it(("succeed at attempt 4 after three times %s"):format(name), function()
      fault.times = 3
      each({ reads, lifecycle }, function(task)
        local answer, requests = call(task, fault)
        assert.equal(0, answer.status, task[1] .. answer.errors)
        assert.equal(4, #requests, task[1])
      end)
    end)
  end

  it("give up after 4 attempts and say how many", function()
    each({ reads, lifecycle }, function(task)
      local answer, requests = call(task, { status = 503 })
      assert.equal(1, answer.status)
      assert.equal("server", answer.error.code)
      assert.equal(503, answer.error.status)
      assert.equal(4, answer.error.attempts)
      assert.is_true(answer.error.retryable)
      assert.equal(4, #requests)
    end)
  end)

  local codes = {
    [400] = "invalid_input", [401] = "unauthorized", [403] = "forbidden",
    [404] = "not_found", [409] = "conflict", [413] = "limit_exceeded",
  }
  for status, code in pairs(codes) do
    it(("fail at once, %s, on %d"):format(code, status), function()
      for _, task in ipairs { reads[1], lifecycle[1] } do
        if not (status == 409 and task == lifecycle[1]) then
          local answer, requests = call(task, { status = status,
            body = { code = status, message = "no" } })
          assert.equal(code, answer.error.code, answer.errors)
          assert.equal(status, answer.error.status)
          assert.equal(1, answer.error.attempts)
          assert.False(answer.error.retryable)
          assert.equal(1, #requests)
        end
      end
    end)
  end

  it("wait once, twice, four times the base between attempts", function()
    local _, requests = call(reads[1], { status = 500 },
      { limits = "retry=60" })
    assert.equal(4, #requests)
    for made = 1, 3 do
      local waited = requests[made + 1].at - requests[made].at
      local wanted = 0.060 * 2 ^ (made - 1)
      assert.is_true(waited >= wanted - 0.002, waited)
      assert.is_true(waited < wanted + 1, waited)
    end
  end)
end)

describe("Should-Retry and Retry-After", function()
  it("true is tried again whatever the status, four times in all", function()
    local answer, requests = call(reads[1], { status = 409,
      headers = { ["Should-Retry"] = "true" } })
    assert.equal("conflict", answer.error.code)
    assert.equal(4, #requests)
  end)

  it("false fails at once whatever the status", function()
    local answer, requests = call(reads[1], { status = 503,
      headers = { ["should-retry"] = "false" } })
    assert.equal("server", answer.error.code)
    assert.equal(1, #requests)
  end)

  local function first_wait(status, value)
    local answer, requests = call(reads[1], { status = status, times = 1,
      headers = { ["Retry-After"] = value } })
    assert.equal(0, answer.status, answer.errors)
    return requests[2].at - requests[1].at
  end

  it("a time in seconds is waited for on 429 and 503 alone", function()
    assert.is_true(first_wait(429, "1") >= 0.99)
    assert.is_true(first_wait(503, "1") >= 0.99)
    assert.is_true(first_wait(500, "9") < 2)
  end)

  it("an HTTP date is waited for", function()
    local waited = first_wait(503, os.date("!%a, %d %b %Y %H:%M:%S GMT",
      os.time() + 2))
    assert.is_true(waited > 0.5 and waited < 3.5, waited)
  end)

  it("garbage and the past are ignored", function()
    for _, value in ipairs { "soon", "-5", "1e3", "",
        "Sun, 06 Nov 1994 08:49:37 GMT" } do
      assert.is_true(first_wait(429, value) < 2, value)
    end
  end)

  it("is reported, in ms, by class none, which does not wait", function()
    local answer = call({ "e2b.runCommand", "POST /process.Process/Start",
      { sandboxId = "ibox", command = "x" } },
      { status = 429, headers = { ["Retry-After"] = "7" } })
    assert.equal(7000, answer.error.retryAfterMs)
    assert.equal(1, answer.error.attempts)
  end)
end)

describe("EBB_LIMITS", function()
  local function refused(limits)
    local s = scripted.start()
    local answer = s:call("e2b.getSandbox", { sandboxId = "ibox" },
      { env = { EBB_LIMITS = limits } })
    assert.equal(2, answer.status, answer.errors)
    assert.equal("invalid_input", answer.error.code)
    assert.equal(0, #s:requests())
    return answer.error.message
  end

  it("names what it does not know and what it does", function()
    local message = refused "conect=5"
    assert.truthy(message:find('unknown name "conect"', 1, true))
    assert.truthy(message:find("connect, unary", 1, true))
  end)

  it("takes whole numbers within their range and nothing else", function()
    for _, limits in ipairs { "unary=0", "unary=-1", "unary=1.5", "unary=",
        "unary", "unary=86400001", "jitter=101", "retry=1s",
        ("x"):rep(600) } do
      assert.truthy(refused(limits):find("EBB_LIMITS", 1, true), limits)
    end
  end)

  it("may be empty", function()
    local s = scripted.start()
    local answer = s:call("e2b.getSandbox", { sandboxId = "ibox" },
      { env = { EBB_LIMITS = "" } })
    assert.equal(0, answer.status, answer.errors)
  end)
end)
