-- SPDX-License-Identifier: MIT

-- How a request of the data plane finds its sandbox.

local cjson = require "cjson"
local service = require "support.service"

describe("the data plane", function()
  local s, box

  setup(function()
    s = service.start { args = { "--listen", "127.0.0.1:0" } }
    box = s:create()
  end)
  teardown(function() s:stop() end)

  local function ask(path, headers)
    return s:request("GET", path, nil,
      { headers = headers, tcp = true, key = false })
  end

  local function with(id, port)
    return { ["E2b-Sandbox-Id"] = id, ["E2b-Sandbox-Port"] = port }
  end

  it("finds envd by the two headers, without an API key", function()
    assert.equal(204, (ask("/health", with(box.sandboxID, 49983))))
  end)

  it("finds envd by the host", function()
    for _, domain in ipairs { "e2b.app", "localhost:3000" } do
      assert.equal(204, (ask("/health", { Host = "49983-" .. box.sandboxID
        .. "." .. domain })))
    end
  end)

  it("finds envd as SDKs before 2.0 name it, by id and client (D05)",
    function()
      local host = "49983-" .. box.sandboxID .. "-" .. box.clientID
      assert.equal(204, (ask("/health", { Host = host .. ".e2b.app" })))
      for _, wrong in ipairs { host .. "-x.e2b.app", host } do
        assert.not_equal(204, (ask("/health", { Host = wrong })))
      end
    end)

  it("finds the sandbox by its token alone, as some SDKs ask (D05)",
    function()
      local other = s:create()
      local function by(token, path, body)
        return s:request(body and "POST" or "GET", path, body, { tcp = true,
          key = false, headers = { ["X-Access-Token"] = token,
            ["Content-Type"] = "application/octet-stream" } })
      end
      assert.equal(204, (by(box.envdAccessToken, "/health")))
      assert.equal(200, (by(box.envdAccessToken, "/files?path=mine", "x")))
      assert.equal(404, (by(other.envdAccessToken, "/files?path=mine")))
      assert.equal(200, (s:request("POST", "/process.Process/List", {},
        { tcp = true, key = false,
          headers = { ["X-Access-Token"] = box.envdAccessToken } })))
      assert.equal(200, (by(box.envdAccessToken, "/contexts")))
      local status, words = by("none", "/files?path=mine")
      assert.same({ 400, "missing header" }, { status, words })
      s:request("DELETE", "/sandboxes/" .. other.sandboxID, nil,
        { tcp = true })
      assert.equal(502, (by(other.envdAccessToken, "/health")))
    end)

  it("leaves the control plane to itself, whatever headers name (D05)",
    function()
      local headers = with(box.sandboxID, 49983)
      local path = "/sandboxes/" .. box.sandboxID
      assert.equal(401, (ask(path, headers)))
      headers["X-API-Key"] = s.key
      assert.equal(200, (ask(path, headers)))
      assert.equal(200, (ask("/v2/sandboxes", headers)))
      headers["E2b-Sandbox-Port"] = 3000
      assert.equal(502, (ask(path, headers)))
    end)

  it("tells the control plane's health from envd's", function()
    assert.equal(200, (ask "/health"))
  end)

  it("is 502 for a sandbox that is not there", function()
    local expected = { sandboxId = "iunknown", code = 502,
      message = "The sandbox was not found" }
    local status, body = ask("/health", with("iunknown", 49983))
    assert.equal(502, status)
    assert.same(expected, body)
    status, body = ask("/execute", { Host = "49999-iunknown.e2b.app" })
    assert.equal(502, status)
    assert.same(expected, body)
  end)

  it("is 502 for a port that nobody listens at", function()
    local status, body = ask("/", with(box.sandboxID, 3000))
    assert.equal(502, status)
    assert.same({ sandboxId = box.sandboxID, port = 3000, code = 502,
      message = "The sandbox is running but port is not open" }, body)
  end)

  it("is 400 for one header alone, and for nonsense", function()
    local function expect(text, headers, path)
      local status, body = ask(path or "/health", headers)
      assert.equal(400, status)
      assert.equal(text, body)
    end
    expect("missing header", { ["E2b-Sandbox-Id"] = box.sandboxID })
    expect("missing header", { ["E2b-Sandbox-Port"] = 49983 })
    expect("missing header", {}, "/process.Process/List")
    expect("missing header", {}, "/execute")
    expect("missing header", {}, "/files?path=/x")
    expect("Invalid sandbox ID", with("UPPER", 49983))
    expect("Invalid sandbox ID", with("-x", 49983))
    expect("Invalid sandbox ID", with(("a"):rep(200), 49983))
    expect("Invalid sandbox port", with(box.sandboxID, "x"))
    expect("Invalid sandbox port", with(box.sandboxID, 0))
    expect("Invalid sandbox port", with(box.sandboxID, 65536))
    expect("Invalid sandbox port", with(box.sandboxID, "49983x"))
  end)

  it("keeps envd's own routes to itself", function()
    for _, path in ipairs { "/init", "/freeze", "/unfreeze", "/upgrade" } do
      local status, body = ask(path, with(box.sandboxID, 49983))
      assert.equal(404, status)
      assert.equal(404, body.code)
      assert.equal(path, body.path)
      assert.equal("string", type(body.message))
    end
  end)

  it("is 401 for a signature that no sandbox's token makes", function()
    local status, body = ask "/files?path=/x&signature=v1_x"
    assert.equal(401, status)
    assert.equal("invalid signature", body.message)
  end)

  it("finds the sandbox of a signed URL", function()
    local pipe = io.popen(("printf %%s '/tmp/x y.txt:write::%s' | openssl dgst"
      .. " -sha256 -binary | base64 | tr -d =\n"):format(box.envdAccessToken))
    local digest = pipe:read "l"
    pipe:close()
    s:create()
    local status, body = s:request("POST",
      "/files?path=%2Ftmp%2Fx%20y.txt&signature=v1_"
      .. digest:gsub("[+/]", { ["+"] = "%2B", ["/"] = "%2F" }), "content", {
        tcp = true, key = false,
        headers = { ["Content-Type"] = "application/octet-stream" } })
    assert.equal(200, status)
    assert.equal("/tmp/x y.txt", cjson.decode(body)[1].path)
  end)
end)
