-- SPDX-License-Identifier: MIT
-- `ebb runs prune` of a journal that has more runs than are looked at at once.

local cjson = require "cjson"
local durable = require "support.durable"
local scripted = require "support.scripted"

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

  it("leaves a run its sandbox that is resumed meanwhile", function()
    local cloud <close> = setmetatable(
      { server = scripted.start { { on = "DELETE *", delay = 3000 } } },
      { __close = function(self) self.server:stop() end })
    local url = cloud.server.url
    local env = ("EBB_LOCAL= E2B_API_URL=%s E2B_SANDBOX_URL=%s "
      .. "E2B_API_KEY=e2b_%s"):format(url, url, ("0"):rep(40))
    runs:run("fresh", "return 1", { crash = "run-opened:1" })
    for _, id in ipairs { "resumed", "ended" } do
      local _, status = runs:program(("run --id %s %s"):format(id,
        runs:write [[
          e2b.createSandbox { idempotencyKey = "prune" }
          error "no"]]), env)
      assert.equal(1, status)
    end
    local pipe = assert(io.popen(("%s %s timeout 60 %s/ebb --json runs prune"
      .. " --kill </dev/null 2>&1"):format(runs:environment(), env,
        os.getenv "EBB_BUILD" or "build")))
    assert.is_true(scripted.wait(20, function()
      return #cloud.server:requests "DELETE .*" > 0
    end))
    -- As `ebb runs resume` of another process begins.
    edit [[
c.execute("""UPDATE run SET state = 0, outcome = NULL, end_sum =
  (SELECT end_sum FROM run WHERE id = "fresh") WHERE id = "resumed" """)]]
    local result = cjson.decode(pipe:read "a")
    pipe:close()
    assert.same({ "ended" }, result.removed)
    assert.equal("resumed", result.failed[1].id)
    assert.equal(1, #cloud.server:requests "DELETE .*")
    assert.truthy(result.failed[1].message:find("meanwhile", 1, true))
  end)
end)
