-- SPDX-License-Identifier: MIT
-- Scripts that are killed and started again: nothing twice, nothing lost, the
-- same in every execution.

local durable = require "support.durable"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)
before_each(function() runs:counts() end)

-- Killed after each outcome in turn.
local function after_each_outcome()
  return "outcome-done:1"
end

-- Every execution but the last one was cut short: what it printed is a part of
-- what the last one printed.
local function assert_same_prefixes(outs)
  local whole = outs[#outs]
  assert.is_true(#outs > 2)
  for n = 1, #outs - 1 do
    assert.equal(whole:sub(1, #outs[n]), outs[n])
  end
end

local six = [[
  local sum = 0
  for i = 1, 6 do
    sum = sum + ebb.step("add " .. i, function()
      count("add " .. i)
      return i
    end)
  end
  return { sum = sum }
]]

describe("a durable run", function()
  it("executes each step once, killed after each outcome", function()
    local outs, status, err = runs:finish("six", six, after_each_outcome)
    assert.equal(0, status, err)
    assert.equal('{"sum":21}\n', outs[#outs])
    assert.equal(7, #outs)
    assert.same({ "add 1", "add 2", "add 3", "add 4", "add 5", "add 6" },
      (runs:counts()))
  end)

  it("prints the recorded result when it is done", function()
    local out, status = runs:run("six", six)
    assert.equal('{"sum":21}\n', out)
    assert.equal(0, status)
    assert.same({}, (runs:counts()))
  end)

  it("says how it failed and how to go on", function()
    local text = [[
      count "begun"
      ebb.step("fails", function() error "no luck" end)]]
    local out, status, err = runs:run("fails", text)
    assert.equal("", out)
    assert.equal(1, status)
    assert.truthy(err:find("script.lua:8: no luck", 1, true), err)
    out, status, err = runs:run("fails", text)
    assert.equal("", out)
    assert.equal(1, status)
    assert.truthy(err:find("script.lua:8: no luck", 1, true), err)
    assert.truthy(err:find("ebb runs resume fails", 1, true), err)
    assert.same({ "begun" }, (runs:counts()))
  end)

  it("keeps the status of os.exit (C10)", function()
    local text = "ebb.step('one', os.time) os.exit(9)"
    assert.equal(9, select(2, runs:run("exits", text)))
    assert.equal(9, select(2, runs:run("exits", text)))
    assert.equal(0, select(2, runs:run("exits0", "os.exit(0)")))
    assert.equal(0, select(2, runs:run("exits0", "os.exit(0)")))
  end)

  it("delivers outcomes in the recorded order to branches", function()
    local text = [[
      local order = {}
      local function branch(name, seconds)
        return function()
          for i = 1, 4 do
            ebb.sleep(seconds)
            order[#order + 1] = ebb.step(name .. i, function()
              return name .. i
            end, { class = "read" })
          end
        end
      end
      ebb.parallel { branch("a", 0.003), branch("b", 0.002),
        branch("c", 0.0025) }
      local written = ebb.step("write", function()
        return table.concat(order, " ")
      end, { class = "read" })
      return { now = table.concat(order, " "), written = written }]]
    for n = 1, 50 do
      local id = "order" .. n
      local outs, status, err = runs:finish(id, text, function(execution)
        return execution < 3 and "outcome-done:" .. (n * execution) % 23 + 1
          or nil
      end)
      assert.equal(0, status, err)
      local now, written = outs[#outs]:match
        '^{"now":"(.-)","written":"(.-)"}\n$'
      assert.truthy(now, outs[#outs])
      assert.equal(written, now)
    end
  end)

  it("lets combinators decide as they did", function()
    local text = [[
      local function after(seconds, value)
        return function()
          ebb.sleep(seconds)
          return ebb.step(value, function() return value end,
            { class = "read" })
        end
      end
      local function show(...)
        print(...)
        io.stdout:flush()
      end
      show(ebb.race { after(0.05, "slow"), after(0.001, "fast") })
      show(pcall(ebb.timeout, 0.01, after(5, "late")))
      show(ebb.timeout(5, after(0.001, "in time")))
      for i, s in ipairs(ebb.settle { after(0.001, "fine"), function()
        ebb.sleep(0.002)
        error("settled badly", 0)
      end }) do
        show(i, s.ok, s.value, s.error)
      end
      show(table.unpack(ebb.map({ 3, 1, 2 }, function(n, i)
        ebb.sleep(n / 1000)
        return n * 10 + i
      end, { limit = 2 })))
      show(pcall(ebb.parallel, { after(5, "never"), function()
        ebb.sleep(0.002)
        error("the first error", 0)
      end }))
      return "end"]]
    local outs, status, err = runs:finish("combine", text,
      after_each_outcome)
    assert.equal(0, status, err)
    assert_same_prefixes(outs)
    assert.equal("fast\n"
      .. "false\tebb.timeout: not done within 0.01 s (timeout)\n"
      .. "in time\n1\ttrue\tfine\tnil\n2\tfalse\tnil\tsettled badly\n"
      .. "31\t12\t23\nfalse\tthe first error\nend", outs[#outs])
  end)

  it("writes each line of its log once", function()
    local text = [[
      ebb.log("info", "before all")
      ebb.log("info", "before all")
      for i = 1, 3 do
        ebb.step("step" .. i, function()
          ebb.log("warn", "inside")
        end, { class = "read" })
        ebb.log("info", "after " .. i)
      end
      ebb.parallel { function()
        ebb.sleep(0)
        ebb.log("info", "in a branch")
        ebb.sleep(0)
      end }]]
    -- Every other execution is killed before it records what it executed.
    local _, status, err = runs:finish("logs", text, function(n)
      return (n % 2 == 0 and "outcome-done:1" or "outcome:1")
    end)
    assert.equal(0, status, err)
    local often, paths = {}, {}
    for _, line in ipairs(require "cjson".decode((runs:words
      "runs show logs --json")).log) do
      often[line.message] = (often[line.message] or 0) + 1
      paths[line.message] = line.step
    end
    assert.is_true(often.inside >= 3 and often.inside <= 6)
    often.inside = nil
    assert.same({ ["before all"] = 2, ["after 1"] = 1, ["after 2"] = 1,
      ["after 3"] = 1, ["in a branch"] = 1 }, often)
    assert.same({ ["before all"] = "1", inside = "3", ["after 1"] = "2",
      ["after 2"] = "3", ["after 3"] = "4", ["in a branch"] = "4.1/2" }, paths)
  end)

  it("writes a task's lines once an attempt, with its number (B16)", function()
    local text = [[
      local flaky = ebb.task { name = "spec.flaky", class = "read",
        run = function(input, attempt)
          count("attempt " .. attempt)
          ebb.log("info", "begun")
          ebb.parallel { function() ebb.sleep(0.001) ebb.log("warn", "in") end }
          if attempt < 3 then
            error { code = "network", message = "no luck", retryable = true }
          end
          return attempt
        end }
      ebb.log("info", "before")
      local n = flaky {}
      ebb.log("info", "after")
      ebb.step("last", function() return 1 end)
      return n]]
    -- The second execution goes on with the second attempt (the first had
    -- failed and was recorded), the third with what is recorded of all.
    local crashes = { "attempt-done:1", "outcome-done:2" }
    local env = "EBB_LIMITS=retry=5,jitter=0 EBB_CRASH="
    local words = "run --id flaky " .. runs:write(text)
    for _, crash in ipairs(crashes) do
      assert.equal(durable.KILLED, select(2, runs:words(words, env .. crash)))
    end
    local out, status, err = runs:words(words)
    assert.equal(0, status, err)
    assert.equal("3\n", out)
    assert.same({ "attempt 1", "attempt 2", "attempt 3" }, (runs:counts()))
    local lines = {}
    for _, line in ipairs(require "cjson".decode((runs:words
      "runs show flaky --json")).log) do
      lines[#lines + 1] = ("%s %s %d"):format(line.step, line.message,
        line.attempt or 0)
    end
    local shown = runs:words "runs show flaky --step 1"
    assert.truthy(shown:find(" warn: in (attempt 3)\n", 1, true), shown)
    assert.falsy(shown:find(": after", 1, true), shown)
    assert.same({ "1 before 0", "1 begun 1", "1 in 1", "1 begun 2", "1 in 2",
      "1 begun 3", "1 in 3", "2 after 0" }, lines)
  end)

  it("survives a sleep", function()
    local text = [[
      print(ebb.step("before", function() return os.time() end))
      io.stdout:flush()
      ebb.sleep(3)
      return "awake"]]
    assert.equal(durable.KILLED, select(2, runs:run("sleeps", text,
      { crash = "intent-done:2" })))
    os.execute "sleep 3"
    local began = os.time()
    local out, status, err = runs:run("sleeps", text)
    assert.equal(0, status, err)
    assert.truthy(out:find "awake")
    assert.is_true(os.time() - began <= 2)
  end)
end)

describe("determinism", function()
  it("gives random numbers, times and orders again (A05)", function()
    local text = [[
      local function show(...)
        print(...)
        io.stdout:flush()
      end
      local function look(name)
        local keys = {}
        local seen = { [3] = 1, [1.5] = 1, x = 1, [true] = 1, [-1] = 1,
          ["x\0y"] = 1, a = 1, [false] = 1, ["é"] = 1, B = 1 }
        for key in pairs(seen) do keys[#keys + 1] = tostring(key) end
        show(name, math.random(), math.random(1000), math.random(-5, 5),
          ebb.uuid(), os.time(), os.date(), os.clock(),
          table.concat(keys, " "):gsub("%z", "0"))
      end
      look "main"
      ebb.step("one", function() return 1 end)
      look "after a step"
      ebb.parallel {
        function() ebb.sleep(0.002) look "left" end,
        function() ebb.sleep(0.001) look "right" end }
      math.randomseed(42)
      look "seeded"
      math.randomseed()
      look "seeded anew"
      show(ebb.now() > 1.7e9)
      return ""]]
    local outs, status, err = runs:finish("same", text, after_each_outcome)
    assert.equal(0, status, err)
    assert_same_prefixes(outs)
    local whole = outs[#outs]
    assert.truthy(whole:find("-1 3 1.5 B a x x0y é false true", 1, true),
      whole)
    local other = runs:run("other", text)
    local function uuid(out) return out:match "%x+%-%x+%-4%x+%-%x+%-%x+" end
    assert.not_equal(uuid(whole), uuid(other))
    local seen = {}
    for id in whole:gmatch "%x+%-%x+%-4%x+%-%x+%-%x+" do
      assert.is_nil(seen[id])
      seen[id] = true
    end
  end)

  it("fans out over the keys of a table in one order (A05)", function()
    local text = [[
      local keys = {}
      for word in ("pear apple fig plum lime kiwi date quince"):gmatch "%a+" do
        keys[word] = #word
      end
      for word in pairs(keys) do
        ebb.step(word, function() return count(word) end)
      end]]
    local function fan_out(id)
      assert.equal(durable.KILLED, select(2, runs:run(id, text,
        { crash = "outcome-done:3" })))
      local _, status, err = runs:run(id, text)
      assert.equal(0, status, err)
      return table.concat((runs:counts()), " ")
    end
    for n = 1, 50 do
      assert.equal("apple date fig kiwi lime pear plum quince",
        fan_out("fan" .. n))
    end
  end)

  it("leaves scripts without --id as they are", function()
    local out = runs:words("run " .. runs:write [[
      return { pairs({}) == next, math.type(os.clock()),
        math.random(1, 1), os.time{ year = 2000, month = 1, day = 1 } > 0 }]])
    assert.equal('[true,"float",1,true]\n', out)
  end)

  it("keeps __pairs, and lets pairs remove what it visits", function()
    local out, status, err = runs:run("pairs", [[
      local special = setmetatable({}, { __pairs = function()
        return function(_, k) return not k and 1 or nil end, nil, nil
      end })
      local got = {}
      for k in pairs(special) do got[#got + 1] = k end
      local t = { a = 1, b = 2, c = 3, [1] = 1 }
      for k in pairs(t) do
        t[k] = nil
        if k == "a" then t.b = nil end
        got[#got + 1] = tostring(k)
      end
      return { got, next(t) == nil, pcall(pairs) }]])
    assert.equal(0, status, err)
    assert.equal('[[1,"1","a","c"],true,false', out:sub(1, 27))
  end)
end)
