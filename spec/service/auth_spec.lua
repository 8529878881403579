-- SPDX-License-Identifier: MIT

-- Who may speak to the service.

local service = require "support.service"

describe("access to the service", function()
  local s
  local key = "e2b_" .. ("0123456789abcdef"):rep(2) .. "01234567"

  setup(function()
    s = service.start { args = { "--listen", "127.0.0.1:0",
      "--api-key", key, "--api-key", "second-key" } }
  end)
  teardown(function() s:stop() end)

  local function ask(options)
    options.tcp = true
    return s:request("GET", "/sandboxes", nil, options)
  end

  it("takes each of its keys", function()
    assert.equal(key, s.key)
    assert.equal(200, (ask { key = key }))
    assert.equal(200, (ask { key = "second-key" }))
  end)

  it("answers 401 without a key", function()
    local status, body = ask { key = false }
    assert.equal(401, status)
    assert.same({ code = 401, message = "authorization header is missing" },
      body)
  end)

  it("answers 401 to a key without E2B's prefix", function()
    local status, body = ask { key = "wrong" }
    assert.equal(401, status)
    assert.equal("authorization header is malformed", body.message)
  end)

  it("answers 401 to a key of the right form that it does not know",
    function()
      local status, body = ask { key = "e2b_" .. ("f"):rep(40) }
      assert.equal(401, status)
      assert.truthy(body.message:match "^Invalid API key")
    end)

  it("does not take a part of a key", function()
    assert.equal(401, (ask { key = key:sub(1, -2) }))
    assert.equal(401, (ask { key = key .. "0" }))
  end)

  it("asks for a key before it says whether a route exists", function()
    assert.equal(401, (s:request("GET", "/nothing", nil,
      { tcp = true, key = false })))
    assert.equal(401, (s:request("POST", "/v2/sandboxes", "{",
      { tcp = true, key = false })))
  end)

  it("answers the health check without a key", function()
    local status, body = s:request("GET", "/health", nil,
      { tcp = true, key = false })
    assert.equal(200, status)
    assert.equal("Health check successful", body)
  end)

  it("needs no key on the Unix socket", function()
    assert.equal(200, (s:request("GET", "/sandboxes")))
  end)

  it("serves its own uid alone on the Unix socket", function()
    local id = io.popen "id -u":read "a"
    if id ~= "0\n" then
      pending "only root can ask as another uid"
      return
    end
    os.execute(("chmod 711 %s; chmod 666 %s"):format(s.dir, s.socket))
    local pipe = io.popen(("setpriv --reuid 12345 --clear-groups curl -s"
      .. " -w '%%{http_code}' --unix-socket %s http://localhost/health")
      :format(s.socket))
    local text = pipe:read "a"
    pipe:close()
    assert.truthy(text:find("this socket serves uid 0 only", 1, true), text)
    assert.truthy(text:match "403$")
  end)
end)
