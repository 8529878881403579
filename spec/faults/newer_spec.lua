-- SPDX-License-Identifier: MIT
-- A server of next year: what it says beyond what we know is passed over, and
-- what we know still counts.

local scripted = require "support.scripted"

after_each(scripted.stop_all)

local function more(members)
  members.quota = { [1] = { nested = { 1, 2, { deep = "x" } } } }
  members.since2027 = true
  members.flavour = "salt"
  return members
end

local box = more { sandboxID = "ibox", templateID = "t", state = "running",
  startedAt = "2027-11-29T15:00:00Z", endAt = "2027-11-29T16:00:00Z",
  metadata = { a = "b" }, region = "eu", volumes = { more {} } }

local function answer_to(task, input, rules)
  local s = scripted.start(rules)
  local answer = s:call(task, input)
  assert.equal("", answer.errors)
  return answer.out
end

describe("members that we do not know (D05)", function()
  it("are no part of a sandbox, of its connect and its list", function()
    assert.same({ sandboxId = "ibox", templateId = "t", status = "running",
      startedAt = "2027-11-29T15:00:00.000Z",
      endAt = "2027-11-29T16:00:00.000Z", metadata = { a = "b" } },
      answer_to("e2b.getSandbox", { sandboxId = "ibox" },
        { { on = "GET /sandboxes/ibox", body = box } }))
    assert.equal(0, answer_to("e2b.runCommand",
      { sandboxId = "ibox", command = "true" },
      { { on = "POST /v2/sandboxes/ibox/connect", body = box } }).exitCode)
    box.metadata._render_tasks_idempotency_key = "k"
    assert.is_false(answer_to("e2b.createSandbox", { idempotencyKey = "k" },
      { { on = "GET /v2/sandboxes", body = { box } } }).created)
  end)

  it("are no part of logs and metrics", function()
    local logs = answer_to("e2b.getSandboxLogs", { sandboxId = "ibox" }, { {
      on = "GET /v2/sandboxes/ibox/logs", body = more { logs = { more {
        timestamp = "2027-11-29T15:00:00Z", level = "trace", message = "m",
      } } },
    } }).logs
    assert.equal("m", logs[1].message.text)
    assert.equal("info", logs[1].level)
    assert.is_nil(logs[1].flavour)
    local metrics = answer_to("e2b.getSandboxMetrics", { sandboxId = "ibox" },
      { { on = "GET /sandboxes/ibox/metrics", body = { more {
        timestamp = "2027-11-29T15:00:00Z", cpuUsedPct = 1, cpuCount = 2,
        memUsed = 3, memTotal = 4, diskUsed = 5, diskTotal = 6,
        gpuUsedPct = 7 } } } }).metrics
    assert.equal(3, metrics[1].memoryUsedBytes)
    assert.is_nil(metrics[1].gpuUsedPct)
  end)

  it("are no part of what was written", function()
    local files = answer_to("e2b.writeFiles", { sandboxId = "ibox",
      files = { { path = "/tmp/a", content = "x" } } },
      { { on = "POST /files", body = { more { path = "/tmp/a", name = "a",
        type = "file" } } } }).files
    assert.same({ { path = "/tmp/a", byteCount = 1 } }, files)
  end)
end)

describe("events that we do not know (D05)", function()
  it("do not end a command, nor do members of known ones", function()
    local done = answer_to("e2b.runCommand",
      { sandboxId = "ibox", command = "x" }, { {
        on = "POST /process.Process/Start", events = {
          { start = 7 },
          { raw = "\0\0\0\0\5\x0a\3\x4a\1x" },             -- event 9
          { raw = "\0\0\0\0\x0a\x0a\8\x12\6\x0a\2hi\x78\1" }, -- stdout, 15
          { raw = "\0\0\0\0\2\x78\1" },                    -- no event at all
          { exit = 3 }, { trailer = { metadata = { a = { "b" } } } },
        } } })
    assert.equal(3, done.exitCode)
    assert.equal("hi", done.stdout.text)
  end)

  it("do not end code, nor do members of known ones", function()
    local done = answer_to("e2b.runCode",
      { sandboxId = "ibox", code = "x" }, { {
        on = "POST /execute", events = {
          { count = 1 },
          { raw = '{"type":"chart3d","points":[[1,2],{"a":null}]}\n' },
          { raw = '{"since":{"x":[]},"type":"stdout","text":"hi",'
            .. '"color":"red"}\n' },
          { done = true },
        } } })
    assert.equal("hi", done.stdout.text)
    assert.equal(1, done.executionCount)
  end)
end)
