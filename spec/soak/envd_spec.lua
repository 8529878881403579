-- SPDX-License-Identifier: MIT

-- What takes too long for every run: more damaged requests than
-- spec/service/envd_spec.lua sends, and a directory past its bound.
-- EBB_SEED changes the damage; it is printed when something fails.

local cjson = require "cjson"
local service = require "support.service"

local SEED = tonumber(os.getenv "EBB_SEED") or 1
local REQUESTS = 20000

describe("envd, for longer", function()
  local server, box, address

  setup(function()
    server = service.start { args = { "--api-key", "e2b_00" }, tcp = true }
    address = server.url:gsub("^http://", "")
    local _, made = server:request("POST", "/sandboxes",
      { templateID = "base", timeout = 3600, secure = false })
    box = made
  end)
  teardown(function() server:stop() end)

  local function python(command)
    local pipe = io.popen("timeout 900 /usr/bin/python3 spec/support/"
      .. command)
    local text = pipe:read "a"
    pipe:close()
    return cjson.decode(text)
  end

  it("survives many damaged requests", function()
    local saw = python(("envd_fuzz.py %s %s %d %d"):format(address,
      box.sandboxID, REQUESTS, SEED))
    assert.is_true(saw.works, "seed " .. SEED)
    assert.is_true(saw.answered > REQUESTS // 2, "seed " .. SEED)
    assert.is_nil(server:status(), server:errors())
  end)

  it("refuses a listing of more than 100,000 entries", function()
    local saw = python(("envd_peer.py %s %s '' %d crowd"):format(address,
      box.sandboxID, server.pid))
    assert.same({ 429, "resource_exhausted" }, { saw.status, saw.code })
    assert.is_true(saw.grown < 8 << 20, saw.grown)
  end)
end)
