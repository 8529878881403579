-- SPDX-License-Identifier: MIT
-- createSandbox, getSandbox, pauseSandbox, resumeSandbox, killSandbox on a
-- real service.

local cjson = require "cjson"
local tasks = require "support.tasks"

local t

setup(function() t = tasks.open() end)
teardown(function() t:close() end)

local function seconds_between(a, b)
  local function seconds(iso)
    local y, mo, d, h, mi, s = iso:match
      "^(%d+)-(%d+)-(%d+)T(%d+):(%d+):([%d.]+)Z$"
    assert.truthy(y, iso)
    return os.time { year = y, month = mo, day = d, hour = h, min = mi,
      sec = 0 } + tonumber(s)
  end
  return seconds(b) - seconds(a)
end

describe("createSandbox", function()
  it("makes one sandbox for one key and finds it again", function()
    local first = t:call("createSandbox", { idempotencyKey = "one",
      metadata = { a = "b" }, timeoutMs = 60500 })
    t.boxes[#t.boxes + 1] = first.sandboxId
    assert.is_true(first.created)
    assert.equal("running", first.status)
    assert.equal("code-interpreter-v1", first.templateId)
    assert.equal("b", first.metadata.a)
    local life = seconds_between(first.startedAt, first.endAt)
    assert.near(61, life, 0.5)
    local again = t:call("createSandbox", { idempotencyKey = "one" })
    assert.is_false(again.created)
    assert.equal(first.sandboxId, again.sandboxId)
  end)

  it("takes any key that is not blank", function()
    for _, key in ipairs { "x", ("K"):rep(10000), "é %&=+/\r\n\t\"" } do
      local box = t:create(key)
      local again = t:call("createSandbox", { idempotencyKey = key })
      assert.equal(box, again.sandboxId)
      t:call("killSandbox", { sandboxId = box })
    end
    local err, status = t:fails("createSandbox", { idempotencyKey = " \n" })
    assert.equal("invalid_input", err.code)
    assert.equal(2, status)
  end)

  it("makes one for eight processes that ask at once", function()
    local out = t.ebb.dir .. "/ids"
    os.execute(([[for i in 1 2 3 4 5 6 7 8; do
      %s call e2b.createSandbox '{"idempotencyKey":"eight"}' >>%s &
      done; wait]]):format(t.ebb:prefix(), out))
    local ids, made, answers = {}, 0, 0
    for line in io.lines(out) do
      local box = cjson.decode(line)
      ids[box.sandboxId] = true
      made = made + (box.created and 1 or 0)
      answers = answers + 1
    end
    assert.equal(8, answers)
    local id = next(ids)
    t.boxes[#t.boxes + 1] = id
    assert.is_nil(next(ids, id))
    assert.is_true(made >= 1)
  end)

  it("makes a new one after the key's sandbox was killed", function()
    local box = t:create "again"
    t:call("killSandbox", { sandboxId = box })
    local other = t:call("createSandbox", { idempotencyKey = "again" })
    t.boxes[#t.boxes + 1] = other.sandboxId
    assert.is_true(other.created)
    assert.not_equal(box, other.sandboxId)
  end)

  it("does not know a template that does not exist", function()
    local err = t:fails("createSandbox", { idempotencyKey = "t",
      template = "nope" })
    assert.equal("not_found", err.code)
    assert.equal(404, err.status)
    assert.is_false(err.retryable)
  end)

  it("sets the environment of what runs", function()
    local box = t:call("createSandbox", { idempotencyKey = "env",
      envs = { TIDE = "ebb" } }).sandboxId
    t.boxes[#t.boxes + 1] = box
    local run = t:call("runCommand", { sandboxId = box,
      command = "echo $TIDE" })
    assert.equal("ebb\n", run.stdout.text)
  end)
end)

describe("a sandbox's life", function()
  it("is frozen by pause and goes on after resume", function()
    local box = t:create "pause"
    t:call("runCode", { sandboxId = box, code = "x = 6" })
    local paused = t:call("pauseSandbox", { sandboxId = box })
    assert.same({ sandboxId = box, status = "paused", changed = true },
      paused)
    assert.is_false(t:call("pauseSandbox", { sandboxId = box }).changed)
    assert.equal("paused", t:call("getSandbox", { sandboxId = box }).status)
    local resumed = t:call("resumeSandbox", { sandboxId = box })
    assert.same({ sandboxId = box, status = "running", changed = true },
      resumed)
    assert.is_false(t:call("resumeSandbox", { sandboxId = box }).changed)
    local run = t:call("runCode", { sandboxId = box, code = "x * 7" })
    assert.equal("42", run.textResults[1].text)
  end)

  it("is never shortened by what the tasks do (A13)", function()
    local box = t:call("createSandbox", { idempotencyKey = "long",
      timeoutMs = 1800000 })
    t.boxes[#t.boxes + 1] = box.sandboxId
    local function still(what)
      assert.equal(box.endAt, t:call("getSandbox",
        { sandboxId = box.sandboxId }).endAt, what)
    end
    for _, row in ipairs { { "getSandbox" }, { "getSandboxLogs" },
      { "getSandboxMetrics" }, { "listFiles", path = "/" },
      { "runCommand", command = "true" }, { "runCode", code = "1" },
      { "readFile", path = "/etc/passwd" }, { "resumeSandbox" },
      { "resumeSandbox", timeoutMs = 1000 },
      { "writeFiles", files = { { path = "x", content = "y" } } } } do
      local input = { sandboxId = box.sandboxId }
      for name, value in pairs(row) do
        if name ~= 1 then input[name] = value end
      end
      t:call(row[1], input)
      still(row[1])
    end
    t:call("createSandbox", { idempotencyKey = "long" })
    t.ebb:run "sandbox list"
    t.ebb:run("sandbox logs " .. box.sandboxId)
    still "list"
  end)

  it("is the server's default after a resume without timeoutMs (A13)",
    function()
      local box = t:call("createSandbox", { idempotencyKey = "woken",
        timeoutMs = 1800000 }).sandboxId
      t.boxes[#t.boxes + 1] = box
      local function left()
        return seconds_between(os.date "!%Y-%m-%dT%H:%M:%S.000Z",
          t:call("getSandbox", { sandboxId = box }).endAt)
      end
      t:call("pauseSandbox", { sandboxId = box })
      t:call("resumeSandbox", { sandboxId = box })
      assert.near(300, left(), 5)
      t:call("pauseSandbox", { sandboxId = box })
      t:call("resumeSandbox", { sandboxId = box, timeoutMs = 900000 })
      assert.near(900, left(), 5)
    end)

  it("is woken by a task that needs it", function()
    local box = t:create "wake"
    t:call("pauseSandbox", { sandboxId = box })
    local run = t:call("runCommand", { sandboxId = box, command = "echo up" })
    assert.equal("up\n", run.stdout.text)
  end)

  it("is extended for a command that may last longer (D02)", function()
    local box = t:call("createSandbox", { idempotencyKey = "extend",
      timeoutMs = 60000 })
    t.boxes[#t.boxes + 1] = box.sandboxId
    t:call("runCommand", { sandboxId = box.sandboxId, command = "true",
      timeoutMs = 900000 })
    local now = t:call("getSandbox", { sandboxId = box.sandboxId })
    assert.is_true(seconds_between(now.startedAt, now.endAt) >= 930)
  end)
end)

describe("a sandbox that is gone", function()
  it("is not found, and killed without a change", function()
    local box = t:create "gone"
    assert.is_true(t:call("killSandbox", { sandboxId = box }).changed)
    assert.is_false(t:call("killSandbox", { sandboxId = box }).changed)
    for _, task in ipairs { "getSandbox", "pauseSandbox", "resumeSandbox" } do
      assert.equal("not_found", t:fails(task, { sandboxId = box }).code)
    end
    local err = t:fails("runCommand", { sandboxId = box, command = "true" })
    assert.equal("not_found", err.code)
    assert.equal(box, err.sandboxId)
  end)
end)
