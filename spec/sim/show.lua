-- SPDX-License-Identifier: MIT

-- The trace of a program in which the oracle found something.

local show = {}

local PROBLEMS_MAX = 8

local function line(text, ...)
  print((text):format(...))
end

local function show_life(life)
  line("life %d at %d ms: %s%s%s%s; ended with %s%s", life.number,
    life.began_ms, life.fate,
    life.struck and " at " .. life.where or "",
    life.resume and ", resumes" or "",
    life.take_over and ", takes over" or "",
    life.finished and life.code or "its death",
    life.claim > 0 and "" or ", never had the run")
  for _, seen in ipairs(life.lines) do
    line("  %d %s", seen.ms, seen.text)
  end
end

local function show_row(row)
  local outcome = row.outcome
  if type(outcome) == "table" then
    outcome = outcome.code or outcome.value or outcome.outcome
      and outcome.outcome .. " by " .. outcome.branch
  end
  line("  %4d %-12s %-18s %-9s attempts %d %s%s", row.seq, row.path, row.name,
    row.class, row.attempts, row.failed and "failed: " or "",
    row.seq > 0 and tostring(outcome) or "(no outcome)")
end

local function show_request(request)
  line("  life %d, %d ms: %s attempt %d, %s%s: %s", request.life,
    request.began_ms, request.name, request.attempt, request.fault,
    request.executed and ", executed" or "",
    request.ended_ms > 0 and request.code .. " at " .. request.ended_ms
      or "nobody heard the answer")
end

function show.failure(check)
  line("\n==== seed %d", check.seed)
  print(check.text:match "\n\n(.-)$" and check.text)
  for _, life in ipairs(check.facts.lives) do
    show_life(life)
  end
  for i, epoch in ipairs(check.epochs) do
    line("journal, epoch %d, state %s:", i, tostring(epoch.look.state))
    for _, row in ipairs(epoch.look.rows) do
      show_row(row)
    end
  end
  line("requests:")
  for _, request in ipairs(check.facts.requests) do
    show_request(request)
  end
  for i = 1, math.min(#check.problems, PROBLEMS_MAX) do
    line("problem: %s", check.problems[i])
  end
end

return show
