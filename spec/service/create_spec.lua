-- SPDX-License-Identifier: MIT

-- POST /v2/sandboxes and /sandboxes.

local cjson = require "cjson"
local lfs = require "lfs"
local service = require "support.service"

describe("creating a sandbox", function()
  local s

  setup(function() s = service.start() end)
  teardown(function() s:stop() end)

  local function seconds_left(id)
    local _, info = s:request("GET", "/sandboxes/" .. id)
    local function parse(text)
      local h, m, sec = text:match "T(%d+):(%d+):([%d.]+)Z"
      return h * 3600 + m * 60 + sec
    end
    return (parse(info.endAt) - parse(info.startedAt)) % 86400, info
  end

  local function refuses(code, text, body, path)
    local status, answer = s:request("POST", path or "/v2/sandboxes", body)
    assert.equal(code, status)
    assert.equal(code, answer.code)
    assert.truthy(answer.message:find(text, 1, true), answer.message)
  end

  it("answers 201 with what the SDKs need", function()
    local status, box = s:request("POST", "/v2/sandboxes",
      { templateID = "base" })
    assert.equal(201, status)
    assert.truthy(box.sandboxID:match "^i[a-z0-9]+$")
    assert.equal(21, #box.sandboxID)
    assert.truthy(box.envdAccessToken:match "^%x+$")
    assert.equal(40, #box.envdAccessToken)
    assert.equal("base", box.templateID)
    assert.equal("0.6.13", box.envdVersion)
    assert.truthy(box.clientID:match "^%x+$")
    assert.equal(cjson.null, box.domain)
  end)

  it("gives 300 seconds on v2 and 15 on v1 without a timeout", function()
    local box = s:create()
    assert.near(300, (seconds_left(box.sandboxID)), 0.5)
    local status, old = s:request("POST", "/sandboxes",
      { templateID = "base" })
    assert.equal(201, status)
    assert.near(15, (seconds_left(old.sandboxID)), 0.5)
  end)

  it("gives the seconds that are asked for", function()
    local box = s:create { timeout = 62 }
    assert.near(62, (seconds_left(box.sandboxID)), 0.5)
  end)

  it("leaves a sandbox of v1 unsecured unless it is asked for", function()
    local _, open = s:request("POST", "/sandboxes", { templateID = "base" })
    assert.is_nil(open.envdAccessToken)
    local _, safe = s:request("POST", "/sandboxes",
      { templateID = "base", secure = true })
    assert.truthy(safe.envdAccessToken)
    local _, v2 = s:request("POST", "/v2/sandboxes",
      { templateID = "base", secure = false })
    assert.truthy(v2.envdAccessToken)
  end)

  it("knows the template of the code interpreter", function()
    local box = s:create { templateID = "code-interpreter-v1" }
    local _, info = s:request("GET", "/sandboxes/" .. box.sandboxID)
    assert.equal("code-interpreter-v1", info.templateID)
  end)

  it("tells everything it was told, and what holds here", function()
    local box = s:create { metadata = { a = "b", ["k y"] = "v+w%é" },
      envVars = { SECRET = "x" }, allow_internet_access = true,
      autoPause = true }
    local _, info = s:request("GET", "/sandboxes/" .. box.sandboxID)
    assert.same({ a = "b", ["k y"] = "v+w%é" }, info.metadata)
    assert.equal("running", info.state)
    assert.equal(box.envdAccessToken, info.envdAccessToken)
    assert.is_false(info.allowInternetAccess) -- the service has no network
    assert.same({ autoResume = false, onTimeout = "pause" }, info.lifecycle)
    assert.is_nil(info.envVars)
    assert.is_true(info.cpuCount >= 1)
    assert.is_true(info.memoryMB >= 1)
  end)

  it("takes what SDKs send without need", function()
    s:create { metadata = cjson.null, envVars = cjson.null, timeout = 60.0,
      autoPause = false, secure = true, allow_internet_access = true,
      network = { allowPublicTraffic = true }, unknown = { 1 },
      volumeMounts = cjson.null, mcp = cjson.null }
  end)

  it("keeps each sandbox's files in a directory of its own", function()
    local box = s:create()
    local dir = s.state .. "/sandboxes/" .. box.sandboxID
    assert.equal("directory", lfs.attributes(dir .. "/home").mode)
    assert.equal("rwx------", lfs.attributes(dir .. "/home").permissions)
    assert.equal("rw-------",
      lfs.attributes(dir .. "/sandbox.json").permissions)
    local id = io.popen "id -u":read "a"
    if id == "0\n" then
      local other = s:create()
      local uid = lfs.attributes(dir .. "/home").uid
      assert.not_equal(0, uid)
      assert.not_equal(uid, lfs.attributes(s.state .. "/sandboxes/"
        .. other.sandboxID .. "/home").uid)
    end
  end)

  it("refuses a template that it has not with 404", function()
    refuses(404, "template 'my-tpl' not found", { templateID = "my-tpl" })
    refuses(404, "not found", { templateID = "base\0x" })
  end)

  for text, body in pairs {
    ["templateID"] = {},
    ["templateID: expected"] = { templateID = 7 },
    ["Timeout must be greater than 0"] = { templateID = "base", timeout = 0 },
    ["Timeout must be greater"] = { templateID = "base", timeout = -5 },
    ["Timeout cannot be greater than 720 hours"] =
      { templateID = "base", timeout = 1e9 },
    ["timeout: expected an integer"] = { templateID = "base", timeout = 1.5 },
    ["timeout: expected an integer, got string"] =
      { templateID = "base", timeout = "60" },
    ["metadata: expected an object, got array"] =
      { templateID = "base", metadata = { 1 } },
    ["metadata.a: expected a string, got int"] =
      '{"templateID":"base","metadata":{"a":1}}',
    ["metadata.a: a NUL"] = { templateID = "base", metadata = { a = "b\0" } },
    ["envVars: 'A=B' is no name"] =
      { templateID = "base", envVars = { ["A=B"] = "x" } },
    ["envVars: '' is no name"] =
      { templateID = "base", envVars = { [""] = "x" } },
    ["secure: expected a bool, got string"] =
      { templateID = "base", secure = "yes" },
    ["allow_internet_access: expected a bool"] =
      { templateID = "base", allow_internet_access = "no" },
    ["autoPauseMemory: only with autoPause"] =
      { templateID = "base", autoPauseMemory = false },
    ["autoResume is not supported"] = { templateID = "base",
      autoPause = true, autoResume = { enabled = true } },
    ["volumeMounts is not supported"] = { templateID = "base",
      volumeMounts = { { name = "v", path = "/mnt" } } },
    ["iam is not supported"] =
      { templateID = "base", iam = { tokens = { a = 1 } } },
    ["network: denyOut is not supported"] = { templateID = "base",
      network = { denyOut = { "0.0.0.0/0" } } },
    ["network: allowPublicTraffic is not supported"] =
      { templateID = "base", network = { allowPublicTraffic = false } },
  } do
    it("refuses with 400: " .. text, function()
      refuses(400, text, body)
    end)
  end

  it("bounds metadata and environment", function()
    local many = {}
    for i = 1, 257 do many["k" .. i] = "v" end
    refuses(400, "metadata: more than 256 members",
      { templateID = "base", metadata = many })
    refuses(400, "metadata: more than 65536 bytes together",
      { templateID = "base", metadata = { a = ("x"):rep(65536) } })
    refuses(400, "envVars: more than 1048576 bytes together",
      { templateID = "base", envVars = { A = ("x"):rep(1 << 20) } })
    s:create { metadata = { a = ("x"):rep(65535) } }
  end)
end)

describe("creating a sandbox where the network is shared", function()
  local s

  setup(function() s = service.start { args = { "--network", "host" } } end)
  teardown(function() s:stop() end)

  local function network(body)
    local box = s:create(body)
    local _, info = s:request("GET", "/sandboxes/" .. box.sandboxID)
    return info.allowInternetAccess
  end

  it("gives it unless it is refused, and says so", function()
    assert.is_true(network {})
    assert.is_true(network { allow_internet_access = true })
    assert.is_false(network { allow_internet_access = false })
  end)
end)

describe("creating a sandbox that cannot start", function()
  local s, libexec

  setup(function()
    libexec = service.directory()
    local from = service.program:match "^(.*)/"
    os.execute(("cp -r %s/. %s"):format(from, libexec))
    s = service.start { env = { EBB_LIBEXEC = libexec } }
    s:create()
    os.execute(("rm -f %s/ebb-agent"):format(libexec))
  end)
  teardown(function()
    s:stop()
    os.execute("rm -rf " .. libexec)
  end)

  local function create()
    return s:request("POST", "/v2/sandboxes", { templateID = "base" },
      { headers = { ["Idempotency-Key"] = "k" } })
  end

  it("is 500 with the reason, and leaves nothing", function()
    local status, body = create()
    assert.equal(500, status)
    assert.equal(500, body.code)
    assert.truthy(body.message:find("ebb-agent", 1, true), body.message)
    local names = {}
    for name in lfs.dir(s.state .. "/sandboxes") do
      if name:match "^i" then names[#names + 1] = name end
    end
    assert.equal(1, #names)
  end)

  it("does not spend its idempotency key", function()
    assert.equal(500, (create()))
    os.execute(("cp %s/ebb-agent %s/"):format(
      service.program:match "^(.*)/", libexec))
    assert.equal(201, (create()))
  end)
end)

describe("creating too many sandboxes", function()
  it("is 429 when every uid is in use, and frees them", function()
    if io.popen "id -u":read "a" ~= "0\n" then
      pending "only a root service has uids to give"
      return
    end
    local s = service.start { args = { "--uid-range", "300000:2" } }
    local first = s:create()
    s:create()
    local status, body = s:request("POST", "/v2/sandboxes",
      { templateID = "base" })
    assert.equal(429, status)
    assert.equal(429, body.code)
    assert.truthy(body.message:find("all 2 uids", 1, true), body.message)
    assert.equal(204,
      (s:request("DELETE", "/sandboxes/" .. first.sandboxID)))
    s:create()
    s:stop()
  end)
end)
