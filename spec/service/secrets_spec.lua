-- SPDX-License-Identifier: MIT
-- Where keys, tokens and values of envs must not be: in the service's log
-- lines, in its files other than sandbox.json, on any command line (D06).

local service = require "support.service"

local KEY = "e2b_" .. ("ca11a12e"):rep(5)
local ENV = { "env-ca11a12e-one", "env-ca11a12e-two", "env-ca11a12e-three" }

local s, box, canaries

local function sh(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  pipe:close()
  return text
end

-- The calls that are given secrets, and calls that fail with them.
local function use()
  s:data(box, "POST", "/execute", { code = "import os\nos.environ['B']\n1/0",
    env_vars = { B = ENV[2] } }, { port = 49999 })
  s:data(box, "POST", "/execute", { code = "1", env_vars = { B = ENV[2] },
    language = "cobol" }, { port = 49999 })
  s:data(box, "POST", "/process.Process/Start",
    { process = { cmd = "/bin/none", envs = { C = ENV[3] } } })
  s:data(box, "GET", "/files?path=/none", nil,
    { headers = { ["X-Access-Token"] = canaries[2] .. "x" } })
  s:request("GET", "/sandboxes", nil, { key = KEY .. "x" })
  s:request("GET", "/sandboxes/" .. KEY)
  s:request("POST", "/v2/sandboxes", { templateID = "none",
    envVars = { A = ENV[1] } })
  s:request("POST", "/v2/sandboxes", { templateID = "base",
    envVars = { A = { ENV[1] } } })
end

setup(function()
  s = service.start { tcp = true, args = { "--listen", "127.0.0.1:0",
    "--api-key", KEY } }
  box = s:create { templateID = "base", envVars = { A = ENV[1] },
    secure = true }
  canaries = { KEY, box.envdAccessToken, table.unpack(ENV) }
  use()
end)
teardown(function() s:stop() end)

local function assert_absent(text, where)
  for _, canary in ipairs(canaries) do
    assert.falsy(text:find(canary, 1, true), where .. " holds " .. canary)
  end
end

describe("a secret", function()
  it("has a value to look for", function()
    assert.truthy(box.envdAccessToken and #box.envdAccessToken > 15)
    local kept = sh(("cat %s/*/*/sandbox.json %s/*/sandbox.json 2>/dev/null")
      :format(s.state, s.state))
    assert.truthy(kept:find(ENV[1], 1, true))
    assert.truthy(kept:find(box.envdAccessToken, 1, true))
  end)

  it("is in no line of the service's log (D06)", function()
    assert_absent(s:errors(), "the log")
  end)

  it("is in no file but sandbox.json, which is 0600 (D06)", function()
    assert_absent(sh(("find %s -type f ! -name sandbox.json -print0 "
      .. "| xargs -0 cat /dev/null"):format(s.state)), "a file of the state")
    assert.equal("", sh(("find %s -name sandbox.json ! -perm 600")
      :format(s.state)))
  end)

  it("is on no command line of the host (D06)", function()
    local pids = table.concat(s:processes(), " ") .. " " .. s.pid
    local lines = sh(("for p in %s; do cat /proc/$p/cmdline; echo; done "
      .. "2>/dev/null"):format(pids))
    assert.truthy(lines:find("--api-key", 1, true))
    assert_absent(lines, "a command line")
  end)
end)
