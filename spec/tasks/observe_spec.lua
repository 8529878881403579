-- SPDX-License-Identifier: MIT
-- getSandboxLogs and getSandboxMetrics on a real service.

local cjson = require "cjson"
local tasks = require "support.tasks"

local t, box

setup(function()
  t = tasks.open()
  box = t:create "observe"
  for i = 1, 3 do
    t:call("runCommand", { sandboxId = box, command = "echo line" .. i })
  end
end)
teardown(function() t:close() end)

local function logs(more)
  local all = { sandboxId = box }
  for key, value in pairs(more or {}) do all[key] = value end
  return t:call("getSandboxLogs", all)
end

describe("logs", function()
  it("tell what happened", function()
    local got = logs()
    assert.is_true(#got.logs > 0)
    for _, line in ipairs(got.logs) do
      assert.truthy(line.timestamp:find "^%d+%-%d+%-%d+T[%d:]+%.%d%d%dZ$")
      assert.is_string(line.message.text)
    end
    assert.equal(cjson.null, got.cursor)
  end)

  it("are found by what they hold", function()
    local got = logs { search = "line2" }
    assert.is_true(#got.logs > 0)
    for _, line in ipairs(got.logs) do
      assert.truthy(line.message.text:find("line2", 1, true))
    end
    assert.same({}, logs { search = "nowhere to be found" }.logs)
  end)

  it("can be read on from a cursor until there is none", function()
    local seen, cursor, pages = 0, nil, 0
    local all = #logs { direction = "forward", limit = 1000 }.logs
    repeat
      local got = logs { direction = "forward", limit = 4, cursor = cursor }
      seen, cursor, pages = seen + #got.logs, got.cursor, pages + 1
    until cursor == cjson.null or pages > 50
    assert.is_true(pages <= all // 4 + 2)
    assert.is_true(seen > 0 and seen <= all)
  end)

  it("keep messages to their bytes", function()
    local got = logs { maxBytes = 100, limit = 10 }
    for _, line in ipairs(got.logs) do
      assert.is_true(#line.message.text <= 10)
    end
  end)
end)

describe("metrics", function()
  it("are numbers with a time", function()
    local got = t:call("getSandboxMetrics", { sandboxId = box })
    assert.is_true(#got.metrics > 0)
    local one = got.metrics[1]
    for _, name in ipairs { "cpuUsedPct", "cpuCount", "memoryUsedBytes",
      "memoryTotalBytes", "diskUsedBytes", "diskTotalBytes" } do
      assert.is_number(one[name], name)
    end
    assert.equal(#got.metrics, got.page.returned)
  end)

  it("are empty where there are none", function()
    local _, text = t:call("getSandboxMetrics", { sandboxId = box,
      start = "2001-01-01T00:00:00Z", ["end"] = "2001-01-02T00:00:00Z" })
    assert.truthy(text:find('"metrics":[]', 1, true))
  end)

  it("want their times in order", function()
    local err = t:fails("getSandboxMetrics", { sandboxId = box,
      start = "2026-01-02T00:00:00Z", ["end"] = "2026-01-01T00:00:00Z" })
    assert.equal("invalid_input", err.code)
  end)
end)
