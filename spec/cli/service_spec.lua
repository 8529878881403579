-- SPDX-License-Identifier: MIT
-- The local service as `ebb --local` finds it, starts it, replaces it and
-- leaves it; and what is left when either of them is killed.

local cjson = require "cjson"
local program = require "support.program"
local traces = require "support.traces"

local build = os.getenv "EBB_BUILD" or "build"
local shell = program.shell
local ebb

before_each(function() ebb = program.open() end)
after_each(function() ebb:close() end)

local function create(key)
  local out, status, err = ebb:run(
    ([[call e2b.createSandbox '{"idempotencyKey":"%s"}']]):format(key))
  assert(status == 0, err)
  traces.note(ebb.dir)
  return cjson.decode(out).sandboxId
end

local function wait(seconds, look)
  for _ = 1, seconds * 20 do
    local found = look()
    if found then return found end
    os.execute "sleep 0.05"
  end
  return look()
end

local function service() return traces.service(ebb.dir) end
local function crash(pid) os.execute(("kill -KILL %d"):format(pid)) end

describe("the local service", function()
  it("starts on demand and leaves nothing when it is stopped", function()
    assert.is_nil(service())
    create "stop"
    assert.truthy(traces.find(ebb.dir):find("process " .. service()))
    assert.truthy(traces.find(ebb.dir):find "\nsandbox i%w+\n")
    local out, status, err = ebb:run "serve --stop"
    assert.equal("", out .. err)
    assert.equal(0, status)
    traces.none(ebb.dir)
    out, status, err = ebb:run "serve --stop"
    assert.equal("", out)
    assert.equal(3, status)
    assert.equal("ebb: no local service is running\n", err)
  end)

  it("is one when many programs start it at once", function()
    local words = ("%s sandbox list --json >%s/out.$i 2>&1 &"):format(
      ebb:prefix(), ebb.dir)
    shell(("for i in 1 2 3 4 5 6; do %s done; wait"):format(words))
    for i = 1, 6 do
      assert.equal("[]\n", shell(("cat %s/out.%d"):format(ebb.dir, i)))
    end
    assert.equal("1\n", shell(("pgrep -fc '[e]bb-sandboxd.* %s/service.sock'")
      :format(ebb.dir)))
  end)

  it("is started where a socket was left that nobody serves", function()
    shell(("python3 -c 'import socket; socket.socket(socket.AF_UNIX)"
      .. ".bind(\"%s/service.sock\")'"):format(ebb.dir))
    assert.equal("[]\n", (ebb:run "sandbox list --json"))
  end)

  it("is told from another program's that listens there", function()
    for answer, words in pairs { [""] = "reset by peer",
      ["HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}"]
        = "no version" } do
      shell(([[cd %s; rm -f service.sock; python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("other.sock")
s.listen(9)
os.rename("other.sock", "service.sock")  # it is there once it listens
while True:
    c = s.accept()[0]
    try:
        if c.recv(1, socket.MSG_PEEK) and "%s":
            c.recv(999)
            c.sendall(b"%s")  # else what came unread resets the client
    except OSError:
        pass  # it only looked whether somebody listens
    c.close()' >/dev/null 2>&1 & echo $! >%s/other]]):format(ebb.dir, answer,
        answer, ebb.dir))
      assert(wait(5, function()
        return shell(("ls %s/service.sock 2>/dev/null"):format(ebb.dir)) ~= ""
      end))
      local out, status, err = ebb:run "sandbox list --json"
      shell(("kill $(cat %s/other); rm %s/service.sock"):format(ebb.dir,
        ebb.dir))
      assert.equal("", out)
      assert.equal(3, status)
      assert.truthy(err:find("what listens at " .. ebb.dir
        .. "/service.sock is not ebb's service", 1, true), err)
      assert.truthy(err:find(words, 1, true), err)
    end
  end)

  it("is started again when it was killed", function()
    create "lost"
    local pid = service()
    crash(pid)
    local out, status, err = ebb:run "sandbox list --json"
    assert.equal(0, status, err)
    assert.equal("[]\n", out)
    assert.is_not.equal(pid, service())
  end)

  it("that is killed in a call leaves the outcome unknown", function()
    local id = create "unknown"
    shell(("( sleep 0.7; kill -KILL %d ) >/dev/null 2>&1 &"):format(service()))
    local out, status, err = ebb:run((
      [[call --json e2b.runCommand '{"sandboxId":"%s","command":"sleep 9"}']])
      :format(id))
    assert.equal("", out)
    assert.equal(4, status, err)
    assert.equal("outcome_unknown",
      cjson.decode(err:match "([^\n]*)\n$").code)
    create "next"
    ebb:run("sandbox kill " .. create "next")
  end)

  it("ends by itself when nothing has used it for its time", function()
    local out = shell(("EBB_LINGER_S=1 %s sandbox list --json"):format(
      ebb:prefix()))
    assert.equal("[]\n", out)
    assert.truthy(service())
    assert.is_true(wait(5, function() return not service() end))
    traces.none(ebb.dir)
  end)
end)

describe("a service of another version", function()
  local version = shell(build .. "/ebb --version"):match "ebb (%S+)"
  local another = ("9"):rep(#version)

  -- The same program, whose version is another of the same length.
  local function make_other()
    shell(("cp -r %s/libexec %s/libexec"):format(build, ebb.dir))
    shell(("LC_ALL=C sed -i 's/%s/%s/g' %s/libexec/ebb-sandboxd"):format(
      version:gsub("%.", "\\."), another, ebb.dir))
  end

  local function start_other()
    make_other()
    shell(([[setsid %s/libexec/ebb-sandboxd --socket %s/service.sock \
      --state %s --linger 20 </dev/null >%s/log 2>&1 &]]):format(ebb.dir,
      ebb.dir, ebb.dir, ebb.dir))
    assert(wait(5, function()
      return shell(("curl -s --unix-socket %s/service.sock "
        .. "http://localhost/ebb/version"):format(ebb.dir)):find "999"
    end))
    return service()
  end

  it("is replaced while it is idle", function()
    local other = start_other()
    local out, status, err
    wait(10, function() -- until curl is no client any more
      out, status, err = ebb:run "sandbox list --json"
      return status == 0
    end)
    assert.equal(0, status, err)
    assert.equal("[]\n", out)
    assert.is_not.equal(other, service())
  end)

  it("is named with the way to stop it while it is busy", function()
    local other = start_other()
    shell(([[curl -s --unix-socket %s/service.sock -d '{"templateID":"base"}' \
      -H 'Content-Type: application/json' http://localhost/v2/sandboxes]])
      :format(ebb.dir))
    local out, status, err = ebb:run "sandbox list --json"
    assert.equal("", out)
    assert.equal(3, status)
    assert.truthy(err:find(("(pid %d)"):format(other), 1, true), err)
    assert.truthy(err:find("ebb serve --stop", 1, true), err)
    assert.equal(0, select(2, ebb:run "serve --stop"))
  end)

  it("is not called busy when it is the program's own", function()
    make_other()
    local out = shell(
      ("EBB_LIBEXEC=%s/libexec %s sandbox list --json 2>&1; echo $?"):format(
        ebb.dir, ebb:prefix()))
    assert.truthy(out:find("is version " .. another, 1, true), out)
    assert.truthy(out:find("this is " .. version, 1, true), out)
    assert.truthy(out:find("install both from one build", 1, true), out)
    assert.falsy(out:find("busy", 1, true), out)
    assert.truthy(out:find "\n3\n$", out)
    assert.is_true(wait(5, function() return not service() end))
    out = shell(("EBB_LIBEXEC=%s/libexec %s doctor 2>&1"):format(ebb.dir,
      ebb:prefix()))
    assert.truthy(out:find("ebb-sandboxd " .. another, 1, true), out)
    assert.truthy(out:find("install both from one build", 1, true), out)
    assert.equal("[]\n", (ebb:run "sandbox list --json")) -- with its own
  end)
end)

describe("a script that is cut short", function()
  local text = [[
    local e2b, ebb = require "e2b", require "ebb"
    local box = e2b.createSandbox{ idempotencyKey = "cut", timeoutMs = %d }
    local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = box.sandboxId })
    print(box.sandboxId)
    io.stdout:flush()
    if %s then ebb.sleep(60) end
    e2b.runCommand{ sandboxId = box.sandboxId, command = "sleep 60" }]]

  it("by Ctrl-C kills its sandbox and has status 130", function()
    local out, status, err = ebb:interrupt(text:format(60000, "false"), "INT")
    assert.equal("", out)
    assert.equal(130, status)
    assert.truthy(err:find("cancelled", 1, true), err)
    assert.equal("[]\n", (ebb:run "sandbox list --json"))
  end)

  it("by SIGKILL leaves a service that ends its sandbox and itself",
    function()
      -- Asleep: a command would have had its life extended to five minutes.
      local path = ebb:write(text:format(3000, "true"))
      local _, status = shell((
        [[EBB_LINGER_S=1 EBB_STATE=%s %s/ebb --local run %s >%s/out 2>&1 &
        pid=$!
        for i in $(seq 100); do
          [ -s %s/out ] && break
          sleep 0.05
        done
        ls %s/sandboxes >%s/seen
        kill -KILL $pid
        wait $pid 2>/dev/null]]):format(ebb.dir, build, path, ebb.dir, ebb.dir,
        ebb.dir, ebb.dir))
      assert.equal(137, status)
      assert.truthy(service())
      assert.is_true(wait(12, function() return not service() end))
      traces.none(ebb.dir)
    end)
end)

describe("ebb serve", function()
  it("prints what an SDK needs and ends at Ctrl-C with nothing left",
    function()
      local out, status = ebb:signalled(
        "serve --listen 127.0.0.1:0 2>/dev/null", "INT")
      assert.equal(0, status)
      assert.truthy(out:find("export E2B_API_URL=http://127.0.0.1:", 1, true),
        out)
      traces.none(ebb.dir)
    end)
end)
