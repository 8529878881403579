-- SPDX-License-Identifier: MIT
-- Scripts as `ebb run` runs them: arguments, results, errors, Ctrl-C.

local program = require "support.program"

local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

describe("ebb run", function()
  it("sets arg and passes the arguments", function()
    local out = ebb:script("return { #arg, arg[1], select('#', ...), (...) }",
      "'a b' c")
    assert.equal('[2,"a b",2,"a b"]\n', out)
  end)

  it("prints a string as it is, a value as JSON, nothing for nil (D12)",
    function()
      assert.equal("line\n", (ebb:script "return 'line\\n'"))
      assert.equal('{"a":[],"b":1.0}\n',
        (ebb:script "return { b = 1.0, a = require 'ebb'.array{} }"))
      assert.equal("", (ebb:script "return nil"))
      assert.equal("false\n", (ebb:script "return false"))
    end)

  it("reports a Lua error with its traceback and status 1", function()
    local out, status, err = ebb:script
      "local function f() error 'boom' end\nf()"
    assert.equal("", out)
    assert.equal(1, status)
    assert.truthy(err:find("script.lua:1: boom", 1, true), err)
    assert.truthy(err:find("script.lua:2: in main chunk", 1, true), err)
  end)

  it("refuses what is no Lua, and a file that is not there", function()
    local _, status, err = ebb:script "return return"
    assert.equal(1, status)
    assert.truthy(err:find("script.lua:1:", 1, true), err)
    _, status, err = ebb:run "run /nowhere.lua"
    assert.equal(1, status)
    assert.truthy(err:find("/nowhere.lua", 1, true), err)
  end)

  it("ends with the status of os.exit after cleaning up", function()
    local out, status = ebb:script [[
      local ebb = require "ebb"
      local _ <close> = ebb.defer(print, "cleaned")
      os.exit(7)]]
    assert.equal("cleaned\n", out)
    assert.equal(7, status)
  end)

  it("runs a module's functions that wait", function()
    local file = assert(io.open(ebb.dir .. "/mod.lua", "w"))
    file:write "return { nap = function() require 'ebb'.sleep(0.01) end }"
    file:close()
    local out, status, err = ebb:script(([[
      package.path = "%s/?.lua;" .. package.path
      require "mod".nap()
      return "awake"]]):format(ebb.dir))
    assert.equal(0, status, err)
    assert.equal("awake", out)
  end)
end)

describe("Ctrl-C", function()
  it("raises cancelled where the script waits and lets cleanup end",
    function()
      local out, status = ebb:interrupt([[
        local e2b, ebb = require "e2b", require "ebb"
        local box = e2b.createSandbox{ idempotencyKey = "ctrl-c" }
        local _ <close> = ebb.defer(function()
          print(e2b.killSandbox{ sandboxId = box.sandboxId }.changed)
        end)
        print "ready"
        io.stdout:flush()
        local ok, e = pcall(e2b.runCommand, { sandboxId = box.sandboxId,
          command = "sleep 60" })
        print(e.code)
        ebb.sleep(0)
        error(e)]], "INT", 1)
      assert.equal("cancelled\ntrue\n", out)
      assert.equal(130, status)
    end)

  it("stops a loop that computes", function()
    local out, status = ebb:interrupt([[
      local ebb = require "ebb"
      local _ <close> = ebb.defer(print, "cleaned")
      print "ready"
      io.stdout:flush()
      while true do end]], "INT", 1)
    assert.equal("cleaned\n", out)
    assert.equal(130, status)
  end)

  it("gives up the second time", function()
    local _, status = ebb:interrupt([[
      local ebb = require "ebb"
      print "ready"
      io.stdout:flush()
      while true do pcall(ebb.sleep, 60) end]], "INT", 2)
    assert.equal(130, status)
  end)
end)
