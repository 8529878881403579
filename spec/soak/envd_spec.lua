-- SPDX-License-Identifier: MIT

-- What takes too long for every run: more damaged requests than
-- spec/service/envd_spec.lua sends, and a directory past its bound.
-- EBB_SEED changes the damage; it is printed when something fails.

local cjson = require "cjson"
local service = require "support.service"

local SEED = tonumber(os.getenv "EBB_SEED") or 1
local REQUESTS, ROUNDS = 20000, 200

describe("envd, for longer", function()
  local server, address

  setup(function()
    server = service.start { args = { "--api-key", "e2b_00" }, tcp = true }
    address = server.url:gsub("^http://", "")
  end)
  teardown(function() server:stop() end)

  -- Damaged commands stay behind, so each test has a sandbox of its own.
  local function create()
    local _, box = server:request("POST", "/sandboxes",
      { templateID = "base", timeout = 3600, secure = false })
    return box.sandboxID
  end

  local function python(command)
    local pipe = io.popen("timeout 900 /usr/bin/python3 spec/support/"
      .. command)
    local text = pipe:read "a"
    pipe:close()
    return cjson.decode(text)
  end

  it("survives many damaged requests", function()
    local saw = python(("envd_fuzz.py %s %s %d %d"):format(address,
      create(), REQUESTS, SEED))
    assert.is_true(saw.works, "seed " .. SEED)
    assert.is_true(saw.answered > REQUESTS // 2, "seed " .. SEED)
    assert.is_nil(server:status(), server:errors())
  end)

  it("lets many sandboxes be killed in the middle of everything", function()
    local saw = python(("envd_kill.py %s %s %d %d"):format(address,
      server.key, ROUNDS, SEED))
    assert.equal(ROUNDS, saw.killed, "seed " .. SEED)
    assert.is_nil(server:status(), server:errors())
  end)

  it("refuses a listing of more than 250,000 entries", function()
    local saw = python(("envd_peer.py %s %s '' %d crowd"):format(address,
      create(), server.pid))
    assert.equal("250001", saw.there)
    assert.same({ 429, "resource_exhausted" }, { saw.status, saw.code })
    assert.is_true(saw.grown < 16 << 20, saw.grown)
  end)
end)
