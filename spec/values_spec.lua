-- SPDX-License-Identifier: MIT
-- Values between Lua and JSON, with Python's json as the oracle. Seeds are
-- fixed: the same values every time.

local program = require "support.program"

local COUNT = 3000
local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

local function python(words)
  local command = "python3 spec/support/values.py " .. words .. " 2>&1"
  local pipe = assert(io.popen((command:gsub("@", ebb.dir .. "/"))))
  local out = pipe:read "a"
  local ok = pipe:close()
  assert(ok, out)
  return out
end

local function run(text)
  local head = ('local DIR, N = %q, %d\n'):format(ebb.dir .. "/", COUNT)
    .. 'package.path = "./spec/?.lua;" .. package.path\n'
    .. 'local ebb, values = require "ebb", require "support.values"\n'
  local out, status, err = ebb:script(head .. text)
  assert(status == 0, err)
  return out
end

describe("a value", function()
  it("of Lua is the same after Python has read and written it (B01, B02)",
    function()
      run [[
        local file = assert(io.open(DIR .. "lua.json", "wb"))
        for _, value in ipairs(values.make(7, N)) do
          file:write(ebb.json.encode(value), "\n")
        end
        file:close()]]
      python "round @python.json @lua.json"
      local out = run [[
        local made, i = values.make(7, N), 0
        for line in io.lines(DIR .. "python.json") do
          i = i + 1
          local got = ebb.json.decode(line)
          if not values.same(made[i], got) then
            error(("%d: %s became %s"):format(i, ebb.json.encode(made[i]),
              line))
          end
          assert(ebb.json.encode(got) == ebb.json.encode(made[i]))
        end
        return i]]
      assert.equal(COUNT .. "\n", out)
    end)

  it("of Python is the same after Lua has read and written it (B01, B02)",
    function()
      python "make @python.json"
      run [[
        local file = assert(io.open(DIR .. "lua.json", "wb"))
        for line in io.lines(DIR .. "python.json") do
          file:write(ebb.json.encode(ebb.json.decode(line)), "\n")
        end
        file:close()]]
      assert.truthy(tonumber(python "check - @lua.json") > COUNT)
    end)
end)

-- What ebb.json.decode and encode give again for a text, or the code.
local function again(texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = ("%q"):format(text) end
  local out = run(([[
    local all = {}
    for i, text in ipairs { %s } do
      local ok, value = pcall(ebb.json.decode, text)
      all[i] = ok and ebb.json.encode(value) or value.code
    end
    return table.concat(all, "\n") .. "\n"]]):format(table.concat(list, ", ")))
  local lines = {}
  for line in out:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

describe("numbers", function()
  it("are exact in int64 and an error beyond, never clamped (B01)", function()
    local rows = {
      { "9007199254740993", "9007199254740993" },
      { "9223372036854775807", "9223372036854775807" },
      { "-9223372036854775807", "-9223372036854775807" },
      { "-9223372036854775808", "-9223372036854775808" },
      { "9223372036854775808", "invalid_input" },
      { "-9223372036854775809", "invalid_input" },
      { "18446744073709551615", "invalid_input" },
      { "1" .. ("0"):rep(30), "invalid_input" },
      { "1.0", "1.0" }, { "1e3", "1000.0" }, { "-0.0", "-0.0" },
      { "1e30", "1e+30" }, { "1e400", "invalid_input" },
      { "NaN", "invalid_input" }, { "Infinity", "invalid_input" },
      { "01", "invalid_input" }, { "+1", "invalid_input" },
      { ".5", "invalid_input" }, { "1.", "invalid_input" },
    }
    local texts = {}
    for i, row in ipairs(rows) do texts[i] = row[1] end
    for i, got in ipairs(again(texts)) do
      assert.equal(rows[i][2], got, rows[i][1])
    end
  end)
end)

describe("lists and objects", function()
  it("keep what they are when they are empty (B02)", function()
    local texts = { "[[],{}]", '{"a":[],"b":{}}', "[[[]]]", "[{}]" }
    assert.same(texts, again(texts))
  end)

  it("keep nil, false and null apart (B18)", function()
    assert.equal('{"false":false,"null":null}', run [[
      local t = ebb.json.decode '{"false":false,"null":null}'
      assert(t.absent == nil and t.null == ebb.null and t["false"] == false)
      return ebb.json.encode(t)]])
  end)

  it("may be nested a hundred deep and no deeper (C12)", function()
    local function nested(n) return ("["):rep(n) .. ("]"):rep(n) end
    assert.same({ nested(100), "invalid_input", "invalid_input" },
      again { nested(100), nested(101), ("["):rep(1000000) })
    assert.equal("true invalid_input invalid_input", run [[
      local function nested(n)
        local t = 1
        for _ = 1, n do t = { t } end
        return t
      end
      local ok = pcall(ebb.json.encode, nested(100))
      local _, a = pcall(ebb.json.encode, nested(101))
      local _, b = pcall(ebb.json.encode, nested(1000000))
      return tostring(ok) .. " " .. a.code .. " " .. b.code]])
  end)
end)

describe("text that is not UTF-8", function()
  it("is an error with its place on every way in (B04)", function()
    local out = run [[
      local e2b = require "e2b"
      local bad = { "a\xff\xe2\x82", "\xc0\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80" }
      local box = e2b.createSandbox { idempotencyKey = "b04" }
      local _ <close> = ebb.defer(e2b.killSandbox,
        { sandboxId = box.sandboxId })
      local id, codes = box.sandboxId, {}
      local function try(fn, ...)
        local _, err = pcall(fn, ...)
        codes[type(err) == "table" and err.code or tostring(err)] = true
      end
      for i, text in ipairs(bad) do
        try(ebb.json.encode, { text })
        try(ebb.json.decode, '"' .. text .. '"')
        try(e2b.createSandbox, { idempotencyKey = text })
        try(e2b.runCommand, { sandboxId = id, command = text })
        try(e2b.runCommand, { sandboxId = id, command = "true",
          envs = { A = text } })
        try(e2b.runCode, { sandboxId = id, code = text })
        try(e2b.writeFiles, { sandboxId = id,
          files = { { path = "/tmp/a", content = text } } })
        try(e2b.readFile, { sandboxId = id, path = text })
        try(e2b.createSandbox, { idempotencyKey = "b04",
          metadata = { [text] = "x" } })
        try(ebb.step, "b04", function() return { text } end)
        try(ebb.task { name = "my.b04" .. i, class = "none",
          run = function() return { text } end }, {})
      end
      local all = {}
      for code in pairs(codes) do all[#all + 1] = code end
      return table.concat(all, " ")]]
    assert.equal("invalid_input", out)
  end)

  it("becomes U+FFFD in a line of the log and of the journal (B04)",
    function()
      local out, status, err = ebb:run("run --id b04 " .. ebb:write [[
        local ebb = require "ebb"
        ebb.log("warn", "a\xff\xe2\x82 b\xed\xa0\x80")
        ebb.log("error", "")]])
      assert.same({ "", 0 }, { out, status }, err)
      local line = "a\u{FFFD}\u{FFFD} b\u{FFFD}\u{FFFD}\u{FFFD}"
      assert.equal("ebb: warn: " .. line .. "\nebb: error: \n", err)
      assert.truthy((ebb:run "runs show b04 --json"):find(
        '"message":"' .. line .. '"', 1, true))
    end)
end)
