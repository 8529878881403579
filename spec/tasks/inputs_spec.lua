-- SPDX-License-Identifier: MIT
-- What each bound of an input takes and refuses, before the first byte is sent:
-- a server that would answer anything counts no request.

local cjson = require "cjson"
local scripted = require "support.scripted"

local s
setup(function()
  s = scripted.start { { on = "GET /sandboxes/ibox/metrics", body = "[]" } }
end)
teardown(scripted.stop_all)

-- Each row: a task, its other input, the field, its ceiling.
local bounds = {
  { "runCommand", { command = "true" }, "maxOutputBytes", 1048576 },
  { "runCode", { code = "1" }, "maxOutputBytes", 1048576 },
  { "runCode", { code = "1" }, "maxResultBytes", 1048576 },
  { "runCode", { code = "1" }, "maxArtifactBytes", 2097152 },
  { "writeFiles", { files = { { path = "a", content = "b" } } },
    "maxTotalBytes", 2097152 },
  { "readFile", { path = "/tmp/a.txt" }, "maxBytes", 1048576 },
  { "readFile", { path = "/tmp/a.txt", encoding = "base64" }, "maxBytes",
    2097152 },
  { "getSandboxLogs", {}, "maxBytes", 1048576 },
}

-- The script tries each row's field with values written in Lua; it gives the
-- code of each, "ok" for none.
-- All that the server was sent.
local function sent()
  return #s:requests()
end

