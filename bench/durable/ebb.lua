-- SPDX-License-Identifier: MIT
-- ebb.lua steps|long: what durability costs a script. Prints lines "name
-- value" for compare.lua. The process of "long" is to be killed at its end, and
-- another to go through what it recorded.

local ebb = require "ebb"

local SAMPLES, AT_ONCE, STEPS_OF_ONE, LONG_STEPS = 500, 100, 50, 50000

local function nothing() return 1 end

-- The median in ms, and steps a second.
local function one_by_one(class)
  local samples, sum = {}, 0
  for i = 1, SAMPLES do
    local from = ebb.monotonic()
    ebb.step("step", nothing, { class = class })
    samples[i] = ebb.monotonic() - from
    sum = sum + samples[i]
  end
  table.sort(samples)
  print(("%s_ms %g"):format(class, samples[SAMPLES // 2] * 1000))
  print(("%s_per_s %g"):format(class, SAMPLES / sum))
end

local function at_once(n, steps, class)
  local branches = {}
  for i = 1, n do
    branches[i] = function()
      for _ = 1, steps do ebb.step("step", nothing, { class = class }) end
    end
  end
  local from = ebb.monotonic()
  ebb.parallel(branches)
  return n * steps / (ebb.monotonic() - from)
end

if (...) == "long" then
  at_once(AT_ONCE, LONG_STEPS // AT_ONCE, "read")
else
  one_by_one "none"
  one_by_one "read"
  print(("many_per_s %g"):format(at_once(AT_ONCE, STEPS_OF_ONE, "none")))
end
