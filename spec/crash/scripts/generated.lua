-- SPDX-License-Identifier: MIT
-- generated.lua SEED: a workflow drawn from a seed, the same each time, of
-- commands, readings, short sleeps and combinators within each other.

local ebb = require "ebb"
local steps = require "crash.steps"

local seed = math.tointeger(tonumber((...)))
local DEPTH_MAX, COMMANDS_MAX = 2, 8

-- Not math.random, which a run seeds itself.
local function draw(n)
  seed = (seed * 6364136223846793005 + 1442695040888963407) & math.maxinteger
  return (seed >> 33) % n + 1
end

local box <close> = steps.open()
local commands = 0
local generate

local function several(depth)
  local functions = {}
  for i = 1, 1 + draw(2) do functions[i] = generate(depth + 1) end
  return functions
end

local kinds = {
  function()
    commands = commands + 1
    local name = "c" .. commands
    if commands > COMMANDS_MAX then return function() ebb.sleep(0.001) end end
    return function() return box:command(name) end
  end,
  function() return function() return box:read(steps.LIST) end end,
  function() return function() ebb.sleep(0.003) end end,
  function(depth)
    local list = several(depth)
    return function() ebb.parallel(list) end
  end,
  function(depth)
    local list = several(depth)
    return function() ebb.settle(list) end
  end,
  function(depth)
    local list = several(depth)
    return function() for _, fn in ipairs(list) do fn() end end
  end,
}

-- All is drawn before anything runs, so that no order of branches matters.
function generate(depth)
  return kinds[depth < DEPTH_MAX and draw(#kinds) or draw(3)](depth)
end

local plan = {}
for i = 1, 4 do plan[i] = generate(0) end
for _, fn in ipairs(plan) do fn() end
box:command "last"
return box:result { at_once = COMMANDS_MAX }
