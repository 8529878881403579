-- SPDX-License-Identifier: MIT
-- What `make test` does with ten kills, two hundred runs, eight processes: with
-- more; and what has to wait for ten or thirty seconds.

local durable = require "support.durable"
local interrupted = require "support.interrupted"

local build = os.getenv "EBB_BUILD" or "build"

-- A spec or test in a process of its own, which must pass.
local function pass(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local out = pipe:read "a"
  local ok = pipe:close()
  for line in out:gmatch "# ([^\n]+)" do print("# " .. line) end
  assert.is_true(ok, out)
end

local function spec(env, path, filter)
  pass(("%s timeout 1200 lua5.4 $(command -v busted) -o TAP --filter '%s' %s")
    :format(env, filter, path))
end

describe("runs, for longer", function()
  it("one is killed fifty times at random and ends as it would", function()
    spec("EBB_KILLS=50", "spec/runs/sandbox_spec.lua", "again and again")
  end)

  it("eight programs claim a thousand, each once (A16)", function()
    spec("EBB_SWEPT_RUNS=1000", "spec/runs/sweep_spec.lua", "claim each run")
  end)

  it("sixteen processes write five hundred steps each, and a lock that is "
    .. "held for thirty seconds is said (A17)", function()
    pass("EBB_SOAK=1 EBB_JOURNAL_PROCESSES=16 EBB_JOURNAL_STEPS=500 "
      .. "timeout 600 " .. build .. "/spec/test_journal_many")
  end)

  it("one that does not let itself be cancelled is named", function()
    local runs = durable.open()
    local it = interrupted.start(runs.dir,
      ("%s %s/ebb run --id deaf %s"):format(runs:environment(), build,
        runs:write "count 'ready' while true do pcall(ebb.sleep, 0.1) end"))
    assert(interrupted.wait(10, function()
      return (runs:counts())[1] == "ready"
    end))
    local _, status, err = runs:words "runs cancel deaf"
    it:signal "KILL"
    it:finish()
    runs:close()
    assert.equal(1, status)
    assert.truthy(err:find("run deaf was asked to cancel, and its process has "
      .. "not ended it within 10 s", 1, true), err)
  end)
end)
