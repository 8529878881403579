-- SPDX-License-Identifier: MIT
-- What the simulator asks of Lua: begin(seed) makes a program.

package.path = "spec/sim/?.lua;" .. package.path

local script = require "script"
local check = require "check"

-- The oracle of the program, and the text of its script.
function begin(seed) -- luacheck: ignore 111
  local text = script.make(seed)
  return check.new(seed, text), text
end
