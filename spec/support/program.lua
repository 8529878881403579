-- SPDX-License-Identifier: MIT

-- The program `ebb` as people run it, on a local service of its own:
--
--   local program = require "support.program"
--   local ebb = program.open()
--   local out, status, err = ebb:script "return 1 + 1"
--   ebb:close()
--
-- close checks that no sandbox is left, stops the service, and checks that
-- nothing of it is left either.

local traces = require "support.traces"

local program = {}
local methods = {}

local build = os.getenv "EBB_BUILD" or "build"

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

function program.shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local shell = program.shell

function program.open()
  local dir = shell("mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", "")
  return setmetatable({ dir = dir }, { __index = methods })
end

-- The words in front of a command of ebb's.
function methods:prefix()
  return ("EBB_STATE=%s EBB_JOURNAL=%s/journal.db timeout 120 %s/ebb --local")
    :format(self.dir, self.dir, build)
end

-- Runs `ebb --local WORDS`: standard output, status, standard error. input is
-- the file it reads, if any.
function methods:run(words, input)
  local out, status = shell(("%s %s <%s 2>%s/err"):format(
    self:prefix(), words, input or "/dev/null", self.dir))
  return out, status, read_file(self.dir .. "/err")
end

-- The same without --local, and without any variable of E2B's; env comes
-- before the program.
function methods:plain(words, env, input)
  local out, status = shell(("env -u E2B_API_KEY -u EBB_LOCAL EBB_STATE=%s %s "
    .. "timeout 60 %s/ebb %s <%s 2>%s/err"):format(self.dir, env or "", build,
    words, input or "/dev/null", self.dir))
  return out, status, read_file(self.dir .. "/err")
end

-- Writes a script and gives its path.
function methods:write(text)
  local path = self.dir .. "/script.lua"
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

-- Runs the text as a script, with arguments after it.
function methods:script(text, arguments)
  return self:run(("run %s %s"):format(self:write(text), arguments or ""))
end

-- Runs the words, waits until a line was printed, sends the signal that often
-- (once); the rest of the output, the status, standard error.
function methods:signalled(words, signal, times)
  local out, status = shell(([[
    exec 2>%s/err
    mkfifo %s/out
    EBB_STATE=%s EBB_JOURNAL=%s/journal.db %s/ebb --local %s >%s/out &
    pid=$!
    exec 3<%s/out
    read -r line <&3
    for i in $(seq %d); do sleep 0.2; kill -%s $pid; done
    cat <&3
    wait $pid
    status=$?
    rm %s/out
    exit $status]]):format(self.dir, self.dir, self.dir, self.dir, build,
    words, self.dir, self.dir, times or 1, signal, self.dir))
  return out, status, read_file(self.dir .. "/err")
end

-- The same of a script.
function methods:interrupt(text, signal, times)
  return self:signalled(("run %s </dev/null"):format(self:write(text)),
    signal, times)
end

function methods:close()
  local left = self:run "sandbox list --json"
  self:run "serve --stop"
  traces.none(self.dir)
  shell("rm -rf " .. self.dir)
  assert(left == "[]\n", "sandboxes are left: " .. left)
end

return program
