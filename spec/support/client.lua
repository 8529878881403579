-- SPDX-License-Identifier: MIT

-- The program `ebb` as a client of one server, for specs. An object with `url`
-- and `dir` (a directory of its own) gets these methods, see scripted.lua.

local cjson = require "cjson"
local system = require "system"

local client = {}
local methods = {}
client.methods = methods

local CALL_S = 20
local build = os.getenv "EBB_BUILD" or "build"

function client.shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

function client.read_file(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

function client.write_file(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  file:close()
end

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

local shell, read_file, write_file =
  client.shell, client.read_file, client.write_file

-- No waits worth the name between attempts, no jitter, a second of patience.
client.limits = "retry=5,jitter=0,connect=1000,unary=1000,transfer=1000,"
  .. "first=1000,idle=1000"

local function environment(self, options)
  local env = {
    E2B_API_URL = self.url, E2B_SANDBOX_URL = self.url,
    E2B_API_KEY = "e2b_" .. ("0"):rep(40), EBB_LIMITS = client.limits,
    EBB_LOCAL = "",
  }
  for name, value in pairs(options.env or {}) do env[name] = value end
  if options.limits then
    env.EBB_LIMITS = client.limits .. "," .. options.limits
  end
  local words = {}
  for name, value in pairs(env) do
    words[#words + 1] = name .. "=" .. quote(value)
  end
  return table.concat(words, " ")
end

-- The shell command of `ebb WORDS` against this server; its results go to
-- files named by place.
local function command(self, words, options, place)
  return ("env %s %s timeout %d %s/ebb --json %s >%s.out 2>%s.err; "
    .. "echo $? >%s.status"):format(environment(self, options),
    options.before or "", CALL_S, build, words, place, place, place)
end

local function decode(text)
  local ok, value = pcall(cjson.decode, text)
  if ok then return value end
  return nil
end

local function result_of(place, seconds)
  local errors = read_file(place .. ".err")
  return {
    status = tonumber(read_file(place .. ".status")), seconds = seconds,
    out = decode(read_file(place .. ".out")), text = read_file(place .. ".out"),
    error = decode(errors:match "([^\n]*)\n$" or ""), errors = errors,
  }
end

function methods:place()
  self.calls = (self.calls or 0) + 1
  return ("%s/call%d"):format(self.dir, self.calls)
end

-- Runs `ebb WORDS` with input on its standard input. Returns { status, out
-- (decoded), error (decoded), text, errors, seconds }.
--   options.env     more variables
--   options.limits  more of EBB_LIMITS
--   options.before  words before the program, such as those of unshare
function methods:ebb(words, input, options)
  options = options or {}
  local place = self:place()
  write_file(place .. ".in", input)
  local began = system.monotime()
  os.execute(("( %s ) <%s.in"):format(command(self, words, options, place),
    place))
  return result_of(place, system.monotime() - began)
end

function methods:call(task, input, options)
  return self:ebb("call " .. task .. " -", cjson.encode(input), options)
end

-- A script, as `ebb run` runs it.
function methods:run(script, options)
  return self:ebb("run -", script, options)
end

-- The library of a sanitized build needs its runtime first.
local function preload()
  if not build:find "asan" then return "" end
  return "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 LD_PRELOAD="
    .. shell("gcc -print-file-name=libasan.so"):gsub("\n", "")
end

-- As a host of libebb does it, in n threads with a runtime each: see host.py.
function methods:host(n, task, input, options)
  local place = self:place()
  options = options or {}
  shell(("env %s %s timeout %d python3 -B spec/support/host.py %s/libebb.so %d "
    .. "%s %s >%s.out 2>%s.err; echo $? >%s.status"):format(
    environment(self, options), preload(), CALL_S, build, n, task,
    quote(cjson.encode(input)), place, place, place))
  return result_of(place)
end

-- The same call in n processes at once; their results in order.
function methods:call_at_once(n, task, input, options)
  local places, commands = {}, {}
  for index = 1, n do
    local place = self:place()
    write_file(place .. ".in", cjson.encode(input))
    places[index] = place
    commands[index] = ("( %s ) <%s.in &"):format(
      command(self, "call " .. task .. " -", options or {}, place), place)
  end
  os.execute(table.concat(commands, " ") .. " wait")
  for index, place in ipairs(places) do places[index] = result_of(place) end
  return places
end

return client
