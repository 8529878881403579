-- SPDX-License-Identifier: MIT
-- A self-hosted server without /v2 routes: its 404 switches this address to v1
-- for the rest of the process, with what v1 needs said outright.

local cjson = require "cjson"

local scripted = require "support.scripted"

after_each(scripted.stop_all)

describe("a server without /v2 routes", function()
  it("does the whole of a script's work by v1", function()
    local s = scripted.start(nil, { v1 = true })
    local answer = s:run [[
      local e2b = require "e2b"
      local box = e2b.createSandbox { idempotencyKey = "k" }
      local id = box.sandboxId
      local again = e2b.createSandbox { idempotencyKey = "k" }
      local run = e2b.runCommand { sandboxId = id, command = "true" }
      e2b.pauseSandbox { sandboxId = id }
      local woken = e2b.resumeSandbox { sandboxId = id }
      local gone = e2b.killSandbox { sandboxId = id }
      return { box.created, again.created, run.exitCode, woken.changed,
        gone.changed }
    ]]
    assert.equal("", answer.errors)
    assert.same({ true, false, 0, true, true }, answer.out)
    local made = s:requests "POST /sandboxes"
    assert.equal(1, #made)
    local body = cjson.decode(made[1].body)
    assert.equal(300, body.timeout)
    assert.is_true(body.secure)
    local asked = cjson.decode(s:requests "POST /sandboxes/.*/connect"[1].body)
    assert.is_true(asked.timeout >= 300)
    -- One try of each /v2 route at most; the list has its own, since a server
    -- may have one and not the other.
    assert.equal(1, #s:requests "POST /v2/sandboxes")
    assert.equal(1, #s:requests "GET /v2/sandboxes")
    assert.equal(0, #s:requests "POST /v2/sandboxes/.*")
  end)

  it("runs a command once, by the v1 connect", function()
    local s = scripted.start(nil, { v1 = true })
    local answer = s:call("e2b.runCommand",
      { sandboxId = "ibox", command = "true" })
    assert.equal(0, answer.status, answer.errors)
    assert.equal(1, s:executions())
  end)

  it("says not_found of a sandbox that it does not know", function()
    local s = scripted.start(nil, { v1 = true })
    local answer = s:call("e2b.runCommand",
      { sandboxId = "inone", command = "true" })
    assert.equal("not_found", answer.error and answer.error.code,
      answer.errors)
    assert.equal(0, s:executions())
  end)
end)

describe("a server with /v2 routes", function()
  it("is not taken for an old one by an unknown sandbox or template",
    function()
      local s = scripted.start { { on = "POST /v2/sandboxes", status = 404,
        executes = false, body = { code = 404,
          message = "template 'none' not found" } } }
      local answer = s:call("e2b.createSandbox",
        { idempotencyKey = "k", template = "none" })
      assert.equal("not_found", answer.error and answer.error.code,
        answer.errors)
      s:call("e2b.runCommand", { sandboxId = "inone", command = "true" })
      assert.equal(0, #s:requests "POST /sandboxes")
      assert.equal(0, #s:requests "POST /sandboxes/.*")
    end)
end)
