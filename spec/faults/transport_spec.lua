-- SPDX-License-Identifier: MIT
-- TLS, the version of HTTP, and proxies.

local scripted = require "support.scripted"

local BOX = { sandboxId = "ibox" }
local certificate

-- A certificate for 127.0.0.1 that nobody has signed, with its key.
setup(function()
  certificate = os.tmpname()
  assert(os.execute(("openssl req -x509 -newkey ec -pkeyopt "
    .. "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ebb "
    .. "-addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.crt "
    .. "2>/dev/null && cat %s.key %s.crt >%s"):format(certificate,
    certificate, certificate, certificate, certificate)))
end)

teardown(function()
  os.execute(("rm -f %s %s.key %s.crt"):format(certificate, certificate,
    certificate))
end)

after_each(scripted.stop_all)

local function start(rules)
  return scripted.start(rules, { certificate = certificate })
end

local function trusted(more)
  local env = { SSL_CERT_FILE = certificate .. ".crt" }
  for name, value in pairs(more or {}) do env[name] = value end
  return { env = env }
end

local command = { sandboxId = "ibox", command = "true" }

describe("TLS", function()
  it("speaks HTTP/1.1 to a server that prefers HTTP/2 (C14)", function()
    local s = start()
    local answer = s:call("e2b.runCommand", command, trusted())
    assert.equal(0, answer.status, answer.errors)
    assert.equal("http/1.1", s:log()[1].alpn)
    assert.equal(1, s:executions())
  end)

  it("refuses a certificate that nobody trusts, and sends nothing",
    function()
      local s = start()
      local answer = s:call("e2b.runCommand", command)
      assert.equal("network", answer.error and answer.error.code,
        answer.errors)
      assert.truthy(answer.error.message:lower():find "certificate")
      assert.equal(0, #s:requests())
    end)

  for what, rule in pairs {
    ["one execution, unknown: reads all and closes"] = { act = "close" },
    ["one execution, unknown: reads all and resets"] = { act = "reset" },
    ["one execution, unknown: answers half"] = { cut = 20 },
  } do
    it(("sends once: %s (A01)"):format(what), function()
      rule.on = "POST /process.Process/Start"
      local s = start { rule }
      local answer = s:call("e2b.runCommand", command, trusted())
      assert.equal("outcome_unknown", answer.error and answer.error.code,
        answer.errors)
      assert.equal(1, s:executions())
      assert.equal(1, #s:requests(rule.on))
    end)
  end

  it("sends once: success when the idle connection was closed (A01)",
    function()
      local s = start { { on = "POST /process.Process/Start", times = 1,
        after = "close" } }
      local answer = s:run([[
        local e2b = require "e2b"
        local input = { sandboxId = "ibox", command = "true" }
        e2b.runCommand(input)
        require("ebb").sleep(0.05)
        e2b.runCommand(input)
      ]], trusted())
      assert.equal("", answer.errors)
      assert.equal(2, s:executions())
    end)
end)

describe("an address", function()
  it("that is IPv6 alone is reached, past a proxy too (C17)", function()
    local s = scripted.start(nil, { address = "::1" })
    local answer = s:call("e2b.runCommand", command,
      { env = { http_proxy = "http://127.0.0.1:9" } })
    assert.equal(0, answer.status, answer.errors)
  end)

  it("is the next one when the first is dead (C17)", function()
    local s = scripted.start() -- localhost is ::1, too
    s.url = s.url:gsub("127.0.0.1", "localhost")
    local answer = s:call("e2b.runCommand", command)
    assert.equal(0, answer.status, answer.errors)
    assert.equal(1, s:executions())
  end)
end)

describe("a host of the library (C15)", function()
  for what, open in pairs { ["plain"] = scripted.start, ["TLS"] = start } do
    it(("outlives a peer that goes in the middle of an upload, without "
      .. "ignoring SIGPIPE: %s"):format(what), function()
        for _, act in ipairs { "close", "reset" } do
          local s = open { { on = "POST /files", read = 100000, act = act } }
          local input = { sandboxId = "ibox", maxTotalBytes = 2097152,
            files = { { path = "/tmp/x", content = ("x"):rep(100000) },
              { path = "/tmp/y", content = ("y"):rep(5000) } } }
          local answer = s:host(1, "e2b.writeFiles", input, trusted())
          assert.equal(0, answer.status, answer.errors)
          assert.same({ "outcome_unknown" }, answer.out.results)
          assert.is_true(answer.out.signals)
        end
      end)
  end

  it("has 32 threads with a runtime each", function()
    local s = start()
    local answer = s:host(32, "e2b.runCommand", command, trusted())
    assert.equal(0, answer.status, answer.errors)
    assert.equal(32, #answer.out.results)
    for _, result in ipairs(answer.out.results) do
      assert.equal("ok", result)
    end
    assert.equal(32, s:executions())
    assert.is_true(answer.out.signals)
    -- libuv has one pipe for the whole process, for good.
    assert.is_true(answer.out.descriptors <= 2, answer.out.descriptors)
  end)
end)

describe("a proxy in the environment", function()
  local function proxy(rules)
    return scripted.start(rules)
  end

  it("is not used for loopback (C17)", function()
    local s, p = scripted.start(), proxy()
    local answer = s:call("e2b.getSandbox", BOX, { env = {
      http_proxy = p.url, HTTPS_PROXY = p.url, ALL_PROXY = p.url } })
    assert.equal(0, answer.status, answer.errors)
    assert.equal(0, #p:log())
  end)

  for _, status in ipairs { 407, 403 } do
    it(("that answers CONNECT with %d is named, nothing is sent (C17)")
      :format(status), function()
        local p = proxy { { on = "CONNECT *", status = status,
          after = "close" } }
        local c = scripted.client "https://api.nowhere.example"
        local answer = c:call("e2b.getSandbox", BOX, { env = {
          HTTPS_PROXY = p.url, NO_PROXY = "elsewhere.example" } })
        assert.equal("network", answer.error and answer.error.code,
          answer.errors)
        assert.truthy(answer.error.message:find(tostring(status), 1, true),
          answer.errors)
        for _, request in ipairs(p:requests()) do
          assert.equal("CONNECT", request.method)
          assert.is_nil(request.headers["x-api-key"])
        end
      end)
  end

  it("is left out for what NO_PROXY names (C17)", function()
    local p = proxy()
    local c = scripted.client "http://api.nowhere.invalid"
    for _, form in ipairs { "nowhere.invalid", ".invalid", "*",
        "a.example,api.nowhere.invalid" } do
      local answer = c:call("e2b.getSandbox", BOX, { env = {
        http_proxy = p.url, NO_PROXY = form } })
      assert.equal("network", answer.error and answer.error.code,
        answer.errors)
      assert.equal(0, #p:log(), form)
    end
  end)

  -- The names have no address: the proxy sees which ones were asked for.
  local function asked_for(domain, task, input)
    local s = scripted.start { { on = "POST */connect", body = {
      sandboxID = "ibox", templateID = "base", envdVersion = "0.6.13",
      envdAccessToken = "t", domain = domain } } }
    local p = proxy { { on = "CONNECT *", status = 502, after = "close" } }
    local answer = s:call(task, input, { env = { E2B_SANDBOX_URL = "",
      HTTPS_PROXY = p.url, https_proxy = p.url } })
    assert.equal("network", answer.error and answer.error.code,
      answer.errors)
    return p:requests()[1].path
  end

  it("is asked for the name that a sandbox's domain gives it (C17)",
    function()
      local code = { sandboxId = "ibox", code = "1" }
      assert.equal("49983-ibox.my.example:443",
        asked_for("my.example", "e2b.runCommand", command))
      assert.equal("49999-ibox.my.example:443",
        asked_for("my.example", "e2b.runCode", code))
      assert.equal("sandbox.e2b.app:443",
        asked_for("e2b.app", "e2b.runCommand", command))
      assert.equal("sandbox.e2b.app:443",
        asked_for("e2b.app", "e2b.runCode", code))
    end)
end)
