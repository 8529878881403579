-- SPDX-License-Identifier: MIT

-- A real ebb-sandboxd for specs: a service of its own on a Unix socket (and on
-- TCP if asked for), with its own state directory, spoken to by curl.
--
--   local service = require "support.service"
--   local s = service.start { args = { "--memory", "512M" } }
--   local status, body, headers =
--     s:request("POST", "/v2/sandboxes", { templateID = "base" })
--   s:stop()
--
-- stop also checks that nothing of the service is left.

local cjson = require "cjson"
local lfs = require "lfs"
local system = require "system"

local service = {
  program = (os.getenv "EBB_BUILD" or "build") .. "/libexec/ebb-sandboxd",
}
local Service = { __index = {} }
local methods = Service.__index

local START_S, STOP_S, REQUEST_S = 20, 20, 60
local STEP_S = 0.01


local function read_file(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function write_file(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  file:close()
end

local function run(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  pipe:close()
  return text
end

local function quote(word)
  return "'" .. tostring(word):gsub("'", "'\\''") .. "'"
end

service.sleep = system.sleep

-- Calls look until it gives something or the time is over.
function service.wait(seconds, look)
  local steps = math.ceil(seconds / STEP_S)
  for _ = 1, steps do
    local found = look()
    if found then return found end
    service.sleep(STEP_S)
  end
  return look()
end

-- A new directory, short enough for a socket's path.
function service.directory()
  return (run("mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", ""))
end

-- The pids of every process below this one.
local function descendants(pid)
  local found, queue = {}, { pid }
  while #queue > 0 do
    local parent = table.remove(queue)
    local children = run(("cat /proc/%d/task/*/children 2>/dev/null")
      :format(parent))
    for child in children:gmatch "%d+" do
      found[#found + 1] = tonumber(child)
      queue[#queue + 1] = tonumber(child)
    end
  end
  return found
end

-- A zombie whose parent has not looked yet is dead all the same.
local function is_alive(pid)
  local stat = read_file(("/proc/%d/stat"):format(pid))
  return stat ~= nil and stat:match "^%d+ %(.*%) (%a)" ~= "Z"
end

-- Waits until it serves. On failure: nil, its line of error, its exit status.
--   args     more words for the command line
--   dir      its directory, with state and socket; kept by stop (else a new
--            one, which stop removes)
--   env      more variables
--   tcp      true: no Unix socket but TCP, by --listen in args or its default
function service.try_start(options)
  options = options or {}
  local dir = options.dir or service.directory()
  local self = setmetatable({
    dir = dir, keep = options.dir ~= nil, state = dir .. "/state",
    socket = not options.tcp and dir .. "/socket" or nil,
  }, Service)
  local words = { quote(service.program), "--ready-fd 3 --state",
    quote(self.state) }
  if self.socket then
    words[#words + 1] = "--socket " .. quote(self.socket)
  end
  for _, word in ipairs(options.args or {}) do
    words[#words + 1] = quote(word)
  end
  local env = {}
  for name, value in pairs(options.env or {}) do
    env[#env + 1] = name .. "=" .. quote(value)
  end
  run(("cd %s; rm -f ready status pid"):format(quote(dir)))
  write_file(dir .. "/start.sh", ([[
%s %s 3>%s/ready >%s/out 2>>%s/err </dev/null &
echo $! >%s/pid
wait $!
echo $? >%s/status.new
mv %s/status.new %s/status
]]):format(table.concat(env, " "), table.concat(words, " "), dir, dir, dir,
    dir, dir, dir, dir))
  os.execute(("sh %s/start.sh >/dev/null 2>&1 &"):format(dir))
  local line = service.wait(START_S, function()
    local text = read_file(dir .. "/ready") or ""
    return text:match "^(.-)\n" or self:status() and ""
  end)
  self.pid = tonumber(read_file(dir .. "/pid"))
  if not line or line == "" or line:match "^error: " then
    service.wait(STOP_S, function() return self:status() end)
    local status = self:status()
    local message = line ~= "" and line or read_file(dir .. "/err")
    self:forget()
    return nil, message, status
  end
  local out = read_file(dir .. "/out")
  self.key = out:match "E2B_API_KEY=(%S+)"
  self.url = out:match "E2B_API_URL=(%S+)"
  return self
end

function service.start(options)
  local self, message = service.try_start(options)
  if not self then error("the service did not start: " .. message, 2) end
  return self
end

-- Its exit status, or nil while it runs.
function methods:status()
  return tonumber(read_file(self.dir .. "/status"))
end

-- What it has written to its standard error.
function methods:errors()
  return read_file(self.dir .. "/err") or ""
end

function methods:forget()
  if not self.keep then os.execute("rm -rf " .. quote(self.dir)) end
end

local function curl_text(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n") .. '"'
end

local function parse_head(text)
  local headers = {}
  for name, value in text:gmatch "([^\r\n:]+):[ \t]*([^\r\n]*)" do
    headers[name:lower()] = value
  end
  return headers
end

-- One request. body: a table (sent as JSON) or a string. Returns the status,
-- the body (decoded if it is JSON) and the headers by lower-case names; 0 and
-- curl's message when there was no answer.
--   options.tcp      by TCP also when there is a socket
--   options.key      instead of the service's own; false: none
--   options.headers  more of them, by name
--   options.timeout  seconds
function methods:request(method, path, body, options)
  options = options or {}
  local tcp = options.tcp or not self.socket
  local place = self.dir .. "/curl" .. tostring(math.random(1 << 40))
  local lines = {
    "silent", "show-error", "request = " .. method,
    "url = " .. curl_text((tcp and self.url or "http://localhost") .. path),
    "path-as-is", "globoff", "max-time = " .. (options.timeout or REQUEST_S),
    "dump-header = " .. curl_text(place .. ".head"),
    "output = " .. curl_text(place .. ".body"),
    'write-out = "%{http_code}"',
  }
  local function add_header(name, value)
    lines[#lines + 1] = "header = " .. curl_text(name .. ": " .. value)
  end
  if not tcp then
    lines[#lines + 1] = "unix-socket = " .. curl_text(self.socket)
  elseif options.key ~= false then
    add_header("X-API-Key", options.key or self.key)
  end
  for name, value in pairs(options.headers or {}) do
    add_header(name, value)
  end
  if body then
    local text = type(body) == "table" and cjson.encode(body) or body
    write_file(place .. ".sent", text)
    if not (options.headers or {})["Content-Type"] then
      add_header("Content-Type", "application/json")
    end
    lines[#lines + 1] = "data-binary = " .. curl_text("@" .. place .. ".sent")
  end
  write_file(place, table.concat(lines, "\n") .. "\n")
  local code = run(("curl -K %s 2>%s.err"):format(place, place))
  local status = tonumber(code) or 0
  local text = read_file(place .. ".body") or ""
  local headers = parse_head(read_file(place .. ".head") or "")
  if status == 0 then text = read_file(place .. ".err") or "" end
  os.execute(("rm -f %s %s.*"):format(place, place))
  if (headers["content-type"] or ""):match "^application/json" then
    local ok, value = pcall(cjson.decode, text)
    if ok then return status, value, headers end
  end
  return status, text, headers
end

-- Makes a sandbox and returns the answer, or raises.
function methods:create(body)
  body = body or {}
  body.templateID = body.templateID or "base"
  local status, box = self:request("POST", "/v2/sandboxes", body)
  if status ~= 201 then
    error(("create: %d %s"):format(status, type(box) == "table"
      and box.message or box), 2)
  end
  return box
end

-- A request to a port of a sandbox: envd's unless options.port says another.
function methods:data(box, method, path, body, options)
  options = options or {}
  local headers = { ["E2b-Sandbox-Id"] = box.sandboxID,
    ["E2b-Sandbox-Port"] = options.port or 49983 }
  if box.envdAccessToken then
    headers["X-Access-Token"] = box.envdAccessToken
  end
  for name, value in pairs(options.headers or {}) do headers[name] = value end
  return self:request(method, path, body, {
    headers = headers, tcp = options.tcp, timeout = options.timeout,
    key = false,
  })
end

-- Every process that the service has now, by pid.
function methods:processes()
  return descendants(self.pid)
end

-- Kills the service alone, as a crash would.
function methods:crash()
  os.execute(("kill -KILL %d 2>/dev/null"):format(self.pid))
  service.wait(STOP_S, function() return self:status() end)
end

local function check_nothing_left(self, pids)
  for _, pid in ipairs(pids) do
    if not service.wait(1, function() return not is_alive(pid) end) then
      error(("process %d of the service is still there: %s"):format(pid,
        read_file(("/proc/%d/cmdline"):format(pid)) or ""), 3)
    end
  end
  local mounts = read_file "/proc/self/mounts"
  if mounts:find(self.state, 1, true) then
    error("something is still mounted below " .. self.state, 3)
  end
end

-- Asks it to stop, waits, and checks that no process and no mount of it is
-- left. Returns its exit status.
function methods:stop()
  local pids = descendants(self.pid)
  if not self:status() then
    os.execute(("kill -TERM %d"):format(self.pid))
  end
  local status = service.wait(STOP_S, function() return self:status() end)
  if not status then
    os.execute(("kill -KILL %d"):format(self.pid))
    error("the service did not stop: " .. self:errors(), 2)
  end
  check_nothing_left(self, pids)
  if self.socket and lfs.attributes(self.socket) then
    error("the socket is still there", 2)
  end
  self:forget()
  return status
end

return service
