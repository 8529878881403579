-- SPDX-License-Identifier: MIT
-- Runs that must not go on as they are: other scripts, other owners, effects
-- of which nobody knows whether they happened.

local durable = require "support.durable"
local scripted = require "support.scripted"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)
before_each(function() runs:counts() end)

local two = [[
  ebb.step("first", function() return count "first" end)
  ebb.step("second", function() return count "second" end)
  return "both"]]

describe("a script that no longer fits", function()
  it("is told both sides; nothing is executed, a good one goes on (A04)",
    function()
      assert.equal(durable.KILLED, select(2, runs:run("edited", two,
        { crash = "outcome-done:1" })))
      assert.same({ "first" }, (runs:counts()))
      local text = [[
        ebb.step("other", function() return count "other" end)
        ebb.step("second", function() return count "second" end)]]
      local _, status, err = runs:run("edited", text)
      assert.equal(5, status, err)
      assert.truthy(err:find("step 1", 1, true), err)
      assert.truthy(err:find("first", 1, true), err)
      assert.truthy(err:find("other", 1, true), err)
      assert.truthy(err:find("`ebb runs fork edited --from 1`", 1, true), err)
      assert.same({}, (runs:counts()))
      local out
      out, status = runs:run("edited", two)
      assert.equal(0, status)
      assert.equal("both", out)
      assert.same({ "second" }, (runs:counts()))
    end)

  it("cannot go on behind pcall", function()
    assert.equal(durable.KILLED, select(2, runs:run("caught", two,
      { crash = "outcome-done:1" })))
    runs:counts()
    local out, status, err = runs:run("caught", [[
      local codes = {}
      for i = 1, 3 do
        local ok, e = pcall(ebb.step, "other" .. i, os.time)
        codes[i] = e.code
      end
      local ok, e = pcall(e2b.createSandbox, { idempotencyKey = "never" })
      print(codes[1], codes[2], codes[3], e.code)
      print(pcall(ebb.parallel, { count }))
      return "went on"]])
    assert.equal(5, status, err)
    assert.truthy(out:find(("replay_mismatch\t"):rep(3)
      .. "replay_mismatch", 1, true), out)
    assert.truthy(out:find("\nfalse\t", 1, true), out)
    assert.falsy(out:find("went on", 1, true), out)
  end)

  it("is told when it asks for less than is recorded", function()
    assert.equal(durable.KILLED, select(2, runs:run("less", two,
      { crash = "outcome-done:2" })))
    local _, status, err = runs:run("less", "return 1")
    assert.equal(5, status, err)
    assert.truthy(err:find("first", 1, true), err)
  end)

  it("may have new steps after the recorded ones (A04)", function()
    assert.equal(durable.KILLED, select(2, runs:run("more", two,
      { crash = "outcome-done:2" })))
    local out, status, err = runs:run("more", [[
      ebb.step("first", os.time)
      ebb.step("second", os.time)
      return ebb.step("third", function() return "third" end)]])
    assert.equal(0, status, err)
    assert.equal("third", out)
  end)

  it("is a mismatch when the order of keys was raw (A05)", function()
    local text = [[
      local seen, order = {}, {}
      for i = 1, 2 do seen[{}] = i end
      for _, i in pairs(seen) do order[#order + 1] = i end
      ebb.step("first", os.time)
      ebb.step("%s", os.time)]]
    assert.equal(durable.KILLED, select(2, runs:run("raw",
      text:format "second", { crash = "outcome-done:2" })))
    local _, status, err = runs:run("raw", text:format "changed")
    assert.equal(5, status, err)
    assert.truthy(err:find("pairs", 1, true), err)
  end)
end)

describe("a script whose tasks changed their order or their input", function()
  local server
  before_each(function() server = scripted.start() end)
  after_each(function() server:stop() end)

  local get = "e2b.getSandbox { sandboxId = 'ibox' }\n"
  local read = "e2b.readFile { sandboxId = 'ibox', path = '/tmp/a.txt' }\n"
  local other = "e2b.readFile { sandboxId = 'ibox', path = '/tmp/b.txt' }\n"

  local function run(id, text, env)
    local words = ("run --id %s %s"):format(id, runs:write(text))
    return runs:program(words, ("EBB_LOCAL= E2B_API_URL=%s "
      .. "E2B_SANDBOX_URL=%s E2B_API_KEY=e2b_%s %s"):format(server.url,
      server.url, ("0"):rep(40), env or ""))
  end

  local function steps(id)
    return require "cjson".decode((runs:program("runs show --json "
      .. id))).steps
  end

  -- Recorded: get, read. Asked for: the text; refused at the step with a name.
  local function refused(id, text, path, recorded, asked)
    assert.equal(durable.KILLED, select(2, run(id, get .. read,
      "EBB_CRASH=outcome-done:2")))
    local before, sent = steps(id), #server:requests()
    assert.equal(2, #before)
    local _, status, err = run(id, text)
    assert.equal(5, status, err)
    local digest = before[tonumber(path)].inputDigest:sub(1, 8)
    for _, part in ipairs { "step " .. path, recorded, asked, digest } do
      assert.truthy(err:find(part, 1, true), part .. " in " .. err)
    end
    assert.equal(sent, #server:requests())
    assert.same(before, steps(id))
    _, status, err = run(id, get .. read)
    assert.equal(0, status, err)
    assert.same(before, steps(id))
  end

  it("is told which step, what was recorded and what is asked (A04)",
    function()
      refused("order", read .. get, "1", "e2b.getSandbox", "e2b.readFile")
      refused("input", get .. other, "2", "/tmp/a.txt", "/tmp/b.txt")
    end)
end)

describe("a step of which nobody knows", function()
  local text = [[
    local ok, e = pcall(ebb.step, "pay", function() return count "paid" end)
    print(ok, ok and e or e.code)
    io.stdout:flush()
    ebb.step("after", function() return count "after" end)
    return ok and "paid" or e.code]]

  it("raises outcome_unknown, which the script can catch (A03)", function()
    assert.equal(durable.KILLED, select(2, runs:run("pay", text,
      { crash = "outcome:1" })))
    local out, status = runs:run("pay", text, { crash = "outcome:2" })
    assert.equal(durable.KILLED, status)
    assert.equal("false\toutcome_unknown\n", out)
    local err
    out, status, err = runs:run("pay", text, { crash = "outcome-done:9" })
    assert.equal("false\toutcome_unknown\n", out:sub(1, 22))
    assert.equal(4, status, err)
    local _, often = runs:counts()
    assert.equal(1, often.paid)
    assert.equal(1, often.after)
  end)

  it("is run again when its class says so", function()
    local read = [[
      return ebb.step("look", function() return count "looked" end,
        { class = "read" })]]
    assert.equal(durable.KILLED, select(2, runs:run("look", read,
      { crash = "outcome:1" })))
    local out, status, err = runs:run("look", read)
    assert.equal(0, status, err)
    assert.equal("looked", out)
    assert.same({ "looked", "looked" }, (runs:counts()))
  end)
end)

describe("ebb.step in a run", function()
  it("refuses what waits, and results it cannot keep", function()
    local text = [[
      local function problem(...)
        local ok, e = pcall(ebb.step, ...)
        return ok and "none" or e.code .. ": " .. e.message
      end
      return {
        problem("nested", function() ebb.step("inner", count) end),
        problem("sleeps", function() ebb.sleep(1) end),
        problem("all", function() ebb.parallel { count } end),
        problem("no JSON", function() return print end),
        problem("big", function() return ("x"):rep(4000000) end),
        problem("class", count, { class = "sometimes" }),
        problem("raises", function() error({ code = "conflict",
          message = "taken" }) end),
      }]]
    local out, status, err = runs:run("steps", text)
    assert.equal(0, status, err)
    for _, part in ipairs { "unsupported: ebb.step: not inside ebb.step",
      "unsupported: ebb.sleep: not inside ebb.step",
      "unsupported: ebb.parallel: not inside ebb.step",
      "invalid_input: ebb.step: result", "limit_exceeded: ebb.step",
      "class: 'sometimes' is not", "conflict: taken" } do
      assert.truthy(out:find(part, 1, true), part .. " in " .. out)
    end
    assert.equal(out, (runs:run("steps", text)))
  end)

  it("refuses a name or an input that has no room, and goes on", function()
    local out, status, err = runs:run("names", [[
      local long = ebb.task { name = "spec.long", class = "read",
        run = function(input) return #input.text end }
      local function problem(fn, ...)
        local ok, e = pcall(fn, ...)
        return ok and e or e.code .. ": " .. e.message
      end
      return {
        problem(ebb.step, ("n"):rep(255), function() return 1 end),
        problem(ebb.step, ("n"):rep(256), count),
        problem(ebb.step, "n\xff", count),
        problem(long, { text = ("x"):rep(3999980) }),
        problem(long, { text = ("x"):rep(4000000) }),
        ebb.step("goes on", function() return 2 end) }]])
    assert.equal(0, status, err)
    for _, part in ipairs { '[1,"invalid_input: a step\'s name has 1 to 255 '
      .. 'bytes, this one 256', '"invalid_input: a step\'s name is UTF-8',
      '3999980,"limit_exceeded: step 5 (spec.long): its input has 4000011 '
      .. 'bytes as JSON, at most 4000000', '",2]' } do
      assert.truthy(out:find(part, 1, true), part .. " in " .. out)
    end
    assert.equal(out, (runs:run("names", "error 'not executed'")))
  end)

  it("names the place where a script cannot wait", function()
    local out, status, err = runs:run("places", [[
      local function problem(fn, ...)
        local ok, e = pcall(fn, ...)
        return tostring(e)
      end
      local odd = setmetatable({}, { __tostring = function()
        return ebb.step("name", count)
      end })
      return {
        problem(table.sort, { 2, 1 }, function(a, b)
          ebb.sleep(0)
          return a < b
        end),
        problem(string.gsub, "a", "a", function() ebb.now() end),
        problem(tostring, odd),
        ebb.step("still fine", function() return "fine" end),
      }]])
    assert.equal(0, status, err)
    for _, part in ipairs { "ebb.sleep: cannot wait inside table.sort",
      "ebb.now: cannot wait inside string.gsub",
      "ebb.step: cannot wait inside tostring", '"fine"' } do
      assert.truthy(out:find(part, 1, true), part .. " in " .. out)
    end
  end)
end)

describe("ownership and cancelling", function()
  it("leaves a run of a living process alone, and says whose it is",
    function()
      local text = "print 'mine' io.stdout:flush() ebb.sleep(30)"
      local pid = runs:start("mine", text)
      runs:wait_for "mine"
      local _, status, err = runs:run("mine", text)
      os.execute(("kill -KILL %d"):format(pid))
      assert.equal(6, status, err)
      assert.truthy(err:find(tostring(pid), 1, true), err)
    end)

  it("ends as cancelled by Ctrl-C, after cleanup, and stays so", function()
    local text = [[
      local _ <close> = ebb.defer(function()
        ebb.step("clean", function() return count "clean" end)
      end)
      print "ready"
      io.stdout:flush()
      ebb.sleep(60)]]
    local pid = runs:start("stop", text)
    runs:wait_for "ready"
    os.execute(("sleep 0.3; kill -INT %d; while kill -0 %d 2>/dev/null; "
      .. "do sleep 0.05; done"):format(pid, pid))
    assert.same({ "clean" }, (runs:counts()))
    local _, status, err = runs:run("stop", text)
    assert.equal(130, status, err)
    assert.truthy(err:find("ebb runs resume stop", 1, true), err)
    assert.same({}, (runs:counts()))
  end)

  it("refuses flags without --id", function()
    local _, status, err = runs:words "run --force x.lua"
    assert.equal(2, status)
    assert.truthy(err:find("--force needs --id", 1, true), err)
  end)
end)
