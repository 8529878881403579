-- SPDX-License-Identifier: MIT

-- The program `ebb` in the background, for specs that send it signals:
--
--   local interrupted = require "support.interrupted"
--   local it = interrupted.start(dir, "EBB_STATE=… build/ebb run -", text)
--   it:signal "INT"
--   local answer = it:finish()
--
-- finish gives { status, out, errors, error, seconds }: error is the decoded
-- last line of standard error, seconds the time since the last signal.

local cjson = require "cjson"
local lfs = require "lfs"
local system = require "system"

local client = require "support.client"

local interrupted = {}
local methods = {}

local STEP_S, END_S = 0.01, 30

-- Looks until it gives something or the time is over.
function interrupted.wait(seconds, look)
  local limit = system.monotime() + seconds
  repeat
    local found = look()
    if found then return found end
    system.sleep(STEP_S)
  until system.monotime() > limit
  return look()
end

-- Whether a process of this machine, inside of sandboxes too, has the text in
-- its command line.
function interrupted.runs(text)
  local lines = client.shell
    "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"
  return lines:find(text, 1, true) ~= nil
end

-- Variables and words, without single quotes; input is what it reads, dir where
-- its outputs go.
function interrupted.start(dir, command, input)
  local place = client.shell(("mktemp -d %s/bg.XXXX"):format(dir))
    :gsub("\n", "")
  client.write_file(place .. "/in", input or "")
  client.write_file(place .. "/start.sh", ([[
cd %s
sh -c 'echo $$ >%s/pid; cd %s; exec env %s' <in >out 2>err
echo $? >status.new
mv status.new status
]]):format(place, place, lfs.currentdir(), command))
  os.execute(("sh %s/start.sh >/dev/null 2>&1 &"):format(place))
  return setmetatable({ place = place }, { __index = methods })
end

function methods:read(name)
  return client.read_file(self.place .. "/" .. name) or ""
end

function methods:signal(name)
  local pid = interrupted.wait(END_S, function()
    return tonumber(self:read "pid")
  end)
  self.signalled = system.monotime()
  os.execute(("kill -%s %d"):format(name, pid))
end

function methods:has_ended()
  return self:read "status" ~= ""
end

function methods:finish()
  if not interrupted.wait(END_S, function() return self:has_ended() end) then
    self:signal "KILL"
    error("it does not end: " .. self:read "err", 2)
  end
  local errors = self:read "err"
  local ok, object = pcall(cjson.decode, errors:match "([^\n]*)\n*$")
  return {
    status = tonumber(self:read "status"), out = self:read "out",
    errors = errors, error = ok and object or nil,
    seconds = system.monotime() - (self.signalled or 0),
  }
end

return interrupted
