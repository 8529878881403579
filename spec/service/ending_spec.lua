-- SPDX-License-Identifier: MIT

-- How a sandbox ends, and what ends with it.

local lfs = require "lfs"
local service = require "support.service"

local s

local calls = require "support.calls" (function() return s end)
local post, connect, info = calls.post, calls.connect, calls.info

describe("a sandbox", function()
  setup(function() s = service.start() end)
  teardown(function() s:stop() end)

  describe("that is killed", function()
    it("has left nothing when the answer comes (A11)", function()
      local before = #s:processes()
      local id = s:create().sandboxID
      assert.is_true(#s:processes() > before)
      assert.equal(204, (s:request("DELETE", "/sandboxes/" .. id)))
      assert.equal(before, #s:processes())
      assert.is_nil(lfs.attributes(s.state .. "/sandboxes/" .. id))
      local mounts = io.open "/proc/self/mounts":read "a"
      assert.is_nil(mounts:find(id, 1, true))
      local pipe = io.popen("find /sys/fs/cgroup -name '*" .. id .. "*'")
      assert.equal("", pipe:read "a")
      pipe:close()
    end)

    it("is 404 to everything, with the cause", function()
      local id = s:create().sandboxID
      s:request("DELETE", "/sandboxes/" .. id)
      local status, body = s:request("DELETE", "/sandboxes/" .. id)
      assert.equal(404, status)
      assert.truthy(body.message:find("killed by a request", 1, true))
      assert.equal(404, (connect(id, {})))
      assert.equal(404, (post(id, "pause", {})))
      assert.equal(404, (post(id, "resume", {})))
      assert.equal(404, (post(id, "timeout", { timeout = 1 })))
    end)
  end)

  describe("whose first process is killed from outside", function()
    for _, paused in ipairs { false, true } do
      it("is gone, with the cause, " .. (paused and "paused" or "running")
        .. " (A19)",
        function()
          local box = s:create()
          local path = s.state .. "/sandboxes/" .. box.sandboxID
          local file = io.open(path .. "/sandbox.json")
          local pid = file:read "a":match '"pid":(%d+)'
          file:close()
          if paused then post(box.sandboxID, "pause", {}) end
          os.execute("kill -KILL " .. pid)
          assert.truthy(service.wait(5, function()
            return not lfs.attributes(path)
          end))
          local status, body = s:data(box, "GET", "/health")
          assert.equal(502, status)
          assert.equal("The sandbox was not found", body.message)
          body = select(2, info(box.sandboxID))
          assert.truthy(body.message:find("its first process ended", 1, true))
          assert.equal(404, (connect(box.sandboxID, {})))
        end)
    end
  end)

  -- A frame of Connect's streams, and curl on it in the background.
  local function start_stream(box, message)
    local file = assert(io.open(s.dir .. "/frame", "wb"))
    file:write(string.pack(">Bs4", 0, message))
    file:close()
    os.execute(("curl -sN -m 60 -o %s/stream --unix-socket %s -H"
      .. " 'E2b-Sandbox-Id: %s' -H 'E2b-Sandbox-Port: 49983' -H"
      .. " 'X-Access-Token: %s' -H 'Content-Type: application/connect+json'"
      .. " --data-binary @%s/frame http://localhost/process.Process/Start"
      .. "; echo $? >%s/left"):format(s.dir, s.socket, box.sandboxID,
      box.envdAccessToken, s.dir, s.dir):gsub("^", "("):gsub("$", ") &"))
    assert.truthy(service.wait(5, function()
      return (lfs.attributes(s.dir .. "/stream") or { size = 0 }).size > 0
    end))
  end

  for _, how in ipairs { "pause", "kill" } do
    it("cuts its open streams at a " .. how, function()
      local box = s:create()
      os.remove(s.dir .. "/left")
      start_stream(box, '{"process":{"cmd":"/bin/sleep","args":["50"]}}')
      if how == "pause" then
        assert.equal(204, (post(box.sandboxID, "pause", {})))
      else
        s:request("DELETE", "/sandboxes/" .. box.sandboxID)
      end
      assert.truthy(service.wait(3, function()
        return lfs.attributes(s.dir .. "/left")
      end))
      if how == "pause" then connect(box.sandboxID, {}) end
      s:request("DELETE", "/sandboxes/" .. box.sandboxID)
    end)
  end

  it("survives many calls at once and still ends", function()
    local id = s:create().sandboxID
    local allowed = { [200] = true, [201] = true, [204] = true,
      [404] = true, [409] = true }
    local menu = { { "POST", "pause", "{}" }, { "POST", "resume", "{}" },
      { "POST", "pause", '{\\"memory\\":false}' },
      { "POST", "connect", '{\\"timeout\\":30}' },
      { "POST", "timeout", '{\\"timeout\\":30}' } }
    math.randomseed(7)
    for round = 1, 6 do
      local lines = {}
      for i = 1, 24 do
        local call = menu[math.random(#menu)]
        if round == 6 and i == 12 then call = { "DELETE", "" } end
        lines[#lines + 1] = (i > 1 and "next\n" or "") .. ([[silent
unix-socket = "%s"
request = "%s"
url = "http://localhost/sandboxes/%s%s"
write-out = "%%{http_code}\n"
output = "/dev/null"
]]):format(s.socket, call[1], id, call[2] ~= "" and "/" .. call[2] or "")
          .. (call[3] and 'data = "' .. call[3] .. '"\n' or "")
      end
      local file = assert(io.open(s.dir .. "/many", "w"))
      file:write(table.concat(lines))
      file:close()
      local pipe = io.popen(("curl -Z --parallel-max 8 -s -K %s/many"
        .. " 2>/dev/null"):format(s.dir))
      local count = 0
      for code in pipe:lines() do
        count = count + 1
        assert.is_true(allowed[tonumber(code)], code)
      end
      pipe:close()
      assert.equal(24, count)
    end
    assert.is_nil(info(id))
    assert.is_nil(lfs.attributes(s.state .. "/sandboxes/" .. id))
  end)
end)
