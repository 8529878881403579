-- SPDX-License-Identifier: MIT
-- Every code of base/err.h: how it comes about, and that the error object, the
-- exit status and the message are what the table says. A new code without a
-- row here fails. Each is provoked with a canary as API key, as access token
-- and as value of envs; none may come out (D06).

local client = require "support.client"
local scripted = require "support.scripted"

local KEY = "e2b_ca11a12e" .. ("a5"):rep(16)
local TOKEN, TRAFFIC = "tok-ca11a12e-5ec2e7", "tra-ca11a12e-5ec2e7"
local ENV = "env value ca11a12e\nof two lines"
local CANARIES = { "ca11a12e", TOKEN, TRAFFIC, "of two lines" }
local SAID = ("%s %s %s %s"):format(KEY, TOKEN, TRAFFIC, ENV)

local COMMAND, GET = "POST /process.Process/Start", "GET /sandboxes/ibox"
local GONE = { code = 502, message = "The sandbox was not found" }
local CONNECT = { on = "POST */connect", body = {
  sandboxID = "ibox", envdAccessToken = TOKEN, trafficAccessToken = TRAFFIC,
} }

after_each(scripted.stop_all)

local function command(more)
  local input = { sandboxId = "ibox", command = "true", envs = { A = ENV } }
  for name, value in pairs(more or {}) do input[name] = value end
  return "e2b.runCommand", input
end

local function get() return "e2b.getSandbox", { sandboxId = "ibox" } end
local function read(path)
  return function()
    return "e2b.readFile", { sandboxId = "ibox", path = path }
  end
end

-- A call is told no more than it has sent: here the key alone.
local function status_row(status)
  return { { on = GET, status = status,
    body = { code = status, message = "no " .. KEY } }, call = get,
    status = status }
end

local reached = {
  invalid_input = { call = function() return command { tiemoutMs = ENV } end },
  missing_credentials = { call = get, env = { E2B_API_KEY = "" } },
  unauthorized = status_row(401),
  forbidden = status_row(403),
  not_found = status_row(404),
  file_not_found = { call = read "/tmp/none" },
  sandbox_not_running = { { on = COMMAND, status = 502, body = GONE,
    executes = false }, call = command, status = 502 },
  conflict = status_row(409),
  rate_limited = status_row(429),
  timeout = { { on = GET, act = "hold" }, call = get,
    limits = "unary=100" },
  network = { { on = GET, act = "close" }, call = get },
  protocol = { { on = GET, status = 200, body = KEY }, call = get },
  server = status_row(500),
  limit_exceeded = status_row(413),
  not_utf8 = { { on = "GET /files", status = 200, body = "\xff" },
    call = read "/tmp/a.txt" },
  outcome_unknown = { { on = COMMAND, status = 500,
    body = { code = 500, message = SAID } }, call = command },
  unsupported = { call = read "/proc/self/environ" },
  no_service = { call = get, env = { EBB_LOCAL = "1",
    EBB_STATE = "/proc/none" } },
}

-- By other programs than `ebb call`, or by nothing a server can do.
local elsewhere = {
  cancelled = "spec/lua/run_spec.lua: Ctrl-C",
  no_memory = "spec/c/test_oom.c",
  script = "below, by `ebb run`",
  replay_mismatch = "durable runs: spec of workflow",
  lost_ownership = "spec/c/test_journal.c: a stale owner",
  owned = "spec/c/test_journal.c: a living owner",
  stuck = "durable runs: spec of workflow",
  journal = "spec/c/test_journal.c",
}

-- name → { retryable, exit status }, from the X-macro itself.
local function codes()
  local all = {}
  local text = assert(client.read_file "runtime/base/err.h")
  for name, retryable, exit in text:gmatch
    'X%(EBB_[%w_]+, "([%w_]+)", (%a+), (%d+)%)' do
    all[name] = { retryable = retryable == "true", exit = tonumber(exit) }
  end
  return all
end

local function assert_no_canary(answer, code)
  for _, canary in ipairs(CANARIES) do
    assert.falsy(answer.errors:find(canary, 1, true),
      code .. ": " .. answer.errors)
    assert.falsy(answer.text:find(canary, 1, true), code)
  end
end

local function provoke(row)
  local rules = { CONNECT }
  for _, rule in ipairs(row) do rules[#rules + 1] = rule end
  local env = { E2B_API_KEY = KEY }
  for name, value in pairs(row.env or {}) do env[name] = value end
  local task, input = row.call()
  local s = scripted.start(rules)
  return s:call(task, input, { env = env, limits = row.limits }), task
end

describe("the code", function()
  for code, facts in pairs(codes()) do
    if reached[code] then
      it(code .. " has its place in the table, and no secret (D06)", function()
        local row = reached[code]
        local answer, task = provoke(row)
        local err = answer.error
        assert.equal(code, err and err.code, answer.errors)
        assert.equal(facts.exit, answer.status)
        assert.equal(facts.retryable, err.retryable)
        assert.equal(task, err.task)
        assert.equal("ibox", err.sandboxId)
        if row.status then assert.equal(row.status, err.status) end
        assert.equal("number", type(err.attempts))
        assert.truthy(#err.message > 10 and not err.message:find "%c")
        assert_no_canary(answer, code)
      end)
    else
      it(code .. " is reached elsewhere", function()
        assert.truthy(elsewhere[code], code)
      end)
    end
  end

  it("of every row exists", function()
    local all = codes()
    for code in pairs(reached) do assert.truthy(all[code], code) end
    for code in pairs(elsewhere) do assert.truthy(all[code], code) end
  end)
end)

describe("an error", function()
  it("of a script names its code and keeps the secret of a call (D06)",
    function()
      local s = scripted.start { CONNECT, { on = COMMAND, status = 500,
        body = { code = 500, message = SAID } } }
      local answer = s:run(([[
        local e2b = require "e2b"
        e2b.runCommand { sandboxId = "ibox", command = "x",
          envs = { A = %q } }]]):format(ENV), { env = { E2B_API_KEY = KEY } })
      assert.truthy(answer.errors:find("outcome_unknown", 1, true),
        answer.errors)
      assert_no_canary(answer, "script")
      answer = s:run("error 'boom'")
      assert.equal(1, answer.status)
      assert.equal("script", answer.error and answer.error.code, answer.errors)
    end)

  it("holds the output of the command so far, and its hint", function()
    local s = scripted.start { CONNECT, { on = COMMAND,
      events = { { start = 7 }, { out = "one " }, { err = "two" } },
      drop = "end" } }
    local err = s:call(command()).error
    assert.equal("outcome_unknown", err.code)
    assert.equal("one ", err.details.stdout.text)
    assert.equal("two", err.details.stderr.text)
    assert.equal(1, err.attempts)
  end)
end)
