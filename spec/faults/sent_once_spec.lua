-- SPDX-License-Identifier: MIT
-- What executes is sent once (class none), whatever becomes of the connection:
-- per fault, how often the server acted and what the caller is told. The
-- limits are a second, so a call that ends by one is told within two.

local cjson = require "cjson"

local scripted = require "support.scripted"

local NOT_FOUND = { code = 502, message = "The sandbox was not found",
  sandboxId = "ibox" }
local UNROUTED = { code = 502, message = "Failed to route request" }
local DENIED = { code = 401, message = "unauthorized access" }

local tasks = {
  { name = "e2b.runCommand", on = "POST /process.Process/Start",
    input = { sandboxId = "ibox", command = "make" },
    idle = "first=300,idle=300", cut = 20, limit = "within 300 ms" },
  { name = "e2b.runCode", on = "POST /execute",
    input = { sandboxId = "ibox", code = "f()" },
    idle = "first=300,idle=300", cut = 70, limit = "within 300 ms" },
  { name = "e2b.writeFiles", on = "POST /files",
    input = { sandboxId = "ibox",
      files = { { path = "/tmp/x", content = "some text" } } },
    idle = "transfer=300", cut = 20, limit = "within 300 ms" },
}

-- rule: what the server does; ran: how often it acted; code: what the caller
-- is told (nil: success); connects: how often a connect came.
local faults = {
  { title = "one execution, success: the connection is not kept",
    connect = { headers = { Connection = "close" } }, ran = 1 },
  { title = "one execution, success: the answer comes byte by byte",
    rule = { bytewise = true }, ran = 1 },
  { title = "one execution, success: the answer ends with the connection",
    rule = { framing = "close" }, ran = 1 },
  { title = "one execution, unknown: reads all and closes (A01)",
    rule = { act = "close" }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: reads all and closes, not reused",
    connect = { headers = { Connection = "close" } },
    rule = { act = "close" }, ran = 1, code = "outcome_unknown" },
  { title = "no execution, unknown: reads half and closes",
    rule = { read = "half", act = "close" }, ran = 0,
    code = "outcome_unknown" },
  { title = "no execution, unknown: reads no body and closes",
    connect = { headers = { Connection = "close" } },
    rule = { read = "head", act = "close" }, ran = 0,
    code = "outcome_unknown", bodiless = true },
  { title = "one execution, unknown: answers half and closes",
    rule = { cut = true }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: answers half and resets",
    rule = { cut = true, with = "reset" }, ran = 1,
    code = "outcome_unknown" },
  { title = "one execution, unknown: answers half a head and closes",
    rule = { cut_head = 12 }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: leaves out the last chunk (B11)",
    rule = { drop = "last chunk" }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: claims more than it sends (B11)",
    rule = { framing = "length", length = 10000, after = "close" }, ran = 1,
    code = "outcome_unknown" },
  { title = "one execution, unknown: reads all and resets",
    rule = { act = "reset" }, ran = 1, code = "outcome_unknown" },
  { title = "no execution, unknown: reads half and resets",
    rule = { read = "half", act = "reset" }, ran = 0,
    code = "outcome_unknown" },
  { title = "one execution, unknown within limit + 1 s: says nothing",
    rule = { act = "hold" }, ran = 1, code = "outcome_unknown",
    timed = true },
  { title = "one execution, unknown within limit + 1 s: stops in the middle",
    rule = { cut = true, with = "hold" }, ran = 1, code = "outcome_unknown",
    timed = true },
  { title = "one execution, success: refused once, not found (502)",
    rule = { times = 1, status = 502, body = NOT_FOUND, executes = false },
    ran = 1, connects = 2 },
  { title = "one execution, success: refused once, unauthorized (401)",
    rule = { times = 1, status = 401, body = DENIED, executes = false },
    ran = 1, connects = 2 },
  { title = "no execution, not running: refused twice, not found (502)",
    rule = { status = 502, body = NOT_FOUND, executes = false }, ran = 0,
    connects = 2, sends = 2, code = "sandbox_not_running" },
  { title = "no execution, unauthorized: refused twice (401)",
    rule = { status = 401, body = DENIED, executes = false }, ran = 0,
    connects = 2, sends = 2, code = "unauthorized" },
  { title = "one execution, unknown: a 502 that proves nothing",
    rule = { status = 502, body = UNROUTED }, ran = 1,
    code = "outcome_unknown" },
  { title = "one execution, unknown: a 502 without a body",
    rule = { status = 502 }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 500",
    rule = { status = 500, body = { code = 500, message = "oops" } },
    ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 503, whatever Should-Retry says",
    rule = { status = 503, headers = { ["Should-Retry"] = "true" } },
    ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 504",
    rule = { status = 504, body = "<html>Gateway Timeout</html>" },
    ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 202 instead of an answer",
    rule = { status = 202 }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 204 instead of an answer",
    rule = { status = 204 }, ran = 1, code = "outcome_unknown" },
  { title = "one execution, unknown: 408",
    rule = { status = 408 }, ran = 1, code = "outcome_unknown" },
  { title = "no execution, rate_limited: 429 is not waited for",
    rule = { status = 429, executes = false,
      headers = { ["Retry-After"] = "30" },
      body = { code = 429, message = "Rate limit exceeded" } },
    ran = 0, code = "rate_limited", retry_after = 30000 },
}

local exit_of = { outcome_unknown = 4, unauthorized = 3 }

