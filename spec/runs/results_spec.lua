-- SPDX-License-Identifier: MIT
-- What a step gives is the same the first time and from the journal, and no
-- value that means "nothing" is taken for another (D12, B02, B18).

local durable = require "support.durable"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

local text = [[
  local function say(value)
    return type(value) .. ":"
      .. (value == nil and "nil" or ebb.json.encode(value))
  end
  local values = {
    none = function() end, null = function() return ebb.null end,
    no = function() return false end, empty = function() return "" end,
    list = function() return ebb.array {} end,
    object = function() return {} end, zero = function() return 0 end,
    float = function() return 1.0 end, pair = function() return { 1, "é😀" } end,
    big = function() return math.maxinteger end,
    holes = function() return { ebb.null, false, ebb.null } end,
  }
  local all = {}
  for name, value in pairs(values) do
    all[name] = say(ebb.step(name, value))
    print(name .. " " .. all[name])
  end
  return all]]

local wanted = {
  none = "nil:nil", null = "nil:nil", no = "boolean:false",
  empty = 'string:""', list = "table:[]", object = "table:{}",
  zero = "number:0", float = "number:1.0", pair = 'table:[1,"é😀"]',
  big = "number:9223372036854775807", holes = "table:[null,false,null]",
}

local function said(out)
  local all = {}
  for name, what in out:gmatch "(%w+) ([^\n]+)\n" do all[name] = what end
  return all
end

describe("the result of a step", function()
  it("is the same when it is made and when it is read again (D12)", function()
    local outs, status, err = runs:finish("d12", text, function(n)
      return n < 12 and "outcome-done:" .. n
    end)
    assert.equal(0, status, err)
    assert.is_true(#outs > 1)
    for _, out in ipairs(outs) do
      for name, what in pairs(said(out)) do
        assert.equal(wanted[name], what, name)
      end
    end
    local last = said(outs[#outs])
    for name in pairs(wanted) do assert.truthy(last[name], name) end
  end)

  it("of a function that was cancelled is an error, and what won stays what "
    .. "it was (D12)", function()
    local script = [[
      local seen = {}
      local function see(name, ...)
        seen[#seen + 1] = name .. ": " .. select("#", ...) .. " "
          .. tostring((...)) .. " "
          .. tostring(type((select(2, ...))) == "table"
            and (select(2, ...)).code or (select(2, ...)))
        print(seen[#seen])
        io.stdout:flush()
      end
      local function cancelled(name)
        return function()
          see(name, pcall(ebb.sleep, 60))
          error("too late", 0)
        end
      end
      see("timeout", pcall(ebb.timeout, 0.02, cancelled "in timeout"))
      see("parallel", pcall(ebb.parallel, { cancelled "in parallel",
        function() ebb.sleep(0.01) error("first", 0) end }))
      for _, value in ipairs { false, "", 0 } do
        see("race", ebb.race { function() return value end,
          function() ebb.sleep(60) return "late" end })
      end
      see("nothing", ebb.race { function() ebb.sleep(0) end,
        function() ebb.sleep(60) return "late" end })
      local settled = ebb.settle { function() end, function()
        error("bad", 0) end }
      see("settled", settled[1].ok, settled[1].value)
      see("settled", settled[2].ok, settled[2].error)
      return seen]]
    local outs, status, err = runs:finish("cancelled", script, function(n)
      return n < 3 and "run-end:1"
    end)
    assert.equal(0, status, err)
    assert.equal(3, #outs)
    -- Live first, and then by the journal alone.
    assert.equal(outs[1], outs[2])
    assert.equal(outs[1], outs[3]:sub(1, #outs[1]))
    assert.same({
      "in timeout: 2 false cancelled", "timeout: 2 false timeout",
      "in parallel: 2 false cancelled", "parallel: 2 false first",
      "race: 1 false nil", "race: 1  nil", "race: 1 0 nil",
      "nothing: 0 nil nil", "settled: 2 true nil", "settled: 2 false bad",
    }, require "cjson".decode(outs[3]:sub(#outs[1] + 1)))
  end)
end)
