-- SPDX-License-Identifier: MIT
-- A race that a sleep loses, a time that is up, and branches that may fail.

local ebb = require "ebb"
local steps = require "crash.steps"

local box <close> = steps.open()

local winner = ebb.race {
  function() ebb.sleep(60) return "slept" end,
  function() return box:command "quick" end,
}
local in_time, late = pcall(ebb.timeout, 0.01, function() ebb.sleep(60) end)
local settled = ebb.settle {
  function() return box:command "fine" end,
  function() return assert(box:read "/tmp/none", "no such file") end,
  function() ebb.sleep(0.005) return "rested" end,
}
return box:result {
  winner = winner, in_time = in_time, late = late.code,
  settled = { settled[1].ok, settled[2].ok, settled[3].value }, at_once = 2,
}
