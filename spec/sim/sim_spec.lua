-- SPDX-License-Identifier: MIT
-- The simulator finds nothing in a hundred thousand steps, the same from the
-- same seed, and something in whatever is broken on purpose.

local build = os.getenv "EBB_BUILD" or "build"
-- Sanitizers take four times as long.
local STEPS = tonumber(os.getenv "EBB_SIM_STEPS")
  or build:find "asan" and 20000 or 100000

local function sim(seed, steps, broken)
  local pipe = assert(io.popen(("EBB_SIM_BREAK=%s timeout 500 %s/spec/sim %d "
    .. "%d 2>&1"):format(broken or "nothing", build, seed, steps)))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

describe("the simulator", function()
  it("finds nothing", function()
    local text, status = sim(1, STEPS)
    assert(status == 0, text)
    print("# " .. text:match "\n(%d+ steps.-)\n")
  end)

  it("does the same from the same seed", function()
    assert.equal((sim(7, 1000)), (sim(7, 1000)))
  end)

  -- Jobs of the journal that are answered and not done, and so on: sim.h.
  for _, broken in ipairs { "intent", "attempt", "outcome", "end", "forget",
    "twice", "early", "order" } do
    it("finds what is broken: " .. broken, function()
      local text, status = sim(1, 20000, broken)
      assert.equal(1, status, text)
      assert.truthy(text:find "problem: ")
      local again = text:match "make sim SEED=(%d+) STEPS=1\n"
      assert.truthy(select(2, sim(tonumber(again), 1, broken)) == 1)
    end)
  end
end)
