-- SPDX-License-Identifier: MIT

-- What is not there, and what is not well formed.

local service = require "support.service"

describe("a request that is not served", function()
  local s

  setup(function() s = service.start() end)
  teardown(function() s:stop() end)

  local function expect(code, text, method, path, body, options)
    local status, answer = s:request(method, path, body, options)
    assert.equal(code, status)
    assert.equal("table", type(answer), answer)
    assert.equal(code, answer.code)
    assert.truthy(answer.message:find(text, 1, true), answer.message)
  end

  it("is 404 with a hint for an unknown route (D05)", function()
    expect(404, "docs/protocols.md", "GET", "/v3/of/next/year")
    expect(404, "E2b-Sandbox-Id", "GET", "/api/contents")
    expect(404, "no such route: GET /nothing", "GET", "/nothing")
    expect(404, "no such route", "GET", "/")
    expect(404, "no such route", "GET", "/v2")
    expect(404, "no such route", "GET", "/sandboxes/")
    expect(404, "no such route", "GET", "/sandboxes//pause")
    expect(404, "no such route", "POST", "/v3/sandboxes")
    expect(404, "no such route", "GET", "/" .. ("x"):rep(2000))
  end)

  it("is 405 for a method that the route has not", function()
    expect(405, "PATCH", "PATCH", "/sandboxes")
    expect(405, "DELETE", "DELETE", "/v2/sandboxes")
  end)

  it("is 404 for a sandbox that does not exist", function()
    local text = [[Sandbox "iabc" doesn't exist or you don't have access]]
    expect(404, text, "GET", "/sandboxes/iabc")
    expect(404, text, "DELETE", "/sandboxes/iabc")
    expect(404, text, "POST", "/sandboxes/iabc/pause", {})
    expect(404, text, "POST", "/v2/sandboxes/iabc/connect", {})
    expect(404, text, "POST", "/sandboxes/iabc/connect", { timeout = 1 })
    expect(404, text, "POST", "/sandboxes/iabc/resume", {})
    expect(404, text, "POST", "/sandboxes/iabc/timeout", { timeout = 1 })
    expect(404, text, "POST", "/sandboxes/iabc/refreshes", {})
    expect(404, text, "GET", "/sandboxes/iabc/metrics")
    expect(404, text, "GET", "/v2/sandboxes/iabc/logs")
    expect(404, text, "GET", "/sandboxes/iabc/logs")
  end)

  it("cuts an id at its dash and refuses what is none", function()
    expect(404, [["iabc"]], "GET", "/sandboxes/iabc-6562625f")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/iabc-1-2")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/IABC")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/i_c")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/i%2Fc")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/-abc")
    expect(400, "Invalid sandbox ID", "GET", "/sandboxes/"
      .. ("a"):rep(200))
  end)

  it("is 501 for what E2B has and this service has not", function()
    expect(501, "not supported", "GET", "/templates")
    expect(501, "not supported", "POST", "/v2/templates")
    expect(501, "not supported", "GET", "/templates/aliases/x")
    expect(501, "not supported", "GET", "/snapshots")
    expect(501, "not supported", "POST", "/sandboxes/iabc/fork", {})
    expect(501, "not supported", "POST", "/sandboxes/iabc/snapshots", {})
    expect(501, "not supported", "PUT", "/sandboxes/iabc/network", {})
    expect(501, "not supported", "GET", "/volumes")
  end)

  it("is 400 for a body that is no JSON object", function()
    expect(400, "Error when parsing request", "POST", "/v2/sandboxes", "{")
    expect(400, "Error when parsing request", "POST", "/v2/sandboxes",
      '{"a":1,"a":2}')
    expect(400, "Error when parsing request", "POST", "/v2/sandboxes",
      "\xff\xfe")
    expect(400, "Error when parsing request", "POST", "/v2/sandboxes",
      ("["):rep(100000))
    expect(400, "Error when parsing request", "POST", "/v2/sandboxes",
      '{"a":[' .. ("1,"):rep(30000) .. "1]}")
    expect(400, "the body is no object", "POST", "/v2/sandboxes", "[1]")
    expect(400, "the body is no object", "POST", "/v2/sandboxes", "null")
  end)

  it("is 413 for a body above 16 MiB", function()
    expect(413, "at most 16777216 bytes", "POST", "/v2/sandboxes",
      (" "):rep((16 << 20) + 1))
  end)

  it("takes a body without a length", function()
    local status = s:request("POST", "/v2/sandboxes", '{"templateID":"x"}',
      { headers = { ["Transfer-Encoding"] = "chunked" } })
    assert.equal(404, status)
  end)
end)
