-- SPDX-License-Identifier: MIT

-- What must be true where a run is cancelled by others, or resumed after it
-- failed.

local ends = {}

-- Beyond this a cancel by another process must have been noticed.
local NOTICED_MS = 2500

-- ---- resumes ----

-- Whether path comes after other in the same branch, by docs/durable.md.
local function is_behind(path, other)
  local branch, last = path:match "^(.*/)(%d+)"
  while branch or path:match "^%d+" do
    branch, last = branch or "", last or path:match "^(%d+)"
    local own = other:sub(1, #branch) == branch
      and other:sub(#branch + 1):match "^%d+"
    if own and tonumber(last) > tonumber(own) then
      return true
    elseif branch == "" then
      return false
    end
    path = branch:match "^(.*)%.%d+/$"
    branch, last = path:match "^(.*/)(%d+)"
  end
  return false
end

-- The steps that may have ended the run: they failed as it did.
local function culprits(before)
  local list = {}
  for _, row in ipairs(before.rows) do
    local error = row.failed and row.seq > 0 and row.outcome
    if error and before.outcome and error.code == before.outcome.code then
      list[#list + 1] = row
    end
  end
  return list
end

-- A resume forgets what failed, and what came after that: by its number, or
-- by its place.
local function check_forgotten(check, life)
  local before = check:look_before(life)
  for _, row in ipairs(life.gone) do
    local why = false
    for _, culprit in ipairs(culprits(before)) do
      why = why or row.seq >= culprit.seq or is_behind(row.path, culprit.path)
    end
    if not why then
      check:problem("life %d forgot step %s, which had nothing to do with "
        .. "the failure", life.number, row.path)
    end
  end
end

-- ---- forks ----

-- A fork has what was recorded before its step, without that and what is in
-- it.
local function check_fork(check, life)
  local before, after = check:look_before(life), check.looks[life.look]
  local from = before.by_path[life.what]
  local cut = from.seq
  local function is_within(row)
    return row.path == from.path
      or row.path:sub(1, #from.path + 1) == from.path .. "."
  end
  for _, row in ipairs(before.rows) do
    if is_within(row) and row.seq > 0 then cut = math.min(cut, row.seq) end
  end
  for _, row in ipairs(before.rows) do
    local wanted = row.seq > 0 and row.seq < cut and not is_within(row)
    if wanted ~= (after.by_path[row.path] ~= nil) then
      check:problem("the fork at %s has %s step %s", from.path,
        wanted and "lost" or "kept", row.path)
    end
  end
end

-- ---- cancels ----

local function canceller_of(check, life)
  local other = check.facts.lives[life.number + 1]
  return other and other.fate == "cancelled while nobody runs it"
    and other.code == "ok" and check.looks[other.look].state == 0 and other
end

-- Steps of the script itself, outside of cleanup, that ended after ms.
local function steps_after(epoch, ms)
  local list = {}
  for _, row in ipairs(epoch.look.rows) do
    local step = epoch.reference.asked[row.path]
    if step and step.branch == epoch.reference.main and not step.in_cleanup
        and row.seq > 0 and row.ended_ms >= ms then
      list[#list + 1] = row
    end
  end
  return list
end

-- A script whose owner was asked to cancel it hears of it at a step.
local function check_heeded(check, epoch, life)
  local other = life.fate == "cancelled by another" and life.struck
    and canceller_of(check, life)
  if not other or life.code == "lost_ownership" then
    return
  end
  local heard, late = false, false
  for _, row in ipairs(steps_after(epoch, other.began_ms)) do
    local code = row.failed and row.outcome.code
    heard = heard or code == "cancelled" or code == "outcome_unknown"
    late = late or row.ended_ms > other.began_ms + NOTICED_MS
      and row.ended_ms <= life.ended_ms
  end
  if late and not heard then
    check:problem("life %d was to be cancelled, and its script never heard",
      life.number)
  end
end

function ends.check(check)
  for _, epoch in ipairs(check.epochs) do
    for _, life in ipairs(epoch.lives) do
      if life.forked then
        check_fork(check, life)
      else
        check_forgotten(check, life)
      end
      check_heeded(check, epoch, life)
    end
  end
end

return ends
