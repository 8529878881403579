-- SPDX-License-Identifier: MIT
-- Four scripts, killed at every point that they pass, and at pairs of points:
-- nothing is executed twice, nothing is lost, no sandbox is left.
-- EBB_SEED draws other pairs. The same on the local service is in
-- service_spec.lua, more in spec/soak/crash_spec.lua.

local crash = require "support.crash"

local SEED = tonumber(os.getenv "EBB_SEED") or 1
local SCRIPTS = { "sequence", "branches", "deadlines", "redo" }
local PAIRS = 100

local passes = {}

describe("on the scripted server, a run that is killed", function()
  local world

  setup(function() world = crash.open "scripted" end)
  teardown(function() world:close() end)

  it("at any point ends as if it had not been (A03)", function()
    local total = 0
    for _, script in ipairs(SCRIPTS) do
      passes[script] = world:singles(script)
      total = total + #passes[script]
      print(("# %s: %d single points"):format(script, #passes[script]))
    end
    print(("# %d single points in all"):format(total))
  end)

  it("passes every point there is", function()
    local seen = {}
    for _, script in ipairs(SCRIPTS) do
      for _, pass in ipairs(passes[script]) do seen[pass.point] = true end
    end
    for _, point in ipairs(crash.points()) do
      assert.is_true(seen[point], point)
    end
  end)

  it("at one point, and at another of what is left, does too", function()
    math.randomseed(SEED)
    for _, script in ipairs(SCRIPTS) do
      world:pairs(script, passes[script], PAIRS // #SCRIPTS)
    end
    print(("# %d pairs, seed %d"):format(PAIRS, SEED))
  end)
end)
