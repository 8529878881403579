-- SPDX-License-Identifier: MIT
-- What spec/crash does, and the rest: every script on the local service,
-- generated workflows, two thousand pairs. EBB_SEED draws others.

local crash = require "support.crash"

local SEED = tonumber(os.getenv "EBB_SEED") or 2
local SCRIPTS = { "sequence", "branches", "deadlines", "redo" }
local PAIRS = 2000
local GENERATED, GENERATED_PAIRS = 20, 10

local function kill(world, script)
  math.randomseed(SEED)
  local n, passes = PAIRS // 2 // #SCRIPTS, world:singles(script)
  world:pairs(script, passes, n)
  print(("# %s: %d single points, %d pairs, seed %d"):format(script, #passes,
    n, SEED))
end

local PLACES = { ["local"] = "the local service",
  scripted = "the scripted server" }

for kind, place in pairs(PLACES) do
  describe("on " .. place .. ", a run that is killed", function()
    local world

    setup(function() world = crash.open(kind) end)
    teardown(function() world:close() end)

    for _, script in ipairs(SCRIPTS) do
      it("ends as if it had not been: " .. script, function()
        kill(world, script)
      end)
    end
  end)
end

describe("a workflow that was made from a seed", function()
  local world

  setup(function() world = crash.open "scripted" end)
  teardown(function() world:close() end)

  it("ends as if it had not been killed", function()
    math.randomseed(SEED)
    local total = 0
    for seed = SEED, SEED + GENERATED - 1 do
      local passes = world:singles("generated", seed)
      total = total + #passes
      world:pairs("generated", passes, GENERATED_PAIRS, seed)
    end
    print(("# %d workflows: %d single points, %d pairs, seed %d"):format(
      GENERATED, total, GENERATED * GENERATED_PAIRS, SEED))
  end)
end)
