-- SPDX-License-Identifier: MIT

-- What must be true of each step, by what the world saw of it: how often it
-- was executed, what it answered, when it was asked again.

local steps = {}

local BASE_MS, AFTER_MAX_MS, ATTEMPTS_MAX = 1000, 30000, 4
-- Beyond its time a step may wait for the disk, in one life.
local SLACK_MS = 1500

-- The name by which the world knows the step, or nil.
local function deed_of(row)
  if row.name:find "^e2b%." or row.name:find "^own%." then
    return row.input and row.input.n
  elseif not row.name:find "^ebb%." then
    return row.name
  end
end

-- ---- at most once ----

-- How often each step of class none may have been sent: once, and once more
-- for each time that a resume or a fork forgot it.
local function allowances(check)
  local allowed = setmetatable({}, { __index = function() return 1 end })
  for _, life in ipairs(check.facts.lives) do
    for _, row in ipairs(life.gone) do
      local name = deed_of(row)
      if name then allowed[name] = allowed[name] + 1 end
    end
    if life.force and life.claim > 0 or life.forked then
      for _, row in ipairs(check:look_before(life).rows) do
        local name = deed_of(row)
        if name and row.seq == 0 then allowed[name] = allowed[name] + 1 end
      end
    end
  end
  return allowed
end

local function check_once(check)
  local allowed, seen = allowances(check), {}
  for _, look in ipairs(check.looks) do
    for _, row in ipairs(look.rows) do
      local name = row.class == "none" and deed_of(row)
      local deed = name and check.facts.deeds[name]
      if deed and not seen[name] then
        seen[name] = true
        if deed.received > allowed[name] or deed.executed > allowed[name] then
          check:problem("%s (%s) was sent %d times and executed %d times",
            name, row.path, deed.received, deed.executed)
        end
      end
    end
  end
end

-- What was recorded when a life began is not asked for in it.
local function check_completed(check)
  for _, request in ipairs(check.facts.requests) do
    local life = request.of
    local before = check:look_before(life)
    if not before.completed then
      before.completed = {}
      for _, row in ipairs(before.rows) do
        local name = row.seq > 0 and deed_of(row)
        if name then before.completed[name] = row end
      end
    end
    local row = before.completed[request.name]
    if row and not life.outside then
      local gone = false
      for _, forgotten in ipairs(life.gone) do
        gone = gone or forgotten.path == row.path
      end
      -- Who died while it reopened a run knew what would be forgotten.
      if not gone and (not life.unread or life.changed) then
        check:problem("life %d executed %s (%s) again, which had completed",
          life.number, request.name, row.path)
      end
    end
  end
end

-- Nothing is asked of the world before what was recorded is delivered.
local function check_replay(check)
  for _, request in ipairs(check.facts.requests) do
    local life = request.of
    local recorded = -#life.gone
    for _, row in ipairs(check:look_before(life).rows) do
      recorded = recorded + (row.seq > 0 and 1 or 0)
    end
    if request.delivered < recorded and not life.outside
        and (not life.unread or life.changed) then
      check:problem("life %d asked for %s after %d of %d recorded outcomes",
        life.number, request.name, request.delivered, recorded)
      return
    end
  end
end

-- ---- answers ----

