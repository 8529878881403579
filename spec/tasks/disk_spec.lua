-- SPDX-License-Identifier: MIT
-- What a sandbox has on disk at a pause is what it has after each resume, the
-- twenty-fifth too (A06).

local cjson = require "cjson"
local scripted = require "support.scripted"
local service = require "support.service"

local ROUNDS = 25

local s, client

local calls = require "support.calls" (function() return s end)

setup(function()
  s = service.start { args = { "--listen", "127.0.0.1:0" } }
  client = scripted.client(s.url)
end)
teardown(function()
  scripted.stop_all()
  s:stop()
end)

local function try(task, input)
  return client:call("e2b." .. task, input, { env = { E2B_API_KEY = s.key },
    limits = "unary=20000,transfer=20000,first=20000,idle=20000" })
end

local function call(task, input)
  local answer = try(task, input)
  assert.equal(0, answer.status, answer.errors)
  return answer.out
end

local function run(id, command)
  local done = call("runCommand", { sandboxId = id, command = command })
  assert.equal(0, done.exitCode, done.stderr.text .. done.stdout.text)
  return done.stdout.text
end

-- By a call, or by the end of its life; with its memory, or its disk alone.
local function pause(id, by_timeout)
  if by_timeout then
    assert.equal(204, (calls.post(id, "timeout", { timeout = 0 })))
  else
    call("pauseSandbox", { sandboxId = id })
  end
  assert.truthy(service.wait(5, function()
    return (calls.info(id) or {}).state == "paused"
  end))
end

for _, memory in ipairs { true, false } do
  local with = memory and "with memory" or "disk alone"
  it(("each of %d pauses keeps every file, %s (A06)"):format(ROUNDS, with),
    function()
      local id = s:create { timeout = 600, autoPause = true,
        autoPauseMemory = memory }.sandboxID
      local sums = {}
      for n = 1, ROUNDS do
        local path = ("dir%d/file%d"):format(n % 5, n)
        call("writeFiles", { sandboxId = id, files = { { path = path,
          content = ("%d\n"):format(n):rep(n * 100) } } })
        run(id, ("head -c %d /dev/urandom > random%d"):format(n * 1000, n))
        sums[#sums + 1] = run(id, ("sha256sum %s random%d"):format(path, n))
        if memory or n % 2 == 0 then
          pause(id, n % 2 == 0)
        else -- the call's own way to keep the disk alone
          call("pauseSandbox", { sandboxId = id, keepMemory = false })
        end
        assert.is_true(call("resumeSandbox",
          { sandboxId = id, timeoutMs = 600000 }).changed)
        assert.equal(table.concat(sums), run(id, ("for n in $(seq %d); do "
          .. "sha256sum dir$((n %% 5))/file$n random$n; done"):format(n)))
      end
      assert.equal(("%d\n"):format(2 * ROUNDS),
        run(id, "find . -name 'file*' -o -name 'random*' | wc -l"))
      s:request("DELETE", "/sandboxes/" .. id)
    end)
end

describe("a pause in the middle of writing (A06)", function()
  -- Writes loop.1, loop.2, … for ever.
  local function start_loop(id)
    run(id, "(i=0; while :; do i=$((i+1)); echo $i > loop.$i; done) "
      .. ">/dev/null 2>&1 & echo $! > pid")
  end

  it("stops a command's loop where it was, and it goes on there", function()
    local id = s:create { timeout = 600 }.sandboxID
    start_loop(id)
    local home = s.state .. "/sandboxes/" .. id .. "/home"
    local function count()
      local pipe = io.popen("ls " .. home .. " | grep -c ^loop")
      local n = pipe:read "n"
      pipe:close()
      return n
    end
    assert.truthy(service.wait(5, function() return count() > 20 end))
    pause(id)
    local paused = count()
    service.sleep(0.3)
    assert.equal(paused, count())
    call("resumeSandbox", { sandboxId = id })
    assert.truthy(service.wait(5, function() return count() > paused end))
    -- None is missing, none is empty but perhaps the one of this moment.
    run(id, [[kill $(cat pid); n=$(ls | grep -c ^loop)
      for i in $(seq $((n - 1))); do
        [ "$(cat loop.$i)" = $i ] || { echo $i of $n; exit 9; }
      done]])
    s:request("DELETE", "/sandboxes/" .. id)
  end)

  it("keeps what was written when only the disk stays", function()
    local id = s:create { timeout = 600 }.sandboxID
    start_loop(id)
    service.sleep(0.3)
    call("pauseSandbox", { sandboxId = id, keepMemory = false })
    local place = s.state .. "/sandboxes/" .. id .. "/home"
    local function listing()
      local pipe = io.popen("cd " .. place .. " && ls loop.* | wc -l && "
        .. "sha256sum loop.* | sha256sum")
      local text = pipe:read "a"
      pipe:close()
      return text
    end
    local at_pause = listing()
    assert.is_true(tonumber(at_pause:match "^%d+") > 1)
    call("resumeSandbox", { sandboxId = id })
    assert.equal(at_pause, run(id, "ls loop.* | wc -l && "
      .. "sha256sum loop.* | sha256sum"))
    assert.equal(at_pause, listing())
    s:request("DELETE", "/sandboxes/" .. id)
  end)

  it("leaves each file that a task writes whole, or the task failed",
    function()
      local id = s:create { timeout = 600 }.sandboxID
      local content = ("0123456789abcdef"):rep(60000)
      local input = client.dir .. "/big.json"
      for _, memory in ipairs { true, false } do
        for turn = 1, 4 do
          local file = assert(io.open(input, "w"))
          file:write(cjson.encode { sandboxId = id,
            files = { { path = "big" .. turn, content = content } } })
          file:close()
          local out = client.dir .. "/big.out"
          os.execute(("(E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=%s "
            .. "EBB_LIMITS=unary=20000,transfer=3000 timeout 20 %s/ebb --json "
            .. "call e2b.writeFiles - <%s >%s 2>%s.err; echo $? >%s.status) &")
            :format(s.url, s.url, s.key, os.getenv "EBB_BUILD" or "build",
              input, out, out, out))
          service.sleep(0.004 * turn)
          call("pauseSandbox", { sandboxId = id, keepMemory = memory })
          call("resumeSandbox", { sandboxId = id })
          local status = service.wait(20, function()
            local done = io.open(out .. ".status")
            local text = done and done:read "n"
            if done then done:close() end
            return text
          end)
          os.remove(out .. ".status")
          local size = run(id, "stat -c %s big" .. turn .. " 2>/dev/null || "
            .. "echo none"):match "%S+"
          if status == 0 then
            assert.equal(tostring(#content), size)
            run(id, "[ $(tr -d 0-9a-f < big" .. turn .. " | wc -c) = 0 ]")
          end
        end
      end
      s:request("DELETE", "/sandboxes/" .. id)
    end)
end)
