-- SPDX-License-Identifier: MIT
-- An effect in doubt is looked for, and had again if it is not there.

local ebb = require "ebb"
local steps = require "crash.steps"

local box <close> = steps.open()
local ROW = "a row"

local function is_there()
  ebb.sleep(0.02) -- what was on its way may still arrive
  local text = box:read(steps.LIST)
  return text ~= nil and text:sub(1, #ROW) == ROW
end

local tries = 0
repeat
  tries = tries + 1
  local done = box:write("row" .. tries, steps.LIST, ROW)
until done or is_there()
assert(box:read(steps.LIST):sub(1, #ROW) == ROW)
local effect = "there"
return box:result { effect = effect, at_once = 1 }