local function try(rows, values)
  local answer = s:run(([[
    local ebb, e2b, cjson = require "ebb", require "e2b", require "cjson"
    local all = ebb.array {}
    for _, row in ipairs(cjson.decode %q) do
      local codes = ebb.array {}
      for i, value in ipairs { %s } do
        local input = row[2]
        input.sandboxId, input[row[3] ] = "ibox", value
        local ok, err = pcall(e2b[row[1] ], input)
        codes[i] = ok and "ok" or err.code
      end
      all[#all + 1] = codes
    end
    return all]]):format(cjson.encode(rows), table.concat(values, ", ")))
  assert(answer.status == 0, answer.errors)
  return answer.out
end

describe("a byte limit", function()
  it("is an integer from 1 to its ceiling, else nothing is sent", function()
    local before = sent()
    local got = try(bounds, { "0", "-1", "1.5", "1e300", "math.huge",
      "-math.huge", "0/0", "'10'", "true", "{}", "math.mininteger",
      "math.maxinteger" })
    for i, codes in ipairs(got) do
      for j, code in ipairs(codes) do
        assert.equal("invalid_input", code,
          ("%s.%s, value %d"):format(bounds[i][1], bounds[i][3], j))
      end
    end
    for i, row in ipairs(bounds) do
      assert.same({ { "invalid_input" } },
        try({ row }, { tostring(row[4] + 1) }), i)
    end
    assert.equal(before, sent())
  end)

  it("may be 1 and its ceiling, and a whole float", function()
    for _, row in ipairs(bounds) do
      local got = try({ row }, { tostring(row[4]), row[4] .. ".0" })
      assert.same({ { "ok", "ok" } }, got, row[1] .. "." .. row[3])
    end
    assert.is_true(sent() > 0)
    assert.same({ { "ok" }, { "ok" }, { "ok" } },
      try({ bounds[1], bounds[2], bounds[3] }, { "1" }))
  end)
end)

describe("a limit of a collection", function()
  local lists = {
    { "listFiles", { path = "/tmp" }, "limit" },
    { "getSandboxLogs", {}, "limit" },
    { "getSandboxMetrics", {}, "limit" },
  }

  it("is moved into 1 to 1,000", function()
    for _, codes in ipairs(try(lists, { "0", "-7", "1001", "1e9", "1",
      "1000", "math.maxinteger", "math.mininteger" })) do
      for i, code in ipairs(codes) do assert.equal("ok", code, i) end
    end
    assert.equal(1000, s:call("e2b.listFiles", { sandboxId = "ibox",
      path = "/tmp", limit = 1e9 }).out.page.limit)
    assert.equal(1, s:call("e2b.listFiles", { sandboxId = "ibox",
      path = "/tmp", limit = -3 }).out.page.limit)
  end)

  it("that is no finite number is refused", function()
    for _, codes in ipairs(try(lists, { "math.huge", "-math.huge", "0/0",
      "'x'", "false" })) do
      for i, code in ipairs(codes) do assert.equal("invalid_input", code, i) end
    end
  end)
end)

describe("an id or a path that cannot be one", function()
  local rows = {
    { "getSandbox", { sandboxId = "a/b" },
      "e2b.getSandbox: sandboxId: expected letters and digits" },
    { "killSandbox", { sandboxId = ("a"):rep(129) },
      "e2b.killSandbox: sandboxId: expected letters and digits" },
    { "readFile", { path = ("n"):rep(256) },
      "e2b.readFile: path: a name of 256 bytes in it, at most 255" },
    { "listFiles", { path = ("d/"):rep(2048) },
      "e2b.listFiles: path: a path of 4096 bytes, at most 4095" },
    { "writeFiles", { files = { { path = "a", content = "" },
      { path = "b/" .. ("n"):rep(256), content = "" } } },
      "e2b.writeFiles: files[2].path: a name of 256 bytes in it, at most 255" },
    { "runCommand", { command = "true", cwd = ("n"):rep(256) },
      "e2b.runCommand: cwd: a name of 256 bytes in it, at most 255" },
  }

  it("is named with its task and field, and nothing is sent", function()
    local before = sent()
    for _, row in ipairs(rows) do
      local input = row[2]
      input.sandboxId = input.sandboxId or "ibox"
      local answer = s:call("e2b." .. row[1], input)
      assert.equal("invalid_input", answer.error.code, row[1])
      assert.equal(row[3], answer.error.message:sub(1, #row[3]))
    end
    assert.equal(before, sent())
  end)
end)

describe("what a field cannot say", function()
  local twice = { { path = "a", content = "" }, { path = "./a", content = "" } }
  local rows = {
    { "createSandbox", { idempotencyKey = "k", envs = { ["A=B"] = "" } },
      "invalid_input" },
    { "runCommand", { command = ("x"):rep(131072) }, "limit_exceeded" },
    { "runCommand", { command = "true", user = "a:b" }, "invalid_input" },
    { "runCode", { code = "1", envs = { [""] = "x" } }, "invalid_input" },
    { "writeFiles", { files = twice }, "invalid_input" },
    { "writeFiles", { maxTotalBytes = 1, files = { { path = "a",
      content = "ab" } } }, "limit_exceeded" },
    { "writeFiles", { files = { { path = "a", encoding = "base64",
      content = "YR==" } } }, "invalid_input" },
    { "readFile", { path = "a", maxBytes = 1048577 }, "invalid_input" },
    { "readFile", { path = "/proc/version" }, "unsupported" },
    { "getSandboxLogs", { search = ("x"):rep(257) }, "invalid_input" },
    { "getSandboxMetrics", { start = "noon" }, "invalid_input" },
    { "getSandboxMetrics", { start = "2026-11-29T15:00:00Z",
      ["end"] = "2026-11-29T14:00:00Z" }, "invalid_input" },
  }

  it("is said before a key is missed and a service is started", function()
    local program = require "support.program"
    local lfs = require "lfs"
    local ebb = program.open()
    for _, row in ipairs(rows) do
      local input = row[2]
      if row[1] ~= "createSandbox" then input.sandboxId = "ibox" end
      local path = ebb.dir .. "/input.json"
      local file = assert(io.open(path, "w"))
      file:write(cjson.encode(input))
      file:close()
      for _, how in ipairs { "", "--local " } do
        local _, status, err = ebb:plain(("%scall --json e2b.%s -"):format(how,
          row[1]), nil, path)
        assert.not_equal(0, status)
        err = cjson.decode(err:match "([^\n]*)\n*$")
        assert.equal(row[3], err.code, row[1])
        assert.equal(0, err.attempts)
        assert.equal("e2b." .. row[1] .. ": ",
          err.message:sub(1, #row[1] + 6))
      end
    end
    assert.is_nil(lfs.attributes(ebb.dir .. "/service.sock"))
    ebb:close()
  end)
end)
