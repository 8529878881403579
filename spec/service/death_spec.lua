-- SPDX-License-Identifier: MIT

-- A sandbox's first process, its service, or both are killed, whatever they
-- are doing: nobody gets another sandbox for it, everybody is told, nothing is
-- left, and its key makes a new one (A19).

local lfs = require "lfs"
local scripted = require "support.scripted"
local service = require "support.service"

local KEY = "e2b_" .. ("a"):rep(40)

local dir, s, client

local function start()
  s = service.start { dir = dir,
    args = { "--listen", "127.0.0.1:0", "--api-key", KEY } }
  client.url = s.url
end

before_each(function()
  dir = service.directory()
  client = scripted.client ""
  start()
end)
after_each(function()
  s:stop()
  scripted.stop_all()
  os.execute("rm -rf " .. dir)
end)

local options = { env = { E2B_API_KEY = KEY },
  limits = "unary=20000,first=20000,idle=20000" }

local function try(task, input)
  return client:call("e2b." .. task, input, options)
end

-- The pid of a sandbox's first process, on the host.
local function guest(id)
  local file = io.open(s.state .. "/sandboxes/" .. id .. "/sandbox.json")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return tonumber(text:match '"pid":(%d+)')
end

local function kill(pid)
  os.execute(("kill -KILL %d 2>/dev/null"):format(pid))
end

local function is_gone(pid)
  local file = io.open(("/proc/%d/stat"):format(pid))
  if not file then return true end
  local text = file:read "a"
  file:close()
  return text:match "^%d+ %(.*%) (%a)" == "Z"
end

-- Of a sandbox that has died: no process, mount, group or folder.
local function assert_nothing_of(id, pids)
  for _, pid in ipairs(pids) do
    assert.truthy(service.wait(3, function() return is_gone(pid) end), pid)
  end
  assert.truthy(service.wait(3, function()
    return not lfs.attributes(s.state .. "/sandboxes/" .. id)
  end))
  local pipe = io.popen(("grep -F %s /proc/self/mounts; "
    .. "find /sys/fs/cgroup -maxdepth 4 -name 'ebb-%s' 2>/dev/null")
    :format(id, id))
  assert.equal("", pipe:read "a")
  pipe:close()
end

-- What is under way when the death comes. Each starts it in the background.
local during = {
  nothing = function() end,
  exec = function(id)
    os.execute(("(E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=%s timeout 30 "
      .. "%s/ebb --json call e2b.runCommand '{\"sandboxId\":\"%s\","
      .. "\"command\":\"echo begun; sleep 25\"}' >%s/exec.out 2>%s/exec.err;"
      .. " echo $? >%s/exec.status) &"):format(s.url, s.url, KEY,
      os.getenv "EBB_BUILD" or "build", id, dir, dir, dir))
    service.sleep(0.4)
  end,
  pause = function(id)
    os.execute(("curl -s -m 5 --unix-socket %s -d '{}' http://localhost"
      .. "/sandboxes/%s/pause >/dev/null 2>&1 &"):format(s.socket, id))
    service.sleep(0.005)
  end,
}

local function exec_error()
  local status = service.wait(10, function()
    local file = io.open(dir .. "/exec.status")
    local n = file and file:read "n"
    if file then file:close() end
    return n
  end)
  local file = io.open(dir .. "/exec.err")
  local text = file:read "a"
  file:close()
  return status, text
end

for _, who in ipairs { "first process", "service", "service and first process" }
do
  for _, what in ipairs { "nothing", "exec", "pause" } do
    local name = ("the %s, killed during %s"):format(who, what)
    it(name .. ": told with its cause, nothing left, the key anew (A19)",
      function()
        local made = try("createSandbox", { idempotencyKey = name })
        assert.is_true(made.out and made.out.created, made.errors)
        local id = made.out.sandboxId
        assert.equal(0, try("writeFiles", { sandboxId = id,
          files = { { path = "mine", content = "x" } } }).status)
        local pids, first = s:processes(), guest(id)
        during[what](id)
        -- The service is the first to go, else it may have told its end.
        if who == "service and first process" then kill(s.pid) end
        if who ~= "service" then kill(first) end
        if who ~= "first process" then
          s:crash()
          start()
        end
        assert_nothing_of(id, pids)
        -- Told, and with why; never another one under its name.
        local status, body = s:request("GET", "/sandboxes/" .. id)
        assert.equal(404, status)
        assert.truthy(body.message:find("ended", 1, true), body.message)
        local got = try("getSandbox", { sandboxId = id })
        assert.equal("not_found", got.error and got.error.code)
        local _, list = s:request("GET", "/v2/sandboxes")
        assert.equal(0, #list)
        local ran = try("runCommand", { sandboxId = id, command = "true" })
        assert.equal("not_found", ran.error and ran.error.code, ran.text)
        if what == "exec" then
          local left, words = exec_error()
          assert.equal(4, left, words)
          assert.truthy(words:find('"outcome_unknown"', 1, true), words)
        end
        -- The same key makes a new one, without the old one's files.
        local again = try("createSandbox", { idempotencyKey = name })
        assert.is_true(again.out and again.out.created, again.errors)
        assert.not_equal(id, again.out.sandboxId)
        local read = try("readFile", { sandboxId = again.out.sandboxId,
          path = "mine" })
        assert.equal("file_not_found", read.error and read.error.code)
        try("killSandbox", { sandboxId = again.out.sandboxId })
      end)
  end
end

it("a first process that is killed while it is created is a failed create "
  .. "(A19)", function()
  for turn = 1, 12 do
    -- Whoever is youngest below the service is being made just now.
    os.execute(("(sleep 0.00%d; pkill -KILL -n -P %d bwrap) >/dev/null 2>&1 &")
      :format(turn // 2 + 1, s.pid))
    local status, body = s:request("POST", "/v2/sandboxes",
      { templateID = "base" })
    if status == 201 then -- it came too late, or just now
      service.wait(1, function()
        return s:request("GET", "/sandboxes/" .. body.sandboxID) == 404
      end)
      s:request("DELETE", "/sandboxes/" .. body.sandboxID)
    else
      assert.equal(500, status)
      assert.truthy(body.message:find("did not start", 1, true), body.message)
    end
  end
  assert.truthy(service.wait(3, function() return #s:processes() == 0 end))
  local names = {}
  for one in lfs.dir(s.state .. "/sandboxes") do
    if one:match "^i" then names[#names + 1] = one end
  end
  assert.same({}, names)
end)
