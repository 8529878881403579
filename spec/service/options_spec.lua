-- SPDX-License-Identifier: MIT

-- How ebb-sandboxd starts, refuses to start, and ends.

local lfs = require "lfs"
local service = require "support.service"

local function fails(args)
  local s, message, status = service.try_start { args = args }
  if s then s:stop() end
  assert.is_nil(s)
  return message, status
end

describe("ebb-sandboxd", function()
  local running

  after_each(function()
    if running then
      running:stop()
      running = nil
    end
  end)

  it("serves a Unix socket and ends with status 0 at SIGTERM", function()
    local s = service.start()
    assert.equal(200, (s:request("GET", "/health")))
    assert.equal(0, s:stop())
    assert.is_nil(lfs.attributes(s.dir))
  end)

  it("ends at SIGINT as well", function()
    local s = service.start()
    os.execute("kill -INT " .. s.pid)
    assert.equal(0, service.wait(10, function() return s:status() end))
    s:stop()
  end)

  it("prints what E2B's SDKs need when it listens on TCP", function()
    running = service.start { tcp = true }
    assert.truthy(running.key:match "^e2b_%x+$")
    assert.equal(44, #running.key)
    assert.truthy(running.url:match "^http://127%.0%.0%.1:%d+$")
    assert.equal(200, (running:request("GET", "/sandboxes")))
  end)

  it("makes relative paths absolute", function()
    local dir = service.directory()
    local pipe = io.popen(("program=$(realpath %s) && cd %s && $program"
      .. " --socket here --state there --linger 1 --ready-fd 1")
      :format(service.program, dir))
    assert.equal(dir .. "/here", pipe:read "l")
    pipe:close()
    assert.truthy(lfs.attributes(dir .. "/there/sandboxes"))
    os.execute("rm -rf " .. dir)
  end)

  it("serves IPv6 and names it in brackets", function()
    local s, message = service.try_start {
      tcp = true, args = { "--listen", "[::1]:0" } }
    if not s then
      pending("no IPv6 here: " .. message)
      return
    end
    running = s
    assert.truthy(s.url:match "^http://%[::1%]:%d+$")
    assert.equal(200, (s:request("GET", "/sandboxes")))
  end)

  it("serves both at once", function()
    running = service.start { args = { "--listen", "localhost:0" } }
    assert.equal(200, (running:request("GET", "/sandboxes")))
    assert.equal(200, (running:request("GET", "/sandboxes", nil,
      { tcp = true })))
  end)

  it("prints nothing but the socket's path when it has no TCP", function()
    running = service.start()
    assert.is_nil(running.key)
    assert.is_nil(running.url)
  end)

  it("lets nobody else into its state directory but its sandboxes",
    function()
      running = service.start()
      local id = io.popen "id -u":read "a"
      assert.equal(id == "0\n" and "rwx--x--x" or "rwx------",
        lfs.attributes(running.state).permissions)
      assert.equal("rw-------",
        lfs.attributes(running.state .. "/sandboxd.lock").permissions)
    end)

  it("has a state directory to itself and names who has it", function()
    running = service.start()
    local message, status = fails { "--state", running.state }
    assert.equal(3, status)
    assert.truthy(message:find("pid " .. running.pid, 1, true), message)
  end)

  it("does not take a socket away from another service", function()
    running = service.start()
    local message, status = fails { "--socket", running.socket }
    assert.equal(3, status)
    assert.truthy(message:find("another service listens", 1, true), message)
  end)

  it("replaces a socket that a crash has left", function()
    local dir = service.directory()
    local first = service.start { dir = dir }
    first:crash()
    assert.truthy(lfs.attributes(dir .. "/socket"))
    local second = service.start { dir = dir }
    assert.equal(200, (second:request("GET", "/health")))
    second:stop()
    os.execute("rm -rf " .. dir)
  end)

  for _, case in ipairs {
    { { "--memory", "17179869184G" }, "more bytes than can be counted" },
    { { "--memory", "-1" }, "is not a size" },
    { { "--memory", "1e9" }, "is not a size" },
    { { "--memory", "0" }, "is not a size" },
    { { "--memory", "" }, "is not a size" },
    { { "--memory", "64k" }, "less than the 4M" },
    { { "--memory", "0x10M" }, "is not a size" },
    { { "--memory", "1 G" }, "is not a size" },
    { { "--memory", "9223372036854775808" }, "more bytes than" },
    { { "--memory", "99999999999999999999" }, "is not a size" },
    { { "--disk", "64X" }, "is not a size" },
    { { "--disk", "1.5G" }, "is not a size" },
    { { "--pids", "0" }, "is not a number" },
    { { "--pids", "99999999" }, "is not a number" },
    { { "--cpus", "nan" }, "is not a number" },
    { { "--cpus", "0" }, "is not a number" },
    { { "--cpus", "1e3" }, "is not a number" },
    { { "--listen", "127.0.0.1" }, "is not HOST:PORT" },
    { { "--listen", "127.0.0.1:70000" }, "is not a number" },
    { { "--network", "all" }, "neither none nor host" },
    { { "--uid-range", "0" }, "is not a number" },
    { { "--uid-range", "4294967290:10" }, "past the last uid" },
    { { "--api-key", "" }, "1 to 255" },
    { { "--api-key", "a b" }, "visible ASCII" },
    { { "--linger", "0" }, "is not a number" },
    { { "--socket", "" }, "the path is empty" },
    { { "--state", "" }, "the path is empty" },
    { { "--nonsense" }, "unknown option" },
    { { "--pids" }, "needs a value" },
  } do
    it("refuses " .. table.concat(case[1], " ") .. " (C24)", function()
      local message, status = fails(case[1])
      assert.equal(2, status)
      assert.truthy(message:find(case[2], 1, true), message)
      assert.truthy(message:find(case[1][1], 1, true), message)
    end)
  end

  it("says that it has no pool", function()
    local message, status = fails { "--pool", "2" }
    assert.equal(3, status)
    assert.truthy(message:find("not supported", 1, true), message)
  end)

  it("takes every unit of the list (C24)", function()
    for _, size in ipairs { "4194304", "8192k", "64M", "64MB", "64MiB", "1g",
      "1T" } do
      local s, message, status = service.try_start {
        args = { "--memory", size } }
      if s then s:stop() else assert.equal(3, status, message) end
    end
  end)

  it("refuses a limit that was asked for and cannot be enforced (C24)",
    function()
      local message, status = fails { "--disk", "1G" }
      assert.equal(3, status)
      assert.truthy(message:find("cannot be enforced", 1, true), message)
    end)

  it("refuses what only control groups give where there are none (C24)",
    function()
      if io.popen "id -u":read "n" ~= 0 then pending "a mount needs root" end
      local dir = service.directory()
      local function without_groups(words)
        local pipe = io.popen(("EBB_STATE=%s unshare -m sh -c 'mount -t tmpfs"
          .. " none /sys/fs/cgroup && exec timeout 5 %s %s' 2>&1; echo $?")
          :format(dir, service.program, words))
        local line, status = pipe:read("l", "n")
        pipe:close()
        return line, status
      end
      for _, row in ipairs { { "--memory 1G", "--memory" },
        { "--cpus 0.5", "--cpus" } } do
        local line, status = without_groups(row[1])
        assert.equal(3, status, line)
        assert.truthy(line:find("cannot be enforced", 1, true), line)
        assert.truthy(line:find("start without " .. row[2], 1, true), line)
      end
      -- What nobody asked for is reported instead.
      local line, status = without_groups "--check"
      assert.equal(0, status, line)
      assert.matches("memory: not limited; processes: rlimit", line)
      os.execute("rm -rf " .. dir)
    end)

  it("says which address it cannot listen at", function()
    running = service.start { tcp = true }
    local port = running.url:match "%d+$"
    local message, status = fails { "--listen", "127.0.0.1:" .. port }
    assert.equal(3, status)
    assert.truthy(message:find(port, 1, true), message)
  end)

  it("ends by itself when it was unused for its linger time", function()
    local s = service.start { args = { "--linger", "1" } }
    assert.equal(0, service.wait(6, function() return s:status() end))
    s:stop()
  end)

  it("does not end while it has a sandbox", function()
    local s = service.start { args = { "--linger", "1" } }
    local box = s:create()
    service.sleep(3.2)
    assert.is_nil(s:status())
    assert.equal(204, (s:request("DELETE", "/sandboxes/" .. box.sandboxID)))
    assert.equal(0, service.wait(6, function() return s:status() end))
    s:stop()
  end)

  it("tells its version, its pid and whether it is used", function()
    running = service.start()
    local status, about = running:request("GET", "/ebb/version")
    assert.equal(200, status)
    assert.equal(running.pid, about.pid)
    assert.equal("string", type(about.version))
    assert.equal(0, about.sandboxes)
    assert.is_true(about.idle)
    running:create()
    about = select(2, running:request("GET", "/ebb/version"))
    assert.equal(1, about.sandboxes)
    assert.is_false(about.idle)
  end)
end)
