-- SPDX-License-Identifier: MIT
-- `ebb runs prune` of a journal that has more runs than are looked at at once.

local cjson = require "cjson"
local durable = require "support.durable"

local ACTIVE = 10100

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

local function edit(text)
  local pipe = assert(io.popen(([[/usr/bin/python3 -c '
import sqlite3
c = sqlite3.connect("%s/journal.db")
%s
c.commit()' 2>&1]]):format(runs.dir, text)))
  local out = pipe:read "a"
  assert.is_true(pipe:close(), out)
end

describe("ebb runs prune", function()
  it("finds what has ended behind ten thousand that go on", function()
    runs:run("one", "return 1")
    runs:run("two", "error 'no'")
    -- Interrupted, as far as a list looks.
    edit(([[
c.executemany("""INSERT INTO run (id, state, fence, started_ms, updated_ms,
  seed, run_sum, end_sum) VALUES (?, 0, 1, 1, 1, 1, 1, 1)""",
  [("active%%d" %% i,) for i in range(%d)])]]):format(ACTIVE))
    local result = cjson.decode((runs:words "--json runs prune"))
    table.sort(result.removed)
    assert.same({ "one", "two" }, result.removed)
    assert.same({}, result.failed)
    result = cjson.decode((runs:words "--json runs prune"))
    assert.same({}, result.removed)
    assert.equal(10000, #cjson.decode((runs:words "--json runs list")))
  end)
end)
