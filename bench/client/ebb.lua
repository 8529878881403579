-- SPDX-License-Identifier: MIT
-- ebb run ebb.lua CASE N: the same tasks from a script.
local e2b, ebb = require "e2b", require "ebb"

local case, n = ...
n = math.tointeger(tonumber(n or 1))
local id = "ibench00000000000000"

local function command(text)
  return e2b.runCommand { sandboxId = id, command = text,
    maxOutputBytes = 65536 }
end

local files = {}
for i = 1, 100 do
  files[i] = { path = "/home/user/f" .. i, content = ("x"):rep(1024) }
end

local function command_true() command("true") end

local cases = {
  task = command_true,
  kept = command_true,
  read = function() e2b.readFile { sandboxId = id, path = "/home/user/f" } end,
  write = function() e2b.writeFiles { sandboxId = id, files = files } end,
  code = function() e2b.runCode { sandboxId = id, code = "1+1" } end,
  list = function() e2b.listFiles { sandboxId = id, path = "/home/user" } end,
}

-- Of this process: microseconds of CPU, KiB now and at most.
local function used()
  local status = assert(io.open("/proc/self/status"))
  local text = status:read("a")
  status:close()
  return math.floor(os.clock() * 1e6), text:match("VmRSS:%s+(%d+)"),
    text:match("VmHWM:%s+(%d+)")
end

command("true")
local cpu, idle = used()
if case == "out" then
  command(("true # out=%d/32768"):format(n))
elseif case == "frames" then
  command(("true # out=%d/16"):format(n))
elseif case == "conc" then
  local all = {}
  for i = 1, n do
    all[i] = function() command("true # hold=200") end
  end
  ebb.parallel(all)
elseif cases[case] then
  for _ = 1, n do cases[case]() end
end
local after, _, peak = used()
return ("cpu_us=%d idle_kb=%s peak_kb=%s"):format(after - cpu, idle, peak)
