-- SPDX-License-Identifier: MIT

-- A command in the background outlives its client, pauses and time: it stays
-- listed, its port open, its output readable, and it can be killed (C20).
-- EBB_BACKGROUND_S says how long it is left alone each time, in seconds
-- (`make soak`: two and ten minutes).

local cjson = require "cjson"
local service = require "support.service"

local waits = {}
for seconds in (os.getenv "EBB_BACKGROUND_S" or "1,2"):gmatch "%d+" do
  waits[#waits + 1] = tonumber(seconds)
end

local PORT = 8321
local LISTEN_S = 1

local s, box

local calls = require "support.calls" (function() return s end)

setup(function()
  s = service.start()
  box = s:create { timeout = 7200 }
end)
teardown(function() s:stop() end)

-- Sends one message to a stream for so many seconds: its events in order.
local function stream(method, message, seconds)
  local text = cjson.encode(message)
  local _, body = s:data(box, "POST", "/process.Process/" .. method,
    string.pack(">Bs4", 0, text), { timeout = seconds, headers = {
      ["Content-Type"] = "application/connect+json" } })
  return body
end

-- As stream, but what came until the time was over, which is no answer to
-- the request helper: read from curl itself.
local function listen(message, seconds)
  local place = s.dir .. "/listen"
  local file = assert(io.open(place, "wb"))
  file:write(string.pack(">Bs4", 0, cjson.encode(message)))
  file:close()
  local pipe = io.popen(("curl -sN -m %d --unix-socket %s "
    .. "-H 'E2b-Sandbox-Id: %s' -H 'E2b-Sandbox-Port: 49983' "
    .. "-H 'X-Access-Token: %s' -H 'Content-Type: application/connect+json' "
    .. "--data-binary @%s http://localhost/process.Process/Connect")
    :format(seconds, s.socket, box.sandboxID, box.envdAccessToken, place))
  local bytes, events, at = pipe:read "a", {}, 1
  pipe:close()
  while at + 5 <= #bytes + 1 do
    local n = string.unpack(">I4", bytes, at + 1)
    if at + 4 + n > #bytes then break end
    events[#events + 1] = cjson.decode(bytes:sub(at + 5, at + 4 + n))
    at = at + 5 + n
  end
  return events
end

local function run(command)
  local body = stream("Start", { process = { cmd = "/bin/bash",
    args = { "-c", command } }, stdin = false }, 20)
  return body
end

local function listed()
  local status, answer = s:data(box, "POST", "/process.Process/List", {})
  assert.equal(200, status)
  return answer.processes or {}
end

-- What is true of the server that runs in the background, at any time.
local function assert_serves(pid)
  local found = false
  for _, one in ipairs(listed()) do found = found or one.pid == pid end
  assert.is_true(found)
  assert.truthy(run(("curl -s -o /dev/null -w '%%{http_code}' "
    .. "127.0.0.1:%d/"):format(PORT)):find("MjAw", 1, true)) -- "200"
  local events, out = listen({ process = { pid = pid } }, LISTEN_S), 0
  assert.equal(pid, events[1].event.start.pid)
  for _, one in ipairs(events) do
    if one.event and one.event.data then out = out + 1 end
  end
  assert.is_true(out > 0, "no output in " .. LISTEN_S .. " s")
end

it("goes on through its client's end, pauses and time (C20)", function()
  -- A server and a clock in one, started by a client that then leaves.
  stream("Start", { process = { cmd = "/bin/bash", args = { "-c",
    ("exec 2>/dev/null; (while :; do date +%%N; sleep 0.1; done) & "
      .. "exec python3 -m http.server %d --bind 127.0.0.1"):format(PORT) } },
    stdin = false }, 1)
  local pid = listed()[1].pid
  assert.truthy(service.wait(10, function()
    return run(("curl -s 127.0.0.1:%d/ >/dev/null && echo up")
      :format(PORT)):find("dXAK", 1, true) -- "up\n"
  end))
  assert_serves(pid)
  for _ = 1, 3 do
    assert.equal(204, (calls.post(box.sandboxID, "pause", {})))
    assert.equal(201, (calls.connect(box.sandboxID, { timeout = 7200 })))
    assert_serves(pid)
  end
  for _, seconds in ipairs(waits) do
    service.sleep(seconds)
    assert_serves(pid)
    assert.equal(200, (calls.connect(box.sandboxID, { timeout = 7200 })))
    assert_serves(pid)
  end
  -- Frozen for as long, it is as it was.
  assert.equal(204, (calls.post(box.sandboxID, "pause", {})))
  service.sleep(waits[1])
  assert.equal(201, (calls.connect(box.sandboxID, { timeout = 7200 })))
  assert_serves(pid)
  local status = s:data(box, "POST", "/process.Process/SendSignal",
    { process = { pid = pid }, signal = "SIGNAL_SIGKILL" })
  assert.equal(200, status)
  assert.truthy(service.wait(5, function() return #listed() == 0 end))
  assert.is_nil(run(("curl -s -o /dev/null -w '%%{http_code}' "
    .. "127.0.0.1:%d/"):format(PORT)):find("MjAw", 1, true))
end)