local function rules_for(task, fault)
  local rules = {}
  if fault.connect then
    rules[1] = { on = "POST */connect" }
    for key, value in pairs(fault.connect) do rules[1][key] = value end
  end
  if fault.rule then
    local rule = { on = task.on }
    for key, value in pairs(fault.rule) do rule[key] = value end
    if rule.cut then rule.cut = task.cut end
    rules[#rules + 1] = rule
  end
  return rules
end

local function check(task, fault)
  local s = scripted.start(rules_for(task, fault))
  local answer = s:call(task.name, task.input, { limits = task.idle })
  local shown = answer.errors
  assert.equal(fault.ran, s:executions(), shown)
  local sends = #s:requests(task.on)
  -- A close that comes before any byte of the body is out proves that nothing
  -- ran: the head goes out once more.
  if fault.bodiless and sends == 2 then sends = 1 end
  assert.equal(fault.sends or fault.rule and fault.rule.times and 2 or 1,
    sends, shown)
  assert.equal(fault.connects or 1, #s:requests("POST .*/connect"), shown)
  if not fault.code then
    assert.equal(0, answer.status, shown)
    assert.equal("ibox", answer.out.sandboxId)
    return
  end
  assert.equal(fault.code, answer.error and answer.error.code, shown)
  assert.equal(exit_of[fault.code] or 1, answer.status)
  assert.equal(1, answer.error.attempts)
  assert.equal(fault.retry_after, answer.error.retryAfterMs)
  if fault.code == "outcome_unknown" then
    assert.truthy(answer.error.message:find("may have", 1, true), shown)
    assert.False(answer.error.retryable)
  end
  if fault.timed then
    assert.truthy(answer.error.message:find(task.limit, 1, true), shown)
    assert.is_true(answer.seconds < 1.3 + 1.5, answer.seconds)
  end
end

for _, task in ipairs(tasks) do
  describe(task.name .. " (none)", function()
    after_each(scripted.stop_all)
    for _, fault in ipairs(faults) do
      it(fault.title, function() check(task, fault) end)
    end
  end)
end

describe("class none on kept connections", function()
  after_each(scripted.stop_all)

  -- Both calls go over one connection, which ends between them.
  local function call_twice(task, after, raw)
    local s = scripted.start { { on = task.on, times = 1, after = after,
      after_ms = raw and 10, after_raw = raw } }
    local answer = s:run(([[
      local e2b, cjson = require "e2b", require "cjson"
      local input = cjson.decode %q
      %s(input)
      require("ebb").sleep(0.05)
      %s(input)
    ]]):format(cjson.encode(task.input), task.name, task.name))
    assert.equal("", answer.errors)
    assert.equal(2, s:executions())
    assert.equal(2, #s:requests(task.on))
    assert.equal(2, s:requests(task.on)[2].connection)
  end

  for _, task in ipairs(tasks) do
    it(("runs %s, one execution, when the idle connection was closed before "
      .. "(A01)"):format(task.name), function()
      call_twice(task, "close")
      call_twice(task, "reset")
    end)
  end

  for _, task in ipairs(tasks) do
    it(("runs %s, one execution, though the idle connection said more: a 408, "
      .. "the same answer again"):format(task.name), function()
        call_twice(task, "close", "HTTP/1.1 408 Request Time-out\r\n"
          .. "Content-Length: 0\r\nConnection: close\r\n\r\n")
        call_twice(task, "hold", "HTTP/1.1 200 OK\r\n"
          .. "Content-Length: 2\r\n\r\n[]")
      end)
  end

  it("runs each of 90 commands at most once, and tells which, while "
    .. "connections are closed at any moment (A01)", function()
    local rules = {}
    for index = 1, 90 do
      rules[index] = { on = "POST /process.Process/Start", times = 1,
        after = index % 5 == 0 and "reset" or "close",
        after_ms = index % 9 / 10 }
    end
    local s = scripted.start(rules)
    local answer = s:run [[
      local e2b = require "e2b"
      local told = {}
      for i = 1, 90 do
        local ok, err = pcall(e2b.runCommand,
          { sandboxId = "ibox", command = ("<%d>"):format(i) })
        told[i] = ok and "ok" or err.code
        if i % 2 == 0 then require("ebb").sleep(i % 5 / 1000) end
      end
      return told
    ]]
    assert.equal("", answer.errors)
    local ran = {}
    for _, request in ipairs(s:requests "POST /process.Process/Start") do
      local command = tonumber(request.body:match "<(%d+)>")
      assert.is_nil(ran[command])
      ran[command] = true
    end
    for command, code in ipairs(answer.out) do
      assert.equal(ran[command] and "ok" or "outcome_unknown", code)
    end
  end)

  it("sends the length in bytes of a body that is not ASCII (D12)", function()
    local s = scripted.start()
    local code = "print('é😀')"
    s:call("e2b.runCode", { sandboxId = "ibox", code = code })
    s:call("e2b.writeFiles", { sandboxId = "ibox",
      files = { { path = "/tmp/é", content = "é😀" } } })
    local execute = s:requests("POST /execute")[1]
    assert.truthy(execute.body:find(code, 1, true))
    assert.equal(#execute.body, tonumber(execute.headers["content-length"]))
    local files = s:requests("POST /files")[1]
    assert.equal("é😀", files.body)
    assert.equal("6", files.headers["content-length"])
  end)
end)
