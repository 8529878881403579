-- SPDX-License-Identifier: MIT

-- Logs and metrics of a sandbox.

local cjson = require "cjson"
local service = require "support.service"

describe("a sandbox's log", function()
  local s, id

  setup(function()
    s = service.start()
    id = s:create().sandboxID
    for _ = 1, 3 do
      s:request("POST", "/sandboxes/" .. id .. "/pause", {})
      s:request("POST", "/v2/sandboxes/" .. id .. "/connect", {})
    end
  end)
  teardown(function() s:stop() end)

  local function logs(query)
    local status, body = s:request("GET", "/v2/sandboxes/" .. id .. "/logs"
      .. (query or "") .. (query and "&" or "?") .. "search=")
    assert.equal(200, status, body.message)
    return body.logs, body.nextCursor
  end

  local function milliseconds(text)
    local y, mo, d, h, mi, sec, ms =
      text:match "(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)%.(%d+)Z"
    local zone = os.time { year = 1970, month = 1, day = 2, hour = 0 } - 86400
    return (os.time { year = y, month = mo, day = d, hour = h, min = mi,
      sec = sec } - zone) * 1000 + tonumber(ms)
  end

  it("tells its life, the newest first", function()
    local entries = logs()
    assert.is_true(#entries >= 7)
    assert.equal("resumed", entries[1].message)
    assert.equal("paused", entries[2].message)
    assert.equal("started, network: none", entries[#entries].message)
    assert.equal("info", entries[1].level)
    assert.equal("sandbox", entries[1].fields.logger)
  end)

  it("goes through every entry once by its cursor, both ways", function()
    for _, direction in ipairs { "forward", "backward" } do
      local all = logs("?direction=" .. direction)
      local seen, cursor = {}, nil
      repeat
        local entries, after = logs(("?limit=2&direction=%s%s")
          :format(direction, cursor and "&cursor=" .. cursor or ""))
        for _, entry in ipairs(entries) do seen[#seen + 1] = entry end
        cursor = after and ("%d"):format(after)
      until not cursor
      assert.same(all, seen)
    end
  end)

  it("begins at a time", function()
    local all = logs "?direction=forward"
    local from = logs(("?direction=forward&cursor=%d")
      :format(milliseconds(all[3].timestamp)))
    assert.same(all[3], from[1])
    local back = logs(("?cursor=%d"):format(milliseconds(all[3].timestamp)))
    assert.same(all[3], back[1])
    assert.equal(3, #back)
  end)

  it("filters by level and by words", function()
    assert.equal(0, #logs "?level=error")
    assert.is_true(#logs "?level=debug" >= 7)
    local _, body = s:request("GET", "/v2/sandboxes/" .. id
      .. "/logs?search=network")
    assert.equal(1, #body.logs)
  end)

  it("gives nothing for a limit of 0", function()
    assert.equal(0, #logs "?limit=0")
  end)

  it("has the deprecated form, the oldest first", function()
    local status, body = s:request("GET", "/sandboxes/" .. id
      .. "/logs?limit=2")
    assert.equal(200, status)
    assert.equal(2, #body.logs)
    assert.equal("started, network: none",
      cjson.decode(body.logs[1].line).message)
    assert.equal("started, network: none", body.logEntries[1].message)
  end)

  it("is also in a file, one object a line", function()
    local file = io.open(s.state .. "/sandboxes/" .. id .. "/log")
    local first = cjson.decode(file:read "l")
    file:close()
    assert.equal("started, network: none", first.message)
  end)

  it("refuses what it cannot understand", function()
    for query, text in pairs { ["limit=1001"] = "limit", ["limit=-1"] = "limit",
      ["cursor=x"] = "cursor", ["direction=up"] = "direction",
      ["level=loud"] = "level", ["search=" .. ("x"):rep(257)] = "search" } do
      local status, body = s:request("GET", "/v2/sandboxes/" .. id .. "/logs?"
        .. query)
      assert.equal(400, status, query)
      assert.truthy(body.message:find(text, 1, true), body.message)
    end
  end)
end)

describe("a sandbox's metrics", function()
  local s, id

  setup(function()
    s = service.start { args = { "--listen", "127.0.0.1:0" } }
    id = s:create().sandboxID
  end)
  teardown(function() s:stop() end)

  local function metrics(query)
    local status, body = s:request("GET", "/sandboxes/" .. id .. "/metrics"
      .. (query or ""))
    return status, body
  end

  it("have the nine members from the start on", function()
    local status, rows = metrics()
    assert.equal(200, status)
    assert.is_true(#rows >= 1)
    for _, key in ipairs { "timestampUnix", "cpuCount", "cpuUsedPct",
      "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal" } do
      assert.equal("number", type(rows[1][key]), key)
    end
    assert.truthy(rows[1].timestamp:match "^%d+%-%d+%-%d+T.*Z$")
    assert.near(os.time(), rows[1].timestampUnix, 60)
  end)

  it("are of the time that is asked for", function()
    local now = os.time()
    assert.equal(0, #select(2, metrics("?start=" .. now + 100)))
    assert.equal(0, #select(2, metrics("?end=" .. now - 1000)))
    assert.is_true(#select(2, metrics(("?start=%d&end=%d"):format(now - 100,
      now + 100))) >= 1)
  end)

  it("refuse a start after the end", function()
    local status, body = metrics "?start=10&end=5"
    assert.equal(400, status)
    assert.truthy(body.message:find("start is after end", 1, true))
    assert.equal(400, (metrics "?start=x"))
  end)

  it("come for many sandboxes at once", function()
    local status, body = s:request("GET", "/sandboxes/metrics?sandbox_ids="
      .. id .. ",iunknown")
    assert.equal(200, status)
    assert.equal("number", type(body.sandboxes[id].memUsed))
    assert.is_nil(body.sandboxes.iunknown)
    status = s:request("GET", "/sandboxes/metrics?sandbox_ids="
      .. ("a,"):rep(100) .. "a")
    assert.equal(400, status)
  end)

  it("grow by a sample every five seconds", function()
    local before = #select(2, metrics())
    assert.truthy(service.wait(8, function()
      return #select(2, metrics()) > before
    end))
  end)
end)
