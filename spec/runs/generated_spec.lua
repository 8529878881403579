-- SPDX-License-Identifier: MIT
-- Scripts made from seeds, killed at points made from seeds: every execution
-- sees what the ones before it saw, and no body of class none runs twice.

local durable = require "support.durable"
local workflow = require "support.workflow"

local SEEDS = tonumber(os.getenv "EBB_WORKFLOWS") or 40
local CRASHES = 6

local points = { "intent", "intent-done", "outcome", "outcome-done",
  "deliver", "combinator", "combinator-done", "run-end", "run-ended" }

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

-- Where each execution is killed, until one is not killed any more.
local function crashes(seed)
  return function(n)
    if n > CRASHES then return nil end
    local number = (seed * 7919 + n * 104729) % 1000003
    return points[number % #points + 1] .. ":" .. number // 9 % 12 + 1
  end
end

describe("a script made from a seed", function()
  it("sees the same in every execution", function()
    local executions = 0
    for seed = 1, SEEDS do
      local id, text = "seed" .. seed, workflow.make(seed)
      local crash, outs = crashes(seed), {}
      for n = 1, CRASHES + 1 do
        local out, status, err = runs:run(id, text, { crash = crash(n) })
        outs[n] = out
        if status ~= durable.KILLED then
          assert.is_true(status == 0 or status == 1 or status == 4,
            ("seed %d, execution %d: status %d: %s"):format(seed, n, status,
              err))
          break
        end
      end
      executions = executions + #outs
      for n = 1, #outs - 1 do
        -- A run that had ended prints no more than its result.
        if outs[#outs] ~= "the end" and outs[#outs] ~= "" then
          assert.equal(outs[#outs]:sub(1, #outs[n]), outs[n],
            ("seed %d, execution %d"):format(seed, n))
        end
      end
      local _, often = runs:counts()
      for name, times in pairs(often) do
        assert.equal(1, times, ("seed %d: %s"):format(seed, name))
      end
    end
    print(("# %d executions of %d scripts"):format(executions, SEEDS))
  end)
end)