local function requests_of(check, name)
  if not check.by_name then
    check.by_name = {}
    for _, request in ipairs(check.facts.requests) do
      local list = check.by_name[request.name] or {}
      list[#list + 1] = request
      check.by_name[request.name] = list
    end
  end
  return check.by_name[name] or {}
end

-- What was cancelled is not tried again, however it ends.
local function answered(requests, code, attempt)
  for _, request in ipairs(requests) do
    if request.ended_ms > 0 and request.code == code and (not attempt
        or request.attempt == attempt or request.cancelled) then
      return true
    end
  end
  return false
end

-- Whether a life before this one had begun the step and not ended it.
local function was_left_open(check, row)
  for _, look in ipairs(check.looks) do
    local then_ = look.by_path[row.path]
    if then_ and then_.seq == 0 then
      return true
    end
  end
  return false
end

local function check_success(check, row, deed, requests)
  local value = type(row.outcome) == "table" and row.outcome.value
    or row.outcome
  if not answered(requests, "ok") then
    check:problem("%s (%s) has a result that nobody gave", row.path, row.name)
  elseif value ~= deed.value and not deed.is_box
      and row.name ~= "e2b.killSandbox" then
    check:problem("%s has the result %s, the world gave %d", row.path,
      tostring(value), deed.value)
  elseif deed.executed < 1 then
    check:problem("%s has a result, and was not executed", row.path)
  end
end

local function check_failure(check, row, requests)
  local code = row.outcome.code
  local retryable = row.outcome.retryable and row.class ~= "none"
  if code == "outcome_unknown" then
    if row.class ~= "none" or not (was_left_open(check, row)
        or answered(requests, code)) then
      check:problem("%s is unknown without a reason", row.path)
    end
  elseif code == "script" then
    if not answered(requests, row.outcome.message) then
      check:problem("%s failed by itself: %s", row.path, row.outcome.message)
    end
  elseif code ~= "cancelled" and not answered(requests, code,
      retryable and ATTEMPTS_MAX) then
    check:problem("%s failed with %s, which nobody answered%s", row.path,
      code, retryable and " at the last attempt" or "")
  end
end

local function check_answers(check)
  for _, epoch in ipairs(check.epochs) do
    for _, row in ipairs(epoch.look.rows) do
      local name = row.seq > 0 and deed_of(row)
      local deed = name and check.facts.deeds[name]
      if row.failed and name then
        check_failure(check, row, requests_of(check, name))
      elseif name and not deed then
        check:problem("%s has a result, and was never asked for", row.path)
      elseif name then
        check_success(check, row, deed, requests_of(check, name))
      end
    end
  end
end

-- ---- attempts ----

local function least_wait(request)
  local after = math.min(request.retry_after_ms, AFTER_MAX_MS)
  return math.max(BASE_MS << (request.attempt - 1), after)
end

-- Two requests of one step in one life.
local function check_again(check, last, request)
  local name = request.name
  if request.attempt ~= last.attempt + 1 then
    check:problem("%s: attempt %d came after %d", name, request.attempt,
      last.attempt)
  elseif last.ended_ms == 0 or last.cancelled or not last.retryable then
    check:problem("%s was tried again after %s%s", name, last.code,
      last.cancelled and ", cancelled" or "")
  elseif request.began_ms - last.ended_ms < least_wait(last) then
    check:problem("%s: attempt %d came after %d ms", name, request.attempt,
      request.began_ms - last.ended_ms)
  end
end

-- The first request of a step in a life goes on where the journal was.
local function check_first(check, request)
  local before = check:look_before(request.of)
  for _, row in ipairs(before.rows) do
    if row.seq == 0 and deed_of(row) == request.name then
      local expected = math.min(row.attempts, ATTEMPTS_MAX - 1) + 1
      if request.attempt ~= expected then
        check:problem("life %d began %s with attempt %d, not %d",
          request.life, request.name, request.attempt, expected)
      elseif row.next_ms > 0 and request.began_ms < row.next_ms
          and row.next_ms - request.of.began_ms <= 2 * AFTER_MAX_MS then
        check:problem("life %d tried %s again too early", request.life,
          request.name)
      end
      return
    end
  end
  if request.attempt ~= 1 then
    check:problem("life %d began %s with attempt %d", request.life,
      request.name, request.attempt)
  end
end

-- The highest attempt of each step so far, in all lives: what came before it
-- is recorded, so no later life has a lower one.
local function check_highest(check, highest, request)
  local name, life = request.name, request.of
  for i = highest.life + 1, life.number do
    highest.life = i
    local one = check.facts.lives[i]
    if one.resume or one.forked then -- it may have forgotten them
      highest.by_name = {}
    end
  end
  local before = highest.by_name[name]
  if before and request.attempt < before and life.fate ~= "taken over" then
    check:problem("life %d tried %s with attempt %d, which had had %d",
      life.number, name, request.attempt, before)
  end
  highest.by_name[name] = math.max(before or 0, request.attempt)
end

local function check_attempts(check)
  local last, highest = {}, { by_name = {}, life = 0 }
  for _, request in ipairs(check.facts.requests) do
    local key = request.life .. " " .. request.name
    if request.attempt > ATTEMPTS_MAX then
      check:problem("%s: attempt %d", request.name, request.attempt)
    end
    if not request.of.outside then
      check_highest(check, highest, request)
    end
    if request.of.outside then -- it ends sandboxes, as no step of the run
      last[key] = nil
    elseif last[key] then
      check_again(check, last[key], request)
    elseif not request.of.unread and #request.of.gone == 0 then
      check_first(check, request)
    end
    last[key] = request
  end
end

-- ---- sleeps and limits ----

-- When each was first asked for: {name = ms}, by a word in what scripts show.
local function first_times(check, word)
  local times, seconds = {}, {}
  for _, life in ipairs(check.facts.lives) do
    for _, line in ipairs(life.lines) do
      local name, number = line.text:match("^(.+) " .. word .. " (%S+)$")
      if name then
        times[name] = math.min(line.ms, times[name] or line.ms)
        seconds[name] = tonumber(number)
      end
    end
  end
  return times, seconds
end

local function check_sleeps(check)
  local times, seconds = first_times(check, "naps")
  for _, life in ipairs(check.facts.lives) do
    for _, line in ipairs(life.lines) do
      local name = line.text:match "^(.+) ok nil$"
      local from = name and times[name]
      if from and line.ms < from + seconds[name] * 1000 then
        check:problem("%s slept %d ms in life %d, not %g s", name,
          line.ms - from, life.number, seconds[name])
      end
    end
  end
end

local function check_limits(check)
  local times, seconds = first_times(check, "limits")
  for _, life in ipairs(check.facts.lives) do
    local passed_on = false -- of a limit, or a request, within
    for _, line in ipairs(life.lines) do
      local name = line.text:match "^(.+) no timeout$"
      local from = name and not passed_on and times[name]
      if from and line.ms < from + seconds[name] * 1000 then
        check:problem("%s was over after %d ms in life %d, not %g s", name,
          line.ms - from, life.number, seconds[name])
      end
      passed_on = name ~= nil
    end
  end
end

local function ends_by_time(row)
  return row.seq > 0 and not row.failed and (row.name == "ebb.sleep"
    or row.name == "ebb.timeout" and row.outcome.branch == 0)
end

-- A sleep whose time had come when its life began, or came in it, ends then;
-- so does a limit.
local function check_wakes(check, epoch)
  for _, row in ipairs(epoch.look.rows) do
    if ends_by_time(row) then
      local late = math.huge
      for _, life in ipairs(epoch.lives) do
        local from = math.max(life.began_ms, row.wake_ms)
        if row.ended_ms >= from and life.fate ~= "suspended for long"
            and not life.fate:find "^stopped" then
          late = math.min(late, row.ended_ms - from)
        elseif row.ended_ms >= from then
          late = 0
        end
      end
      if late ~= math.huge and late > SLACK_MS then
        check:problem("%s woke %d ms late", row.path, late)
      elseif row.ended_ms < row.wake_ms then
        check:problem("%s woke too early", row.path)
      end
    end
  end
end

-- ---- the run's log ----

-- A line is written once, and once more at most for each life that came to no
-- end of its own, or tried again what had failed.
local function check_log(check)
  local last = check.looks[#check.looks]
  local most, complete = 1, last.state == 1
  for _, life in ipairs(check.facts.lives) do
    if not life.finished or life.struck or life.resume or life.changed
        or life.forked then
      most = most + 1
    end
    complete = complete and not life.forked
  end
  for name, times in pairs(last.log) do
    if times > most then
      check:problem("%s was logged %d times", name, times)
    end
  end
  for _, line in ipairs(check.epochs[#check.epochs].reference.lines) do
    local name = line:match "^(.+) logs$"
    if name and complete and not last.log[name] then
      check:problem("%s was not logged", name)
    end
  end
end

function steps.check(check)
  check_once(check)
  check_completed(check)
  check_replay(check)
  check_answers(check)
  check_attempts(check)
  check_sleeps(check)
  check_limits(check)
  check_log(check)
  for _, epoch in ipairs(check.epochs) do
    check_wakes(check, epoch)
  end
end

return steps
