-- SPDX-License-Identifier: MIT

-- What a service finds that another one has left behind.

local lfs = require "lfs"
local service = require "support.service"

describe("a service that starts where another one was", function()
  local dir, s

  before_each(function()
    dir = service.directory()
    s = service.start { dir = dir }
  end)
  after_each(function()
    s:stop()
    os.execute("rm -rf " .. dir)
  end)

  local function is_alive(pid)
    local file = io.open(("/proc/%d/stat"):format(pid))
    if not file then return false end
    local text = file:read "a"
    file:close()
    return text:match "^%d+ %(.*%) (%a)" ~= "Z"
  end

  local function directory(id)
    return lfs.attributes(s.state .. "/sandboxes/" .. id)
  end

  local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end

  it("takes back what was paused without memory, files and log too",
    function()
      local box = s:create { metadata = { a = "b" },
        templateID = "code-interpreter-v1" }
      local path = "/sandboxes/" .. box.sandboxID
      s:request("POST", path .. "/pause", { memory = false })
      write(s.state .. path .. "/home/kept", "yes")
      assert.equal(0, s:stop())
      s = service.start { dir = dir }
      local _, about = s:request("GET", path)
      assert.equal("paused", about.state)
      assert.same({ a = "b" }, about.metadata)
      assert.equal("code-interpreter-v1", about.templateID)
      local status, again = s:request("POST", "/v2" .. path .. "/connect", {})
      assert.equal(201, status)
      assert.equal(box.envdAccessToken, again.envdAccessToken)
      assert.truthy(lfs.attributes(s.state .. path .. "/home/kept"))
      local _, logs = s:request("GET", "/v2" .. path .. "/logs?direction="
        .. "forward")
      assert.equal("started, network: none", logs.logs[1].message)
      assert.equal("paused without memory", logs.logs[2].message)
    end)

  it("takes it back after a crash as well (A19)", function()
    local id = s:create().sandboxID
    s:request("POST", "/sandboxes/" .. id .. "/pause", { memory = false })
    s:crash()
    s = service.start { dir = dir }
    assert.equal(200, (s:request("GET", "/sandboxes/" .. id)))
    assert.equal(204, (s:request("DELETE", "/sandboxes/" .. id)))
  end)

  it("leaves no process and no directory of a crash (A19)", function()
    local running, frozen = s:create().sandboxID, s:create().sandboxID
    s:request("POST", "/sandboxes/" .. frozen .. "/pause", {})
    local pids = s:processes()
    assert.is_true(#pids >= 2)
    s:crash()
    s = service.start { dir = dir }
    for _, pid in ipairs(pids) do
      assert.truthy(service.wait(3, function() return not is_alive(pid) end))
    end
    assert.is_nil(directory(running))
    assert.is_nil(directory(frozen))
    local pipe = io.popen(("find /sys/fs/cgroup -name '*%s' -o -name '*%s'")
      :format(running, frozen))
    assert.equal("", pipe:read "a")
    pipe:close()
    local _, list = s:request("GET", "/v2/sandboxes")
    assert.equal(0, #list)
    assert.equal(404, (s:request("GET", "/sandboxes/" .. running)))
  end)

  for _, signal in ipairs { "KILL", "TERM" } do
    it("finds nothing of a create that SIG" .. signal .. " cut short (A19)",
      function()
        for _, delay in ipairs { 0, 0.002, 0.005, 0.01, 0.02 } do
          os.execute(("curl -s -m 5 --unix-socket %s -d"
            .. " '{\"templateID\":\"base\"}' http://localhost/v2/sandboxes"
            .. " >/dev/null 2>&1 &"):format(s.socket))
          service.sleep(0.01 + delay)
          local ids = {}
          for name in lfs.dir(s.state .. "/sandboxes") do
            if name:match "^i" then ids[#ids + 1] = name end
          end
          if signal == "KILL" then s:crash() else s:stop() end
          s = service.start { dir = dir }
          for _, id in ipairs(ids) do
            assert.is_nil(directory(id))
            write(dir .. "/id", id)
            local pipe = io.popen(("grep -alFf %s/id /proc/[0-9]*/cmdline"
              .. " 2>/dev/null; find /sys/fs/cgroup -name 'ebb-*'"
              .. " | grep -Ff %s/id"):format(dir, dir))
            assert.equal("", pipe:read "a")
            pipe:close()
          end
        end
      end)
  end

  it("ends running sandboxes when it stops", function()
    local id = s:create().sandboxID
    local pids = s:processes()
    assert.equal(0, s:stop())
    for _, pid in ipairs(pids) do assert.is_false(is_alive(pid)) end
    assert.is_nil(directory(id))
    s = service.start { dir = dir }
  end)

  it("does not kill a process that has got the recorded pid since (C18)",
    function()
      local id = s:create().sandboxID
      s:request("POST", "/sandboxes/" .. id .. "/pause", { memory = false })
      s:stop()
      local path = s.state .. "/sandboxes/" .. id .. "/sandbox.json"
      local file = io.open(path)
      local text = file:read "a"
      file:close()
      local pipe = io.popen "sleep 60 >/dev/null 2>&1 & echo $!"
      local pid = tonumber(pipe:read "l")
      pipe:close()
      text = text:gsub('"pid":%d+', '"pid":' .. pid)
      write(path, (text:gsub('"pidStart":%d+', '"pidStart":12345')))
      s = service.start { dir = dir }
      assert.is_true(is_alive(pid))
      os.execute("kill " .. pid)
      assert.equal(200, (s:request("GET", "/sandboxes/" .. id)))
    end)

  it("removes what it cannot read", function()
    local id = s:create().sandboxID
    s:request("POST", "/sandboxes/" .. id .. "/pause", { memory = false })
    s:stop()
    local top = s.state .. "/sandboxes/"
    write(top .. id .. "/sandbox.json", '{"format":1}')
    local other = "i" .. ("b"):rep(20)
    lfs.mkdir(top .. other)
    lfs.mkdir(top .. "stray")
    lfs.mkdir(top .. "i" .. ("c"):rep(20))
    write(top .. "i" .. ("c"):rep(20) .. "/sandbox.json", ("["):rep(1000))
    s = service.start { dir = dir }
    for name in lfs.dir(top) do
      assert.equal(".", name:sub(1, 1), name)
    end
    assert.truthy(s:errors():find("sandbox.json", 1, true))
  end)

  it("leaves alone what another version has written", function()
    local id = s:create().sandboxID
    s:request("POST", "/sandboxes/" .. id .. "/pause", { memory = false })
    s:stop()
    local path = s.state .. "/sandboxes/" .. id .. "/sandbox.json"
    write(path, '{"format":2,"id":"' .. id .. '"}')
    s = service.start { dir = dir }
    assert.equal(404, (s:request("GET", "/sandboxes/" .. id)))
    assert.truthy(lfs.attributes(path))
    assert.truthy(s:errors():find("left alone: ", 1, true))
  end)

  it("stops with a sandbox in the middle of each pause", function()
    for _, memory in ipairs { true, false } do
      local id = s:create().sandboxID
      os.execute(("curl -s -m 5 --unix-socket %s -d '{\"memory\":%s}'"
        .. " http://localhost/sandboxes/%s/pause >/dev/null 2>&1 &")
        :format(s.socket, memory, id))
      service.sleep(0.008)
      assert.equal(0, s:stop())
      s = service.start { dir = dir }
    end
  end)

  it("does not take a sandbox under another one's name", function()
    local id = s:create().sandboxID
    s:request("POST", "/sandboxes/" .. id .. "/pause", { memory = false })
    s:stop()
    local other = "i" .. ("d"):rep(20)
    assert(os.rename(s.state .. "/sandboxes/" .. id,
      s.state .. "/sandboxes/" .. other))
    s = service.start { dir = dir }
    assert.equal(404, (s:request("GET", "/sandboxes/" .. id)))
    assert.equal(404, (s:request("GET", "/sandboxes/" .. other)))
  end)
end)
