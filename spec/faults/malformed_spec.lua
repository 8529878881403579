-- SPDX-License-Identifier: MIT
-- Answers that are broken, empty, cut or odd: an error by the status first,
-- never a result; class read tries four times, class none once.

local scripted = require "support.scripted"

local BOX = { sandboxId = "ibox" }
local GET = "GET /sandboxes/ibox"
local COMMAND, CODE = "POST /process.Process/Start", "POST /execute"

after_each(scripted.stop_all)

local function input(more)
  local whole = { sandboxId = "ibox" }
  for name, value in pairs(more) do whole[name] = value end
  return whole
end

local run_command = input { command = "true" }
local run_code = input { code = "1" }
local read_file = input { path = "/tmp/a.txt" }

describe("an answer of the control plane to getSandbox (read)", function()
  local LONG = "<html>" .. ("x"):rep(100000)
  -- what comes, the code it becomes, the attempts made
  local answers = {
    { "an empty 500", { status = 500 }, "server", 4 },
    { "an empty 502", { status = 502 }, "server", 4 },
    { "an empty 404", { status = 404 }, "not_found", 1 },
    { "an empty 204", { status = 204 }, "protocol", 4 },
    { "status 599", { status = 599 }, "server", 4 },
    { "status 600", { status = 600 }, "protocol", 4 },
    { "status 000", { raw = "HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n" },
      "protocol", 4 },
    { "a redirect", { status = 302, headers = { Location = "/" } },
      "protocol", 4 },
    { "500 as HTML", { status = 500, body = LONG }, "server", 4 },
    { "500 as an array", { status = 500, body = "[1]" }, "server", 4 },
    { "500 as cut JSON", { status = 500, body = '{"message":"a' },
      "server", 4 },
    { "200 as HTML", { body = LONG }, "protocol", 4 },
    { "200 as null", { body = "null" }, "protocol", 4 },
    { "200 as an array", { body = "[]" }, "protocol", 4 },
    { "200 as a string", { body = '"running"' }, "protocol", 4 },
    { "200 as {}", { body = "{}" }, "protocol", 4 },
    { "200 without a body", { body = "" }, "protocol", 4 },
    { "200 as cut JSON", { body = '{"sandboxID":"ibox"' }, "protocol", 4 },
    { "200 with two values", { body = "{} {}" }, "protocol", 4 },
    { "200 as invalid UTF-8", { body = '{"sandboxID":"\255"}' },
      "protocol", 4 },
    { "200 of a wrong type", { body = '{"sandboxID":7,"state":[]}' },
      "protocol", 4 },
    { "200 nested 100,000 deep", { body = ("["):rep(100000) },
      "protocol", 4 },
    { "no HTTP at all", { raw = "SSH-2.0-OpenSSH_9.2\r\n" }, "protocol", 4 },
    { "a head without an end", { raw = "HTTP/1.1 200 OK\r\n"
      .. ("X: " .. ("y"):rep(1000) .. "\r\n"):rep(80) }, "protocol", 4 },
    { "a length that is none", { raw = "HTTP/1.1 200 OK\r\n"
      .. "Content-Length: many\r\n\r\n{}", after = "close" }, "protocol", 4 },
    { "a chunk that is none", { raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
      .. "chunked\r\n\r\nxyz\r\n" }, "network", 4 },
    { "more than 200,000 values", { body = "[" .. ("0,"):rep(200000) .. "0]" },
      "limit_exceeded", 1 },
  }
  for _, row in ipairs(answers) do
    local what, rule, code, attempts = table.unpack(row)
    it(("%s is %s, attempts %d (B10)"):format(what, code, attempts),
      function()
        rule.on = GET
        local s = scripted.start { rule }
        local answer = s:call("e2b.getSandbox", BOX)
        assert.equal(code, answer.error and answer.error.code, answer.errors)
        assert.equal(attempts, answer.error.attempts)
        assert.equal(attempts, #s:requests(GET))
        assert.equal("", answer.text)
        assert.is_true(#answer.error.message < 256)
      end)
  end
end)

describe("an answer behind others (none)", function()
  it("100 and 103, which nobody asked for, is the answer", function()
    local body = '[{"path":"/tmp/x","name":"x","type":"file"}]'
    local s = scripted.start { { on = "POST /files",
      raw = "HTTP/1.1 100 Continue\r\n\r\n"
        .. "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        .. "HTTP/1.1 200 OK\r\nContent-Length: " .. #body .. "\r\n\r\n"
        .. body } }
    local answer = s:call("e2b.writeFiles",
      input { files = { { path = "/tmp/x", content = "x" } } })
    assert.equal(0, answer.status, answer.errors)
    assert.equal(1, s:executions())
  end)

  it("100 and then the end is unknown, one execution", function()
    local s = scripted.start { { on = "POST /files", after = "close",
      raw = "HTTP/1.1 100 Continue\r\n\r\n" } }
    local answer = s:call("e2b.writeFiles",
      input { files = { { path = "/tmp/x", content = "x" } } })
    assert.equal("outcome_unknown", answer.error and answer.error.code,
      answer.errors)
    assert.equal(1, s:executions())
  end)
end)

describe("a short body", function()
  local short = {
    ["of 60 of 100 bytes"] = { body = ("x"):rep(60), length = 100,
      after = "close" },
    ["chunked without its last chunk"] = { drop = "last chunk" },
    ["chunked, cut in a chunk"] = { raw = "HTTP/1.1 200 OK\r\n"
      .. "Transfer-Encoding: chunked\r\n\r\nff\r\nhell", after = "close" },
    ["reset after the head"] = { cut = 0, with = "reset" },
  }
  for what, rule in pairs(short) do
    it(("%s is no file: network, four attempts (B11)"):format(what),
      function()
        rule.on = "GET /files"
        local s = scripted.start { rule }
        local answer = s:call("e2b.readFile", read_file)
        assert.equal("network", answer.error and answer.error.code,
          answer.errors)
        assert.equal(4, #s:requests(rule.on))
        assert.equal("", answer.text)
      end)
    it(("%s is no sandbox: four attempts (B11)"):format(what), function()
      rule.on = GET
      local s = scripted.start { rule }
      local answer = s:call("e2b.getSandbox", BOX)
      assert.equal("network", answer.error and answer.error.code,
        answer.errors)
      assert.equal(4, #s:requests(GET))
    end)
  end

  it("of gzip, cut, is no sandbox: four attempts (B11)", function()
    local gzip = scripted.gzip(("{\"sandboxID\":\"ibox\"}"):rep(50))
    local s = scripted.start { { on = GET, body = gzip:sub(1, -12),
      headers = { ["Content-Encoding"] = "gzip" } } }
    local answer = s:call("e2b.getSandbox", BOX)
    assert.equal(1, answer.status)
    assert.equal(4, #s:requests(GET))
    assert.equal("", answer.text)
  end)

  it("of gzip, whole, is read", function()
    local s = scripted.start { { on = GET, gzip = true } }
    local answer = s:call("e2b.getSandbox", BOX)
    assert.equal("ibox", answer.out and answer.out.sandboxId, answer.errors)
  end)

  it("of gzip that was not asked for is no file", function()
    local s = scripted.start { { on = "GET /files", gzip = true } }
    local answer = s:call("e2b.readFile", read_file)
    -- Bytes of gzip, read as they are: not UTF-8, so never "hello".
    assert.not_equal(0, answer.status)
  end)
end)

describe("a stream of a command (none)", function()
  local whole = { { start = 7 }, { out = "one " }, { exit = 0 },
    { trailer = { metadata = {} } } }
  local function with(index, event)
    local events = { table.unpack(whole) }
    table.insert(events, index, event)
    return events
  end
  local streams = {
    { "without an end event", { drop = "end" } },
    { "without an end of stream", { drop = "end of stream" } },
    { "with an envelope of 4 GiB", { events = with(3,
      { raw = "\0\255\255\255\255" }) } },
    { "with a compressed envelope", { events = with(3,
      { raw = "\1\0\0\0\1x" }) } },
    { "with an envelope that is no protobuf", { events = with(3,
      { raw = "\0\0\0\0\2\255\255" }) } },
    { "with an end of stream that is no JSON", { events = {
      whole[1], whole[2], whole[3], { raw = "\2\0\0\0\1x" } } } },
    { "with output before the start", { events = with(1,
      { out = "early" }) } },
    { "with two starts", { events = with(2, { start = 8 }) } },
    { "cut in an envelope's head", { events = { whole[1],
      { raw = "\0\0\0" } } } },
    { "cut in an envelope", { events = { whole[1],
      { raw = "\0\0\0\0\9\10\7" } } } },
    { "that is empty", { events = { { raw = "" } } } },
    { "that is HTML", { body = "<html>hello</html>" } },
    { "with an error behind the end event", { events = { whole[1], whole[2],
      whole[3], { trailer = { error = { code = "internal",
        message = "lost" } } } } } },
  }
  for _, row in ipairs(streams) do
    local what, rule = table.unpack(row)
    it(("%s is never exit 0: unknown, one execution (B10)"):format(what),
      function()
        rule.on = COMMAND
        local s = scripted.start { rule }
        local answer = s:call("e2b.runCommand", run_command)
        assert.equal("outcome_unknown", answer.error and answer.error.code,
          answer.errors)
        assert.equal(4, answer.status)
        assert.equal(1, s:executions())
      end)
  end

  it("keeps the output so far in details", function()
    local s = scripted.start { { on = COMMAND, events = { whole[1], whole[2],
      { raw = "\0\0" } } } }
    local answer = s:call("e2b.runCommand", run_command)
    assert.equal("one ", answer.error.details.stdout.text)
  end)
end)

describe("a stream of code (none)", function()
  local streams = {
    ["without end_of_execution"] = { drop = "end" },
    ["with a line that is no JSON"] = { events = { { count = 1 },
      { raw = "{oops\n" }, { done = true } } },
    ["with a line without a type"] = { events = { { count = 1 },
      { raw = "{}\n" }, { done = true } } },
    ["with a line that is an array"] = { events = { { raw = "[]\n" },
      { done = true } } },
    ["cut in a line"] = { events = { { count = 1 },
      { raw = '{"type":"end_of_exec' } } },
    ["that is empty"] = { events = { { raw = "" } } },
  }
  for what, rule in pairs(streams) do
    it(("%s is never a result: one execution (B10)"):format(what),
      function()
        rule.on = CODE
        local s = scripted.start { rule }
        local answer = s:call("e2b.runCode", run_code)
        assert.not_equal(0, answer.status)
        assert.truthy(answer.error, answer.errors)
        assert.equal(1, answer.error.attempts)
        assert.equal(1, s:executions())
      end)
  end
end)

describe("an answer to writeFiles (none)", function()
  for what, body in pairs { ["no JSON"] = "<html>", ["empty"] = "",
      ["no array"] = "{}", ["an empty array"] = "[]" } do
    it(("that is %s confirms nothing: unknown, one execution (B10)")
      :format(what), function()
        local s = scripted.start { { on = "POST /files", body = body } }
        local answer = s:call("e2b.writeFiles",
          input { files = { { path = "/tmp/x", content = "x" } } })
        assert.equal("outcome_unknown", answer.error and answer.error.code,
          answer.errors)
        assert.equal(1, s:executions())
      end)
  end
end)
