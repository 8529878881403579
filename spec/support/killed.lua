-- SPDX-License-Identifier: MIT

-- One run whose process is killed at random times, often:
--
--   local killed = require "support.killed"
--   local whole, ended = killed.often(runs, "report", "scripts/report.lua", 50)
--   -- whole: what the run that nobody kills prints; ended: a list of
--   -- { kills, status, out, err, sandboxes = { id, … }, steps }
--
-- A kill comes at a time drawn evenly from the time that it takes to go through
-- a run that is done, and a twentieth more for each kill in a row from which
-- nothing new was recorded, since a run that never gets on is stuck. Drawn from
-- the time that a whole run takes, a run lives through one or two of them. One
-- that ends before it was killed so often is followed by another; the last one
-- was.

local cjson = require "cjson"
local system = require "system"

local durable = require "support.durable"

local killed = {}

local PART, MORE, RUNS_MAX, SAMPLES = 0.9, 0.05, 30, 5

-- How long it takes to go through a run that is done.
local function replay_s(runs, words)
  local samples = {}
  for i = 1, SAMPLES do
    local began = system.monotime()
    runs:words(words)
    samples[i] = system.monotime() - began
  end
  table.sort(samples)
  return samples[SAMPLES // 2 + 1]
end

-- How many outcomes are recorded; the sandboxes that are alive are noted.
local function look(runs, id, sandboxes)
  for _, box in ipairs(cjson.decode((runs:words "--json sandbox list"))) do
    if not sandboxes[box.sandboxId] then
      sandboxes[box.sandboxId] = true
      sandboxes[#sandboxes + 1] = box.sandboxId
    end
  end
  local out, status = runs:words("--json runs show " .. id)
  local recorded = 0
  for _, step in ipairs(status == 0 and cjson.decode(out).steps or {}) do
    if step.seq then recorded = recorded + 1 end
  end
  return recorded
end

local function one(runs, id, script, kills_max, length)
  local words = ("run --id %s %s"):format(id, script)
  local run = { id = id, kills = 0, sandboxes = {} }
  local recorded, fruitless = 0, 0
  repeat
    if run.kills < kills_max then
      run.out, run.status, run.err = runs:killed_after(
        math.random() * length * (PART + fruitless * MORE), words)
    else
      run.out, run.status, run.err = runs:words(words)
    end
    if run.status ~= durable.KILLED then break end
    run.kills = run.kills + 1
    local now = look(runs, id, run.sandboxes)
    fruitless = now > recorded and 0 or fruitless + 1
    recorded = now
  until false
  run.steps = cjson.decode((runs:words("--json runs show " .. id))).steps
  return run
end

-- The runs get the name and a number for ids.
function killed.often(runs, name, script, kills_max)
  local words = ("run --id %s %s"):format(name, script)
  local whole, status, err = runs:words(words)
  assert(status == 0, err)
  local length, ended = replay_s(runs, words), {}
  repeat
    local run = one(runs, name .. #ended + 1, script, kills_max, length)
    ended[#ended + 1] = run
    print(("# %s: %d kills, %d steps"):format(run.id, run.kills, #run.steps))
    assert(run.status == 0, run.err)
    assert(#ended < RUNS_MAX, "no run lived long enough to be killed so often")
  until run.kills == kills_max
  return whole, ended
end

return killed
