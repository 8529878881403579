-- SPDX-License-Identifier: MIT
-- What ends with a command, what with its sandbox, and what a sandbox that
-- misbehaves costs the machine (A11, C18).

local tasks = require "support.tasks"
local traces = require "support.traces"

local t, pid

setup(function()
  t = tasks.open()
  t:create "others" -- so that the service stays, and there is a sibling
  pid = traces.service(t.ebb.dir)
end)
teardown(function() t:close() end)

local function shell(command, ...)
  local pipe = assert(io.popen(command:format(...)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

-- What the machine has of the service and its sandboxes: the service's open
-- descriptors, the processes below it, their network namespaces, its groups,
-- threads and folders.
local function held()
  local below = shell([[
    list() { for c in $(cat /proc/$1/task/*/children 2>/dev/null); do
      echo $c; list $c; done; }
    list %d]], pid)
  local spaces, processes = {}, 0
  for one in below:gmatch "%d+" do
    processes = processes + 1
    spaces[#spaces + 1] = shell("readlink /proc/%s/ns/net 2>/dev/null", one)
  end
  table.sort(spaces)
  local distinct = 0
  for i, name in ipairs(spaces) do
    if name ~= spaces[i - 1] then distinct = distinct + 1 end
  end
  return {
    descriptors = tonumber(shell("ls /proc/%d/fd | wc -l", pid)),
    threads = tonumber(shell("ls /proc/%d/task | wc -l", pid)),
    processes = processes, spaces = distinct,
    groups = tonumber(shell("find /sys/fs/cgroup -maxdepth 4 -type d "
      .. "-name 'ebb-i*' 2>/dev/null | wc -l")),
    mounts = tonumber(shell("grep -cF %s/ /proc/self/mounts", t.ebb.dir)),
    folders = shell("ls %s/sandboxes", t.ebb.dir),
  }
end

-- The same once the last client's connection has been closed.
local function assert_held(before, seconds)
  local now
  for _ = 1, (seconds or 2) * 20 do
    now = held()
    now.groups = before.groups -- other services run at the same time
    if pcall(assert.same, before, now) then return end
    os.execute "sleep 0.05"
  end
  assert.same(before, now)
end

-- Processes of this spec on the machine, by a number nobody else sleeps for.
local function sleepers(number)
  return tonumber(shell("pgrep -fc '^sleep %s' || true", number))
end

local number = ("8%d.75"):format(os.time() % 100000000)

local function run(box, command, more)
  local input = { sandboxId = box, command = command }
  for key, value in pairs(more or {}) do input[key] = value end
  return t:call("runCommand", input)
end

-- A child, one in a pipeline, one under nohup; and one that has left.
local function crowd(left)
  return ([[sleep %s & sleep %s | cat & nohup sleep %s >/dev/null 2>&1 &
    %s wait]]):format(number, number, number, left and
    ("(setsid sleep %s >/dev/null 2>&1 &) &"):format(number) or "")
end

describe("the end of a command (A11)", function()
  it("at its timeout is the end of its whole group", function()
    local box = t:create "timeout"
    local err = t:fails("runCommand", { sandboxId = box, timeoutMs = 1000,
      command = "echo begun; " .. crowd() })
    assert.equal("timeout", err.code)
    assert.equal("begun\n", err.details.stdout.text)
    assert.is_nil(err.details.mayStillRun)
    assert.equal("0\n", run(box, "pgrep -fc '^sleep " .. number .. "'")
      .stdout.text)
    assert.equal(0, sleepers(number))
    t:call("killSandbox", { sandboxId = box })
  end)

  it("leaves what has left its group, as detaching promises", function()
    local box = t:create "detached"
    t:fails("runCommand", { sandboxId = box, timeoutMs = 1000,
      command = crowd(true) })
    assert.equal("1\n", run(box, "pgrep -fc '^sleep " .. number .. "'")
      .stdout.text)
    assert.equal(1, sleepers(number))
    t:call("killSandbox", { sandboxId = box })
    assert.equal(0, sleepers(number))
  end)
end)

describe("the end of a sandbox (A11)", function()
  for _, how in ipairs { "running", "resumed", "paused" } do
    it(how .. " has left nothing when the answer comes", function()
      local before = held()
      local box = t:create("crowded " .. how)
      run(box, ("(%s) >/dev/null 2>&1 & (%s) >/dev/null 2>&1 &")
        :format(crowd(true), crowd()))
      run(box, "python3 -c 'import socket, time; s = socket.socket(); "
        .. "s.bind((\"127.0.0.1\", 8000)); s.listen(); time.sleep(999)' "
        .. ">/dev/null 2>&1 &")
      t:call("runCode", { sandboxId = box, code = "x = 1" })
      if how ~= "running" then
        t:call("pauseSandbox", { sandboxId = box })
      end
      if how == "resumed" then
        t:call("resumeSandbox", { sandboxId = box })
      end
      assert.equal(7, sleepers(number))
      assert.is_true(t:call("killSandbox", { sandboxId = box }).changed)
      assert.equal(0, sleepers(number))
      assert.equal("", shell("find /sys/fs/cgroup -maxdepth 4 -type d "
        .. "-name 'ebb-%s' 2>/dev/null", box))
      assert_held(before)
    end)
  end
end)

describe("a sandbox that misbehaves (C18)", function()
  it("keeps none of 10,000 children that fork twice", function()
    local box = t:create "zombies"
    local got = run(box, [[python3 -c '
import os
for i in range(10000):
    pid = os.fork()
    if pid == 0:
        if os.fork() > 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
'; sleep 0.5; ps ax -o stat | grep -c '^Z'; ps ax | wc -l]],
      { timeoutMs = 120000 })
    local zombies, all = got.stdout.text:match "(%d+)\n(%d+)"
    assert.equal("0", zombies, got.stderr.text)
    assert.is_true(tonumber(all) < 12, all)
    t:call("killSandbox", { sandboxId = box })
  end)

  it("ends a fork bomb at its limit and leaves the others alone", function()
    local before = held()
    local bomb, other = t:create "bomb", t:create "beside the bomb"
    run(bomb, "bash -c 'bomb() { bomb | bomb & }; bomb; "
      .. "while :; do sleep 1 & done' >/dev/null 2>&1 &")
    local began = os.time()
    assert.equal("fine\n", run(other, "echo fine").stdout.text)
    assert.equal("running", t:call("getSandbox",
      { sandboxId = bomb }).status)
    local _, status, err = t:try("runCommand", { sandboxId = bomb,
      command = "(echo x | cat)", timeoutMs = 5000 })
    -- Inside it is EAGAIN, of fork or of the program; never a hang.
    if status ~= 0 then
      assert.truthy(err:find "temporarily unavailable" or
        err:find '"timeout"', err)
    end
    assert.is_true(t:call("killSandbox", { sandboxId = bomb }).changed)
    assert.is_true(os.time() - began < 20)
    assert.equal("fine\n", run(other, "echo fine").stdout.text)
    t:call("killSandbox", { sandboxId = other })
    assert_held(before, 5)
  end)

  it("uses up its own descriptors alone", function()
    local box = t:create "descriptors"
    local got = run(box, [[python3 -c '
import os, errno
kept = []
try:
    while True: kept.append(os.pipe())
except OSError as e:
    print(errno.errorcode[e.errno], len(kept) > 100)
']])
    assert.equal("EMFILE True\n", got.stdout.text)
    assert.equal("on\n", run(box, "echo on").stdout.text)
    t:call("killSandbox", { sandboxId = box })
  end)

  it("has no thread or timer left of commands with an hour to spare",
    function()
      local box = t:create "hour"
      run(box, "true", { timeoutMs = 3600000 })
      local before = held()
      local out, status, err = t.ebb:run("run " .. t.ebb:write(([[
        local e2b, ebb = require "e2b", require "ebb"
        local function one()
          return e2b.runCommand { sandboxId = %q, command = "true",
            timeoutMs = 3600000 }.exitCode
        end
        local list = {}
        for i = 1, 20 do list[i] = one end
        return #ebb.parallel(list)]]):format(box)))
      assert.same({ "20\n", 0 }, { out, status }, err)
      assert_held(before)
      t:call("killSandbox", { sandboxId = box })
    end)
end)
