-- SPDX-License-Identifier: MIT
-- Connects of calls that run at once, on the scripted server, which takes its
-- time for each and counts them.

local scripted = require "support.scripted"

local CONNECT = "POST /v2/sandboxes/ibox/connect"
local HEAD = [[
  local ebb, e2b = require "ebb", require "e2b"
  local function run(n)
    return e2b.runCommand { sandboxId = "ibox", command = "echo <" .. n .. ">" }
      .stdout.text
  end
]]

local function script(text, rules)
  local s = scripted.start(rules or { { on = CONNECT, delay = 800 } })
  local answer = s:run(HEAD .. text)
  local connects, runs = #s:requests(CONNECT), s:executions()
  s:stop()
  assert(answer.status == 0, answer.errors)
  return answer.out, connects, runs
end

teardown(scripted.stop_all)

describe("the first calls on a sandbox", function()
  it("share one connect, twenty of them at once", function()
    local out, connects, runs = script [[
      local calls = {}
      for i = 1, 20 do calls[i] = function() return run(i) end end
      return ebb.parallel(calls)]]
    assert.equal(20, #out)
    for i = 1, 20 do assert.equal(tostring(i), out[i]:match "%d+") end
    assert.equal(1, connects)
    assert.equal(20, runs)
  end)

  it("do without the one that asked when it is cancelled", function()
    local out, connects, runs = script [[
      local calls = { function()
        return (pcall(ebb.timeout, 0.3, run, 1))
      end }
      for i = 2, 20 do
        calls[i] = function() ebb.sleep(0.05) return run(i) end
      end
      return ebb.parallel(calls)]]
    assert.is_false(out[1])
    for i = 2, 20 do assert.equal(tostring(i), out[i]:match "%d+") end
    assert.equal(2, connects)
    assert.equal(19, runs)
  end)

  it("do without one that waits when it is cancelled", function()
    local out, connects, runs = script [[
      local calls = {}
      for i = 1, 19 do calls[i] = function() return run(i) end end
      calls[20] = function() return (pcall(ebb.timeout, 0.3, run, 20)) end
      return ebb.parallel(calls)]]
    assert.is_false(out[20])
    for i = 1, 19 do assert.equal(tostring(i), out[i]:match "%d+") end
    assert.equal(1, connects)
    assert.equal(19, runs)
  end)

  it("fail together when the sandbox is not there", function()
    local out, connects, runs = script([[
      local calls = {}
      for i = 1, 20 do
        calls[i] = function()
          local _, err = pcall(run, i)
          return err.code .. " " .. err.attempts
        end
      end
      return ebb.parallel(calls)]], { { on = CONNECT, delay = 300,
      status = 404, body = { code = 404, message = "Sandbox not found" } } })
    for i = 1, 20 do assert.equal("not_found 1", out[i]) end
    assert.equal(1, connects)
    assert.equal(0, runs)
  end)
end)
