-- SPDX-License-Identifier: MIT

-- GET /v2/sandboxes and GET /sandboxes.

local service = require "support.service"

describe("listing sandboxes", function()
  local s
  local made = {} -- ids, oldest first

  setup(function()
    s = service.start()
    for i = 1, 5 do
      made[i] = s:create { metadata = { env = i < 3 and "dev" or "prod",
        n = tostring(i) }, templateID = i == 5 and "code-interpreter-v1"
        or "base" }.sandboxID
      service.sleep(0.005)
    end
    assert.equal(204,
      (s:request("POST", "/sandboxes/" .. made[2] .. "/pause", {})))
  end)
  teardown(function() s:stop() end)

  local function list(query)
    local status, rows, headers = s:request("GET", "/v2/sandboxes" .. query)
    assert.equal(200, status, rows.message)
    local ids = {}
    for i, row in ipairs(rows) do ids[i] = row.sandboxID end
    return ids, headers, rows
  end

  local function refuses(text, query)
    local status, body = s:request("GET", "/v2/sandboxes" .. query)
    assert.equal(400, status)
    assert.truthy(body.message:find(text, 1, true), body.message)
  end

  it("shows running and paused ones, the newest first", function()
    local ids, headers, rows = list ""
    assert.same({ made[5], made[4], made[3], made[2], made[1] }, ids)
    assert.equal("4", headers["x-total-running"])
    assert.is_nil(headers["x-next-token"])
    assert.equal("paused", rows[4].state)
    for _, key in ipairs { "templateID", "sandboxID", "clientID",
      "startedAt", "endAt", "cpuCount", "memoryMB", "diskSizeMB", "state",
      "envdVersion", "metadata" } do
      assert.not_nil(rows[1][key], key)
    end
    assert.is_nil(rows[1].envdAccessToken)
  end)

  it("filters by state, in both encodings of the comma", function()
    local ids, headers = list "?state=paused"
    assert.same({ made[2] }, ids)
    assert.is_nil(headers["x-total-running"])
    assert.equal(4, #list "?state=running")
    assert.equal(5, #list "?state=running,paused")
    assert.equal(5, #list "?state=running%2Cpaused")
    refuses("state: expected", "?state=dead")
  end)

  it("filters by template", function()
    assert.same({ made[5] }, list "?template=code-interpreter-v1")
    assert.same({}, list "?template=my%2Ftpl")
  end)

  it("filters by metadata, all pairs", function()
    assert.same({ made[2], made[1] }, list "?metadata=env%3Ddev")
    assert.same({ made[1] }, list "?metadata=env%3Ddev%26n%3D1")
    assert.same({}, list "?metadata=env%3Ddev%26n%3D9")
    assert.same({}, list "?metadata=none%3Dx")
    assert.equal(5, #list "?metadata=")
  end)

  it("decodes the three layers of both SDKs", function()
    local id = s:create { metadata = { user = "a b&c=d/é",
      ["k y"] = "v+w%" } }.sandboxID
    finally(function() s:request("DELETE", "/sandboxes/" .. id) end)
    assert.same({ id }, list("?metadata=user%3Da%252520b%252526c%25253Dd"
      .. "%25252F%2525C3%2525A9%26k%252520y%3Dv%25252Bw%252525"))
    assert.same({ id }, list("?metadata=user%3Da%252520b%252526c%25253Dd%252F"
      .. "%2525C3%2525A9%26k%252520y%3Dv%25252Bw%252525"))
  end)

  it("refuses metadata that is not of pairs", function()
    refuses("metadata", "?metadata=env")
    refuses("metadata", "?metadata=a%3Db%3Dc")
    refuses("metadata", "?metadata=a%3Db%26")
    refuses("metadata", "?metadata=a%3D%25zz")
    refuses("metadata", "?metadata=a%3D%2500")
    refuses("metadata", "?metadata=a%3D%2525ff")
  end)

  it("orders by start", function()
    assert.same(made, list "?order=asc")
    assert.equal(made[5], (list "?order=desc")[1])
    refuses("order", "?order=up")
  end)

  it("shows those that started at a time or after it", function()
    local _, _, rows = list "?order=asc"
    local at = rows[3].startedAt
    assert.same({ made[5], made[4], made[3] }, list("?startedAfter=" .. at))
    assert.same({ made[5], made[4], made[3] },
      list("?startedAfter=" .. at:gsub("Z", "%%2B00:00")))
    assert.same({}, list "?startedAfter=2990-01-01T00%3A00%3A00Z")
    refuses("startedAfter", "?startedAfter=yesterday")
  end)

  it("pages without a gap, both ways", function()
    for order, expected in pairs {
      desc = { made[5], made[4], made[3], made[2], made[1] },
      asc = made,
    } do
      local seen, token = {}, nil
      repeat
        local ids, headers = list("?limit=2&order=" .. order
          .. (token and "&nextToken=" .. token or ""))
        assert.is_true(#ids <= 2)
        for _, id in ipairs(ids) do seen[#seen + 1] = id end
        assert.equal("4", headers["x-total-running"])
        token = headers["x-next-token"]
      until not token
      assert.same(expected, seen)
    end
  end)

  it("gives no token for a page that ends with the last one", function()
    local _, headers = list "?limit=5"
    assert.is_nil(headers["x-next-token"])
  end)

  it("refuses limits and tokens that are none", function()
    for _, limit in ipairs { "0", "101", "-1", "x", "1.5",
      "99999999999999999999" } do
      refuses("limit", "?limit=" .. limit)
    end
    local _, headers = list "?limit=1"
    local token = headers["x-next-token"]
    for _, bad in ipairs { "x", "1.2.3", "..", token .. "x",
      token:gsub("desc", "asc"), ("1"):rep(500) } do
      refuses("Invalid next token", "?nextToken=" .. bad)
    end
    refuses("Invalid next token", "?order=asc&nextToken=" .. token)
  end)

  it("shows running ones alone in the deprecated form", function()
    local status, rows = s:request("GET", "/sandboxes")
    assert.equal(200, status)
    assert.equal(4, #rows)
    status, rows = s:request("GET", "/sandboxes?metadata=env%3Ddev")
    assert.equal(200, status)
    assert.equal(1, #rows)
    assert.equal(made[1], rows[1].sandboxID)
    assert.equal(400, (s:request("GET", "/sandboxes?metadata=x")))
  end)
end)
