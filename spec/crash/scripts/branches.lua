-- SPDX-License-Identifier: MIT
-- Branches add to one table as they come, and it is written: a resumed run
-- that came out in another order would not fit its journal.

local ebb = require "ebb"
local steps = require "crash.steps"

local box <close> = steps.open()
local order = {}

local function add(name)
  box:command(name)
  order[#order + 1] = name
end

local function branch(name)
  return function()
    add(name)
    box:read(steps.LIST)
    order[#order + 1] = name
  end
end

ebb.parallel { branch "left", branch "right" }
ebb.map({ "a", "b", "c" }, add, { limit = 2 })
box:write("order", "/tmp/order", table.concat(order, " "))
table.sort(order)
return box:result { order = order, at_once = 2 }
