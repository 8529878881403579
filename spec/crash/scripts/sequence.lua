-- SPDX-License-Identifier: MIT
-- One step after the other, with a clock, a step of its own and a short sleep.

local ebb = require "ebb"
local steps = require "crash.steps"

local box <close> = steps.open()
box:write("write", steps.LIST, "list")
box:command "one"
local own = ebb.step("own", function() return 6 * 7 end, { class = "read" })
ebb.sleep(0.005)
assert(ebb.now() > 0)
box:command "two"
return box:result { own = own, at_once = 1 }
