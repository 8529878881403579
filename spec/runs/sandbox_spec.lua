-- SPDX-License-Identifier: MIT
-- Durable runs on the real local service: killed anywhere, they end with one
-- sandbox, each command once by the sandbox's own log, and nothing left.

local cjson = require "cjson"
local durable = require "support.durable"
local killed = require "support.killed"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

after_each(function()
  assert.equal("[]\n", (runs:words "sandbox list --json"))
end)

local KILLS = tonumber(os.getenv "EBB_KILLS") or 10

describe("one run, killed again and again at random times", function()
  setup(function() math.randomseed(tonumber(os.getenv "EBB_SEED") or 5) end)

  it("of scripts/report.lua gives the same report", function()
    local whole, ended = killed.often(runs, "report",
      "scripts/report.lua", KILLS)
    for _, run in ipairs(ended) do
      assert.equal(whole, run.out)
      assert.is_true(#run.sandboxes <= 1, run.id)
    end
  end)

  it("sends each command once, by the service's own log", function()
    local script = runs:write [[
      local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
      local id, unknown = box.sandboxId, {}
      local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })
      for n = 1, 9 do
        local ok, e = pcall(e2b.runCommand, { sandboxId = id,
          command = "sleep 0.01; echo " .. n .. " >> list" })
        if not ok then
          assert(e.code == "outcome_unknown", e)
          unknown[tostring(n)] = true
        end
      end
      local started = {}
      for _, line in ipairs(e2b.getSandboxLogs { sandboxId = id }.logs) do
        local n = line.message.text:match "started: .*echo (%d)"
        if n then started[n] = (started[n] or 0) + 1 end
      end
      return { started = started, unknown = unknown }]]
    local whole, ended = killed.often(runs, "nine", script, KILLS)
    assert.equal(9, select(2, whole:gsub('"%d":1', "")))
    for _, run in ipairs(ended) do
      local result = cjson.decode(run.out)
      assert.is_true(#run.sandboxes <= 1, run.id)
      for n = 1, 9 do
        n = tostring(n)
        local often = result.started[n] or 0
        assert.is_true(often == 1 or often == 0 and result.unknown[n], run.out)
      end
    end
  end)
end)

describe("commands in a run", function()
  local text = [[
    local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
    local id = box.sandboxId
    local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })
    local unknown = 0
    local function command(n)
      local ok, result = pcall(e2b.runCommand, { sandboxId = id,
        command = "echo " .. n .. " >> list" })
      if not ok then
        assert(result.code == "outcome_unknown", result)
        unknown = unknown + 1
      end
    end
    command(1)
    ebb.parallel { function() command(2) end, function() command(3) end }
    local logs = {}
    for _, line in ipairs(e2b.getSandboxLogs { sandboxId = id }.logs) do
      local n = line.message.text:match "started: .*echo (%d)"
      if n then logs[n] = (logs[n] or 0) + 1 end
    end
    return { unknown = unknown, logs = logs }]]

  it("are sent once each, killed at every point", function()
    local points, kills = { "intent", "intent-done", "connected", "sent",
      "answered", "outcome", "outcome-done", "deliver", "combinator",
      "combinator-done", "run-end", "run-ended" }, 0
    for _, point in ipairs(points) do
      for n = 1, 20 do
        local id = point .. n
        local out, status, err = runs:run(id, text, { crash = point .. ":"
          .. n })
        local was_killed = status == durable.KILLED
        if was_killed then
          kills = kills + 1
          out, status, err = runs:run(id, text)
        end
        assert.equal(0, status, point .. n .. ": " .. err)
        local result = cjson.decode(out)
        local sent = 0
        for _, often in pairs(result.logs) do
          assert.equal(1, often)
          sent = sent + 1
        end
        assert.is_true(sent + result.unknown >= 3, out)
        assert.is_true(result.unknown <= 2, out)
        if not was_killed then break end
      end
    end
    print(("# %d kills at %d kinds of points"):format(kills, #points))
  end)
end)

describe("the ways out of outcome_unknown", function()
  local expected = {
    unknown_check = "one row\n",
    unknown_idempotent = "one row\nand another\n",
    unknown_restart = "one row\nanother\n",
  }
  for script, rows in pairs(expected) do
    it(script .. ".lua ends with each effect once", function()
      for _, point in ipairs { "intent-done", "sent", "answered",
        "outcome" } do
        for n = 1, 3 do
          local words = ("run --id %s-%s%d scripts/%s.lua"):format(script,
            point, n, script)
          local out, status, err = runs:words(words, ("EBB_CRASH=%s:%d")
            :format(point, n))
          if status == durable.KILLED then
            out, status, err = runs:words(words)
          end
          assert.equal(0, status, point .. n .. ": " .. err)
          assert.equal(rows, out)
        end
      end
      local out, status, err = runs:words(("run scripts/%s.lua"):format(
        script))
      assert.equal(0, status, err)
      assert.equal(rows, out)
    end)
  end
end)
