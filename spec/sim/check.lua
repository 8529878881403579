-- SPDX-License-Identifier: MIT

-- The oracle: what must be true of a run's lives, of its journal and of what
-- the world executed for it. The journal is looked at after each life; at the
-- end everything is judged.

local model = require "model"
local ends = require "ends"
local steps = require "steps"
local show = require "show"

local check = {}
check.__index = check

local states = { [0] = "active", "done", "failed", "cancelled", "stuck" }

function check.new(seed, text)
  return setmetatable({ seed = seed, text = text, looks = {},
    problems = {} }, check)
end

function check:problem(text, ...)
  self.problems[#self.problems + 1] = text:format(...)
end

-- After each life: what the journal has, and how many requests there were.
function check:look(journal, requests)
  journal.requests = requests
  journal.by_path = {}
  for _, row in ipairs(journal.rows) do
    journal.by_path[row.path] = row
  end
  self.looks[#self.looks + 1] = journal
end

-- One of the steps that are recorded: its path, or the name that the script
-- has for it, if it has one. number is random.
function check:pick(how, number)
  local list = {}
  local last = self.looks[#self.looks] or { rows = {} }
  for _, row in ipairs(last.rows) do
    local name = row.name:find "^e2b%." and row.input.n:match "^n%d+"
    if row.seq > 0 and (how == "path" or name) then
      list[#list + 1] = how == "path" and row.path or name
    end
  end
  return list[number % math.max(#list, 1) + 1]
end

-- ---- epochs: from a beginning, a resume, or a fork, to the next ----

local empty = { state = nil, rows = {}, by_path = {}, requests = 0, seq = 0 }

function check:look_before(life)
  return self.looks[life.since] or empty
end

-- Whether anything recorded in `old` is gone in `new`, or recorded anew.
local function forgotten(old, new)
  local gone = {}
  for _, row in ipairs(old.rows) do
    local now = new.by_path[row.path]
    if row.seq > 0 and (not now or now.seq ~= row.seq) then
      gone[#gone + 1] = row
    end
  end
  return gone
end

function check:make_epochs()
  local epoch = { lives = {} }
  self.epochs = { epoch }
  for _, life in ipairs(self.facts.lives) do
    local before, after = self:look_before(life), self.looks[life.look]
    local reopened = life.resume and life.claim > 0
      and (before.state or 0) ~= 0 or life.forked
    life.unread = life.changed -- it is not the same script
    life.gone = reopened and forgotten(before, after) or {}
    if reopened and #life.gone == 0 then
      life.unread = true -- it died before that was written
    end
    if reopened then
      epoch.look = before
      epoch = { lives = {} }
      self.epochs[#self.epochs + 1] = epoch
    end
    epoch.lives[#epoch.lives + 1] = life
  end
  epoch.look = self.looks[#self.looks]
end

-- ---- what the script saw ----

-- Its lines, and those of them that the reference knows.
local function read_log(life)
  life.lines, life.known = {}, {}
  for ms, text in life.log:gmatch "(%d+) ([^\n]*)\n" do
    life.lines[#life.lines + 1] = { ms = tonumber(ms), text = text }
    if text:sub(1, 1) ~= "=" then
      life.known[#life.known + 1] = text
    end
  end
end

function check:compare(life, lines)
  for i, text in ipairs(life.known) do
    if lines[i] ~= text then
      self:problem("life %d, line %d: it saw '%s', the reference '%s'",
        life.number, i, text, tostring(lines[i]))
      return
    end
  end
end

-- Each life saw the beginning of what the others saw.
function check:compare_lives(a, b)
  for i = 1, math.min(#a.lines, #b.lines) do
    if a.lines[i].text ~= b.lines[i].text then
      self:problem("line %d: life %d saw '%s', life %d '%s'", i, a.number,
        a.lines[i].text, b.number, b.lines[i].text)
      return
    end
  end
end

local function was_cancelled(lives)
  for _, life in ipairs(lives) do
    if life.fate:find "^interrupted" and life.struck
        or life.fate:find "^cancelled" then
      return true
    end
  end
  return false
end

function check:check_epoch(epoch)
  local reference = model.run(self.text, epoch.look.rows, self.cancelled)
  local longest
  epoch.reference = reference
  for _, problem in ipairs(reference.problems) do
    self:problem("%s", problem)
  end
  for _, life in ipairs(epoch.lives) do
    if not life.unread then
      self:compare(life, reference.lines)
      if longest then
        self:compare_lives(longest, life)
      end
      if not longest or #life.lines > #longest.lines then
        longest = life
      end
    end
  end
  self:check_end(epoch, reference)
end

-- ---- the end ----

function check:was_ended_by_another(epoch)
  for _, life in ipairs(epoch.lives) do
    if life.fate == "cancelled while nobody runs it"
        and states[self.looks[life.look].state] == "cancelled" then
      return true
    end
  end
  return false
end

function check:check_end(epoch, reference)
  local state = states[epoch.look.state]
  local expected
  if state == "stuck" or state == "active" and epoch ~= self.epochs[
      #self.epochs] then
    return
  elseif state == "cancelled" and self:was_ended_by_another(epoch) then
    return
  elseif not reference.ended then
    expected = "active"
  elseif reference.ok then
    expected = "done"
  elseif type(reference.value) == "table"
      and reference.value.code == "cancelled" then
    expected = "cancelled"
  else
    expected = "failed"
  end
  if state ~= expected then
    self:problem("the run is %s, by the reference it is %s", tostring(state),
      expected)
  elseif state == "done" and epoch.look.outcome ~= reference.value then
    self:problem("its result is %s, by the reference %s",
      tostring(epoch.look.outcome), tostring(reference.value))
  elseif state == "failed" then
    self:check_error(epoch.look.outcome, reference.value)
  end
end

function check:check_error(recorded, value)
  local code = type(value) == "table" and value.code or "script"
  if recorded.code ~= code then
    self:problem("it failed with %s, by the reference with %s",
      tostring(recorded.code), tostring(code))
  end
end

-- ---- lives ----

-- Errors of the run itself need a reason outside of it.
function check:check_code(life)
  local why = life.code ~= "lost_ownership"
  for _, other in ipairs(self.facts.lives) do
    why = why or other.claim > life.claim
  end
  if life.changed then
    if life.code ~= "replay_mismatch" and life.code ~= "stuck" then
      self:problem("life %d had another script and ended with %s",
        life.number, life.code)
    end
    return
  end
  if life.code == "replay_mismatch" or life.code == "no_memory"
      or life.code == "journal" and life.fate ~= "disk full" or not why then
    self:problem("life %d ended with %s: %s", life.number, life.code,
      life.message)
  end
end

function check:check_life(life)
  local before = self:look_before(life)
  local active = before.state == 0
  self:check_code(life)
  if life.code == "owned" and (life.take_over or life.owner ~= 2) then
    self:problem("life %d was refused, though nobody owns the run",
      life.number)
  end
  if active and life.owner == 2 and not life.take_over and life.claim > 0
      and not life.outside then
    self:problem("life %d got the run of a living process", life.number)
  end
  if before.state and before.state > 0 and not life.resume
      and life.state ~= "active" and life.claim > 0 and life.finished
      and not model.same(life.outcome, before.outcome) then
    self:problem("life %d was given another end than the recorded one",
      life.number)
  end
end

-- One that was taken over stops.
function check:check_taken(life)
  for _, other in ipairs(self.facts.lives) do
    if other.take_over and other.claim > life.claim and life.claim > 0
        and life.number < other.number and other.look < life.look
        and self:look_before(other).state == 0 and life.finished
        and life.code ~= "lost_ownership" then
      self:problem("life %d was taken over and ended with %s", life.number,
        life.code)
    end
  end
end

-- ---- the journal only grows ----

function check:check_growth()
  local last = empty
  for i, look in ipairs(self.looks) do
    local resumed = false
    for _, life in ipairs(self.facts.lives) do
      resumed = resumed or (life.resume and life.claim > 0 or life.forked)
        and life.since < i and i <= life.look
    end
    if not resumed then
      for _, row in ipairs(last.rows) do
        local now = look.by_path[row.path]
        if not now or row.seq > 0 and not (now.seq == row.seq
            and now.failed == row.failed
            and model.same(now.outcome, row.outcome)) then
          self:problem("the journal lost step %s, or changed it", row.path)
        end
      end
    end
    local seq = 0
    for _, row in ipairs(look.rows) do
      if row.seq > 0 and row.seq <= seq then
        self:problem("two outcomes have number %d", seq)
      end
      seq = math.max(seq, row.seq)
    end
    last = look
  end
end

-- ---- the judgement ----

function check:prepare(facts)
  self.facts = facts
  for i, life in ipairs(facts.lives) do
    life.number = i
    read_log(life)
  end
  for i, request in ipairs(facts.requests) do
    request.index = i
    request.of = facts.lives[request.life]
  end
  self.cancelled = was_cancelled(facts.lives)
  self:make_epochs()
end

-- Outcomes that were recorded, less those that a fork took over.
function check:count_steps()
  local count = self.looks[#self.looks].seq or 0
  for _, life in ipairs(self.facts.lives) do
    if life.forked then
      count = count + self:look_before(life).seq - self.looks[life.look].seq
    end
  end
  return count
end

function check:count_unknown()
  local count = 0
  for _, epoch in ipairs(self.epochs) do
    for _, row in ipairs(epoch.look.rows) do
      if row.failed and row.outcome.code == "outcome_unknown" then
        count = count + 1
      end
    end
  end
  return count
end

-- Whether all is as it must be, how many steps there were, and how many of
-- them with an unknown outcome.
function check:judge(facts, failure)
  self:prepare(facts)
  if failure ~= "" then
    self:problem("%s", failure)
  end
  for _, epoch in ipairs(self.epochs) do
    self:check_epoch(epoch)
  end
  for _, life in ipairs(facts.lives) do
    self:check_life(life)
    self:check_taken(life)
  end
  self:check_growth()
  steps.check(self)
  ends.check(self)
  if #self.problems > 0 then
    show.failure(self)
  end
  return #self.problems == 0, self:count_steps(), self:count_unknown()
end

return check
