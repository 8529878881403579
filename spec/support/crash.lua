-- SPDX-License-Identifier: MIT

-- The crash matrix: `ebb run --id` killed at a point of runtime/base/crash.h,
-- started again until done, and compared with the run that nobody killed.
--
--   local crash = require "support.crash"
--   local world = crash.open "scripted"     -- or "local": the real service
--   local passes = world:singles "sequence" -- { { point, n }, … }
--   world:pairs("sequence", passes, 25)     -- drawn by math.random
--   world:close()
--
-- Whatever differs is an error that names the script and its points.

local cjson = require "cjson"

local client = require "support.client"
local scripted = require "support.scripted"

local crash = {}
local methods = {}

local PASSES_MAX = 60 -- a point that is passed more often is a mistake
local DRAWS_MAX = 20  -- of pairs, for each one in which both were killed

-- Killed there, a step of class none may have been sent or not.
local DOUBT = { ["intent-done"] = true, sent = true, answered = true,
  outcome = true }

-- The points' names, as the program has them.
function crash.points()
  local names = {}
  local text = client.read_file "runtime/base/crash.h"
  for name in text:gmatch 'X%(EBB_CRASH_[A-Z_]+, "([a-z-]+)"%)' do
    names[#names + 1] = name
  end
  assert(#names > 0)
  return names
end

-- In memory where that can be: SIGKILL is no loss of power, and the matrix
-- commits ten thousand times.
function crash.open(kind)
  local dir = client.shell("mktemp -d /dev/shm/ebb-spec.XXXXXX 2>/dev/null"
    .. " || mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", "")
  return setmetatable({ dir = dir, kind = kind, cases = 0 },
    { __index = methods })
end

-- Reading is refused once, so that the points of attempts are passed too.
local RULES = { { on = "GET /files", times = 1, status = 503 } }

local function environment(self, server)
  local words = { ("env LUA_PATH='./spec/?.lua;;' EBB_STATE=%s "
    .. "EBB_JOURNAL=%s/journal.db"):format(self.dir, self.dir) }
  if server then
    words[2] = ("EBB_LOCAL= E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY="
      .. "e2b_%s EBB_LIMITS=retry=5,jitter=0"):format(server.url, server.url,
      ("0"):rep(40))
  end
  return table.concat(words, " ")
end

local function decode(self, name)
  local text = client.read_file(self.dir .. "/" .. name)
  local ok, value = pcall(cjson.decode, text)
  return ok and value or nil
end

-- How often the server acted on each name.
local function count(server)
  local executed = {}
  for _, request in ipairs(server:requests()) do
    for name in (request.executed and request.body or ""):gmatch "%[(%w+)%]" do
      executed[name] = (executed[name] or 0) + 1
    end
  end
  return executed
end

local function count_lines(list)
  local executed = {}
  for name in list:gmatch "[^\n]+" do
    name = name:match "%[(%w+)%]" or name
    executed[name] = (executed[name] or 0) + 1
  end
  return executed
end

-- One run to its end, killed at each of the crashes ("point:n") in turn.
function methods:execute(script, crashes, argument)
  local server = self.kind == "scripted" and scripted.start(RULES) or nil
  self.cases = self.cases + 1
  local answer = client.shell(("%s sh spec/crash/until_done.sh %s run%d %s "
    .. "spec/crash/scripts/%s.lua '%s' %s"):format(environment(self, server),
    self.dir, self.cases, server and "--quiet" or "--local", script,
    argument or "", table.concat(crashes, " ")))
  local status, killed = answer:match "(%d+) (%d+)"
  local case = {
    name = ("%s, %s service, killed at %s: "):format(script, self.kind,
      table.concat(crashes, " and ")),
    crashes = crashes, status = tonumber(status), killed = tonumber(killed),
    out = decode(self, "out"), show = decode(self, "show"),
    boxes = decode(self, "boxes"), err = client.read_file(self.dir .. "/err"),
  }
  if case.out and case.out.values then
    case.executed = server and count(server) or count_lines(case.out.list)
  end
  if server then server:stop() end
  return case
end

local function must(case, holds, text, ...)
  if not holds then
    error(case.name .. text:format(...) .. "\n" .. case.err, 0)
  end
end

-- Nothing twice, nothing lost: what the server did against what is claimed.
local function check_effects(case, kind)
  local unknown, certain = 0, true
  for _, spec in ipairs(case.crashes) do
    certain = certain and not DOUBT[spec:match "^[^:]+"]
  end
  for name, value in pairs(case.out.values) do
    local often = case.executed[name] or 0
    must(case, often <= 1, "%s was executed %d times", name, often)
    if value == "unknown" then
      unknown = unknown + 1
    elseif kind == "scripted" or value ~= "written" then
      must(case, often == 1, "%s is lost", name)
    end
  end
  must(case, unknown <= case.killed * case.out.at_once, "%d are unknown",
    unknown)
  must(case, unknown == 0 or not certain or case.out.at_once > 1,
    "%d are unknown that need not be", unknown)
end

local function check_journal(case)
  local seen = {}
  must(case, case.show and case.show.state == "done", "it is not done")
  for _, step in ipairs(case.show.steps) do
    must(case, not seen[step.path], "step %s is there twice", step.path)
    seen[step.path] = true
    must(case, step.state ~= "started", "step %s has no end", step.path)
  end
  must(case, case.show.recoveries <= case.killed, "%d recoveries",
    case.show.recoveries)
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- The same end as nobody's, but for what is unknown.
local function check_result(case, whole)
  for key, value in pairs(case.out) do
    if key ~= "values" and key ~= "list" then
      must(case, same(value, whole.out[key]), "%s is %s, not %s", key,
        cjson.encode(value), cjson.encode(whole.out[key]))
    end
  end
  for name, value in pairs(whole.out.values) do
    local got = case.out.values[name]
    must(case, got == value or got == "unknown", "%s is %s, not %s", name,
      got, value)
  end
end

function methods:check(case, whole)
  must(case, case.status == 0, "status %s", case.status)
  must(case, type(case.out) == "table" and case.out.values, "no result")
  check_effects(case, self.kind)
  check_journal(case)
  check_result(case, whole or case)
  for _, box in ipairs(case.boxes) do
    must(case, box.sandboxId == "ibox", "%s is left", box.sandboxId)
  end
end

-- The run that nobody kills.
function methods:whole(script, argument)
  local whole = self:execute(script, {}, argument)
  self:check(whole)
  for name, value in pairs(whole.out.values) do
    must(whole, value ~= "unknown", "%s is unknown", name)
  end
  return whole
end

-- Kills at every point, each time it is passed: what was passed, in order.
function methods:singles(script, argument)
  local whole, passes = self:whole(script, argument), {}
  for _, point in ipairs(crash.points()) do
    for n = 1, PASSES_MAX + 1 do
      assert(n <= PASSES_MAX, point .. " is passed without end")
      local spec = point .. ":" .. n
      local case = self:execute(script, { spec }, argument)
      self:check(case, whole)
      if case.killed == 0 then break end
      passes[#passes + 1] = { point = point, n = n }
    end
  end
  return passes
end

-- Kills at one point, and at another of what is left,
-- n times.
function methods:pairs(script, passes, n, argument)
  local whole, found, draws = self:whole(script, argument), 0, 0
  while found < n do
    draws = draws + 1
    assert(draws <= n * DRAWS_MAX, "pairs are hard to find in " .. script)
    local first, second = passes[math.random(#passes)],
      passes[math.random(#passes)]
    local case = self:execute(script, {
      first.point .. ":" .. first.n,
      second.point .. ":" .. math.random(second.n),
    }, argument)
    self:check(case, whole)
    if case.killed == 2 then found = found + 1 end
  end
end

-- Every row of the journal must be sound.
function methods:close()
  local text = client.shell(("%s %s/ebb doctor --json 2>&1"):format(
    environment(self), os.getenv "EBB_BUILD" or "build"))
  if self.kind == "local" then
    client.shell(("%s %s/ebb --local serve --stop 2>&1"):format(
      environment(self), os.getenv "EBB_BUILD" or "build"))
  end
  client.shell("rm -rf " .. self.dir)
  for _, row in ipairs(cjson.decode(text)) do
    if row.name == "journal" and self.cases > 0 then
      return assert(row.ok and row.message:find "^every row is sound", text)
    end
  end
  assert(self.cases == 0, "doctor says nothing of the journal: " .. text)
end

return crash
