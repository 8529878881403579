-- SPDX-License-Identifier: MIT
-- Durable runs on the real local service: killed anywhere, they end with one
-- sandbox, each command once by the sandbox's own log, and nothing left.

local cjson = require "cjson"
local durable = require "support.durable"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)

after_each(function()
  assert.equal("[]\n", (runs:words "sandbox list --json"))
end)

local function sandboxes()
  return cjson.decode((runs:words "sandbox list --json"))
end

describe("scripts/report.lua", function()
  it("gives the same report, killed fifty times at random", function()
    local whole, status, err = runs:words "run scripts/report.lua"
    assert.equal(0, status, err)
    math.randomseed(5)
    local kills, run = 0, 0
    while kills < 50 do
      run = run + 1
      local ids, executions, out = {}, 0
      repeat
        executions = executions + 1
        out, status, err = runs:words(
          "run --id report" .. run .. " scripts/report.lua",
          -- In front of `timeout`, which is killed with what it runs. Longer
          -- each time, so that a slow machine gets on.
          ("timeout -s KILL %.3f"):format(0.01
            + math.random() * (0.06 + executions ^ 2 / 100)))
        if status ~= 0 then
          assert.equal(durable.KILLED, status, err)
          kills = kills + 1
          for _, box in ipairs(sandboxes()) do ids[box.sandboxId] = true end
        end
      until status == 0
      assert.equal(whole, out)
      local first = next(ids)
      assert.is_nil(first and next(ids, first))
    end
    print(("# %d kills in %d runs"):format(kills, run))
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
        local killed = status == durable.KILLED
        if killed then
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
        if not killed then break end
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
