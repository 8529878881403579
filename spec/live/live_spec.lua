-- SPDX-License-Identifier: MIT
-- Against a real back end, with a key of yours: a sandbox is made, used and
-- always killed. Opt in with RUN_LIVE=1 and E2B_API_KEY; E2B_API_URL,
-- E2B_DOMAIN and E2B_SANDBOX_URL are honoured as everywhere.
--
--   RUN_LIVE=1 E2B_API_KEY=… make spec FILTER=live

local cjson = require "cjson"

local ebb = (os.getenv "EBB_BUILD" or "build") .. "/ebb"
local live = os.getenv "RUN_LIVE" == "1" and os.getenv "E2B_API_KEY"

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- One task by the program; its result, or nil and what it said.
local function call(task, input)
  local pipe = io.popen(("EBB_LOCAL= %s call e2b.%s %s 2>&1"):format(ebb, task,
    quote(cjson.encode(input))))
  local text = pipe:read "a"
  if pipe:close() then return cjson.decode(text) end
  return nil, text
end

local function must(task, input)
  return assert(call(task, input))
end

describe("a real back end #live", function()
  if not live then
    pending "RUN_LIVE=1 and E2B_API_KEY are not both set"
    return
  end

  local id
  local key = ("ebb-live-%d-%d"):format(os.time(), math.random(1 << 30))

  setup(function()
    id = must("createSandbox", { idempotencyKey = key, timeoutMs = 120000,
      metadata = { suite = "ebb live" } }).sandboxId
  end)

  teardown(function()
    if id then must("killSandbox", { sandboxId = id }) end
  end)

  it("makes one sandbox for one key", function()
    local again = must("createSandbox", { idempotencyKey = key })
    assert.is_false(again.created)
    assert.equal(id, again.sandboxId)
    assert.equal("running", must("getSandbox", { sandboxId = id }).status)
  end)

  it("round-trips a file, text and bytes", function()
    must("writeFiles", { sandboxId = id, files = {
      { path = "/tmp/live é.txt", content = "héllo\n" },
      { path = "/tmp/live.bin", content = "AAH/gA==", encoding = "base64" } } })
    assert.equal("héllo\n", must("readFile", { sandboxId = id,
      path = "/tmp/live é.txt" }).content)
    assert.equal("AAH/gA==", must("readFile", { sandboxId = id,
      path = "/tmp/live.bin", encoding = "base64" }).content)
    assert.is_truthy(#must("listFiles", { sandboxId = id,
      path = "/tmp" }).entries >= 2)
  end)

  it("runs a command and code", function()
    local run = must("runCommand", { sandboxId = id,
      command = "echo out; echo err >&2; exit 3" })
    assert.equal(3, run.exitCode)
    assert.equal("out\n", run.stdout.text)
    assert.equal("err\n", run.stderr.text)
    assert.equal("42", must("runCode", { sandboxId = id,
      code = "6 * 7" }).textResults[1].text)
  end)

  it("ends a command at its time", function()
    local _, said = call("runCommand", { sandboxId = id,
      command = "echo early; sleep 30", timeoutMs = 1000 })
    assert.matches("1000 ms", said)
  end)

  it("reads metrics and logs", function()
    assert.is_table(must("getSandboxMetrics", { sandboxId = id }).metrics)
    assert.is_table(must("getSandboxLogs", { sandboxId = id }).logs)
  end)

  it("pauses and resumes", function()
    assert.is_true(must("pauseSandbox", { sandboxId = id }).changed)
    assert.is_true(must("resumeSandbox", { sandboxId = id }).changed)
    assert.equal("running", must("getSandbox", { sandboxId = id }).status)
  end)
end)
