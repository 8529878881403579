-- SPDX-License-Identifier: MIT
-- Eight programs at once go on with every run whose process is dead: each run
-- is claimed once, each of its effects had once (A16).

local cjson = require "cjson"
local durable = require "support.durable"

local RUNS = tonumber(os.getenv "EBB_SWEPT_RUNS") or 200
local SWEEPERS = 8

local build = os.getenv "EBB_BUILD" or "build"
local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

local script = [[
  ebb.step("first", function() return count(arg[1] .. " first") end)
  ebb.step("second", function() return count(arg[1] .. " second") end)
  return arg[1] ]]

-- Each killed once its first step is recorded.
local function interrupt_all()
  local path = runs:write(script)
  os.execute(([[seq %d | EBB_CRASH=outcome-done:1 %s xargs -P 2 -I @@ sh -c \
    '%s/ebb run --id run-@@ %s @@ </dev/null >/dev/null 2>&1 || true']]):format(
    RUNS, runs:environment(), build, path))
end

local function sweep()
  os.execute(([[for i in $(seq %d); do
      %s %s/ebb runs resume </dev/null >%s/swept.$i 2>%s/errors.$i || \
        echo $? >%s/failed.$i &
    done; wait]]):format(SWEEPERS, runs:environment(), build, runs.dir,
    runs.dir, runs.dir))
end

-- The lines of files of the run's folder.
local function lines(pattern)
  local pipe = io.popen(("cat %s/%s 2>/dev/null"):format(runs.dir, pattern))
  local all = {}
  for line in pipe:lines() do all[#all + 1] = line end
  pipe:close()
  return all
end

describe("eight programs that resume what is interrupted", function()
  it("claim each run once, and have each effect once (A16)", function()
    interrupt_all()
    local _, often = runs:counts()
    for n = 1, RUNS do assert.equal(1, often[n .. " first"], n) end
    sweep()
    assert.same({}, lines "failed.*")
    _, often = runs:counts()
    for n = 1, RUNS do
      assert.is_nil(often[n .. " first"], n)
      assert.equal(1, often[n .. " second"], n)
    end
    local claimed = 0
    for _, line in ipairs(lines "errors.*") do
      assert.truthy(line:find("resuming run", 1, true)
        or line:find("no run is interrupted", 1, true), line)
      if line:find("resuming run", 1, true) then claimed = claimed + 1 end
    end
    assert.equal(RUNS, claimed)
    for _, run in ipairs(cjson.decode((runs:words "--json runs list"))) do
      assert.equal("done", run.state)
      assert.equal(1, run.recoveries)
    end
    print(("# %d runs, %d programs"):format(RUNS, SWEEPERS))
  end)
end)
