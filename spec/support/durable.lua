-- SPDX-License-Identifier: MIT

-- Durable runs as people start them, `ebb --local run --id`, with a journal of
-- their own, and killed where a spec says.
--
--   local durable = require "support.durable"
--   local runs = durable.open()
--   local out, status, err = runs:run("id", text, { crash = "intent-done:2" })
--   runs:close()
--
-- A script counts what it executed by count(name), see `count` below.

local durable = {}
local methods = {}

local build = os.getenv "EBB_BUILD" or "build"

durable.KILLED = 137

-- In front of every script: count(name) adds a line to a file.
durable.count = [[
  local e2b, ebb = require "e2b", require "ebb"
  local function count(name)
    local file <close> = assert(io.open(os.getenv "COUNTS", "a"))
    file:write(name, "\n")
    return name
  end
]]

local function shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

function durable.open()
  local dir = shell("mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", "")
  return setmetatable({ dir = dir }, { __index = methods })
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read "a"
  file:close()
  return text
end

-- The variables of every process.
function methods:environment()
  return ("COUNTS=%s/counts EBB_STATE=%s EBB_JOURNAL=%s/journal.db"):format(
    self.dir, self.dir, self.dir)
end

-- Runs `ebb WORDS`: standard output, status, standard error.
function methods:program(words, env)
  local out, status = shell(
    ("%s %s timeout 120 %s/ebb %s </dev/null 2>%s/err"):format(
      self:environment(), env or "", build, words, self.dir))
  return out, status, read(self.dir .. "/err")
end

-- Runs `ebb --local WORDS`.
function methods:words(words, env)
  return self:program("--local " .. words, env)
end

-- Runs `ebb --local WORDS` and kills that process after so many seconds, if it
-- has not ended. (A `timeout` in front of another kills the other alone.)
function methods:killed_after(seconds, words)
  local out, status = shell(([[%s %s/ebb --local %s </dev/null 2>%s/err &
    sleep %.4f; kill -KILL $! 2>/dev/null; wait $!]]):format(
    self:environment(), build, words, self.dir, seconds))
  return out, status, read(self.dir .. "/err")
end

-- Starts a run in the background; its pid. What it prints goes to a file.
function methods:start(id, text)
  local pid = shell(([[%s %s/ebb --local run --id %s %s </dev/null \
    >%s/out 2>%s/err & echo $!]]):format(self:environment(), build, id,
    self:write(text), self.dir, self.dir))
  return math.tointeger(tonumber(pid))
end

-- Waits until what a run printed has the text.
function methods:wait_for(text)
  for _ = 1, 200 do
    if read(self.dir .. "/out"):find(text, 1, true) then return end
    shell "sleep 0.05"
  end
  error("it never printed " .. text)
end

-- Writes a script, with count in front, and gives its path.
function methods:write(text)
  local path = self.dir .. "/script.lua"
  local file <close> = assert(io.open(path, "wb"))
  file:write(durable.count, text)
  return path
end

-- One execution. options: crash (EBB_CRASH), flags, arguments.
function methods:run(id, text, options)
  options = options or {}
  return self:words(("run --id %s %s %s %s"):format(id, options.flags or "",
    self:write(text), options.arguments or ""),
    options.crash and "EBB_CRASH=" .. options.crash)
end

-- Executes until it is not killed any more, at most 200 times, each killed at
-- crash(n) (nil: not); the outputs of all, the last status and errors.
function methods:finish(id, text, crash)
  local outs = {}
  for n = 1, 200 do
    local out, status, err = self:run(id, text, { crash = crash(n) })
    outs[n] = out
    if status ~= durable.KILLED then
      return outs, status, err
    end
  end
  error("the run " .. id .. " does not end")
end

-- What count wrote since the last call: the names in order, and how often.
function methods:counts()
  local names, often = {}, {}
  for name in read(self.dir .. "/counts"):gmatch "[^\n]+" do
    names[#names + 1] = name
    often[name] = (often[name] or 0) + 1
  end
  os.remove(self.dir .. "/counts")
  return names, often
end

-- No sandbox may be left; the service is stopped, if one was started.
function methods:close()
  local left = "[]\n"
  if shell(("ls -d %s/* | grep -c sandboxes"):format(self.dir)) ~= "0\n" then
    left = self:words "sandbox list --json"
    self:words "serve --stop"
  end
  shell("rm -rf " .. self.dir)
  assert(left == "[]\n", "sandboxes are left: " .. left)
end

return durable
