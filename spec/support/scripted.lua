-- SPDX-License-Identifier: MIT

-- A scripted server for specs, and the program `ebb` as its client.
--
--   local scripted = require "support.scripted"
--   local s = scripted.start {
--     { on = "POST /process.Process/Start", read = "half", act = "close" },
--   }
--   local answer = s:call("e2b.runCommand",
--     { sandboxId = "ibox", command = "true" })
--   assert.equal(4, answer.status)
--   assert.equal(0, s:executions())
--   s:stop()
--
-- Without rules it is a small E2B that works: one sandbox `ibox`, one file
-- /tmp/a.txt; a command or code that holds <digits> prints them, another "ok".
-- A rule says only what differs; the first one that fits counts.
--
--   on        "METHOD /path", where * stands for anything; or "accept"
--   skip, times  leaves the first ones alone; holds only so often
--   read      of the request's body: "head" (nothing), "half", a number of
--             bytes, or "all" (default)
--   executes  false: the server refuses to act. Else a request that was read
--             whole has its effect, whatever becomes of the answer
--   delay     ms before anything is said
--   act       instead of an answer: "close", "reset", "hold" (say nothing),
--             "freeze" (nor read)
--   status, headers, body    of the answer; a body of a table is JSON
--   events    of a stream: { start = 7 }, { out = "…" }, { err = "…" },
--             { exit = 0 }, { trailer = {} } of a command; { count = 1 },
--             { out = "…" }, { result = "…" }, { done = true } of code; in
--             both { keepalive = true }, { pause = ms }, { raw = bytes }
--   change, by   the byte of a stream at that place is XORed with it
--   drop      "end" (the end event), "end of stream", "last chunk"
--   framing   "length", "chunked", "close"; length = n claims another length
--   gzip, twice, bytewise    how the answer is sent; every = ms for a byte
--   cut, cut_head   so many bytes of the body or head, then `with`: "close"
--             (default), "reset" or "hold"
--   raw       these bytes for an answer
--   after, after_ms, after_raw   what happens to the connection behind a whole
--             answer: when, after which bytes
--
-- The second table tells what the small E2B is like: page = n items a page,
-- order = "asc", ignores_filter, honours_key = false, shows_after_lists = n
-- (a new sandbox is listed late), v1 (no /v2 routes), certificate = a PEM file
-- (serves TLS), address = "::1".

local cjson = require "cjson"
local system = require "system"

local client = require "support.client"

local shell, read_file, write_file =
  client.shell, client.read_file, client.write_file

local scripted = {}
local methods = setmetatable({}, { __index = client.methods })
local Server = { __index = methods }

local START_S = 10
local STEP_S = 0.002
local running = {}

-- A body that is a table goes out as JSON; an answer without rules as {}.
local function prepare(rules)
  local prepared = {}
  for index, rule in ipairs(rules or {}) do
    local copy = {}
    for key, value in pairs(rule) do copy[key] = value end
    if type(copy.body) == "table" then copy.body = cjson.encode(copy.body) end
    prepared[index] = copy
  end
  return prepared
end

-- Looks until it gives something or the time is over.
function scripted.wait(seconds, look)
  for _ = 1, seconds / STEP_S do
    local found = look()
    if found then return found end
    system.sleep(STEP_S)
  end
  return look()
end

-- One process has all the servers of this one, and ends with it.
local host

local function say(line)
  host = host or assert(io.popen(
    "exec python3 -B spec/support/scripted_server.py", "w"))
  assert(host:write(line, "\n"))
  assert(host:flush())
end

local function new()
  local dir = shell("mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", "")
  local self = setmetatable({ dir = dir }, Server)
  running[#running + 1] = self
  return self
end

-- The client alone, of a server that is somebody else's.
function scripted.client(url)
  local self = new()
  self.url = url
  return self
end

function scripted.start(rules, service)
  local self = new()
  local dir = self.dir
  write_file(dir .. "/script.json", cjson.encode {
    rules = prepare(rules), service = service or {},
  })
  say("start " .. dir)
  local port = scripted.wait(START_S, function()
    return read_file(dir .. "/port")
  end)
  if not port then
    error("the server did not start", 2)
  end
  self.port = tonumber(port)
  service = service or {}
  self.url = ("%s://%s:%d"):format(service.certificate and "https" or "http",
    service.address and "[" .. service.address .. "]" or "127.0.0.1",
    self.port)
  return self
end

function methods:stop()
  if self.stopped then return end
  self.stopped = true
  if self.port then say("stop " .. self.dir) end
  os.execute("rm -rf " .. self.dir)
end

-- For after_each: ends every server that was started.
function scripted.stop_all()
  for _, server in ipairs(running) do server:stop() end
  running = {}
end

-- The gzip form of a text.
function scripted.gzip(text)
  local path = os.tmpname()
  write_file(path, text)
  local packed = shell("gzip -nc " .. path)
  os.remove(path)
  return packed
end

-- ---- what the server saw ----

-- Everything in order: { kind = "connection", connection, alpn }, { kind =
-- "request", connection, method, path, query, headers, body, whole, executed,
-- at }, { kind = "answer", head, body }, { kind = "end", connection, by =
-- "client" or "server" }.
function methods:log()
  local entries = {}
  for line in (read_file(self.dir .. "/log") or ""):gmatch "([^\n]*)\n" do
    entries[#entries + 1] = cjson.decode(line)
  end
  return entries
end

-- The requests, or those of one "METHOD /path" (a Lua pattern).
function methods:requests(line)
  local found = {}
  for _, entry in ipairs(self:log()) do
    if entry.kind == "request" and (not line
        or (entry.method .. " " .. entry.path):find("^" .. line .. "$")) then
      found[#found + 1] = entry
    end
  end
  return found
end

-- The last answer to a "METHOD /path": how many bytes its head and its body
-- have, before any fault.
function methods:sent(line)
  local found
  for _, entry in ipairs(self:log()) do
    if entry.kind == "answer" and entry.method .. " " .. entry.path == line
    then
      found = entry
    end
  end
  return found
end

-- How many requests of class `none` the server has acted upon.
function methods:executions()
  local n = 0
  for _, request in ipairs(self:requests()) do
    if request.executed then n = n + 1 end
  end
  return n
end

return scripted
