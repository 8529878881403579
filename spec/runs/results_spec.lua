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
end)
