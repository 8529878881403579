-- SPDX-License-Identifier: MIT
-- What a resumed run keeps and what it tries again.

local durable = require "support.durable"
local scripted = require "support.scripted"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)
before_each(function() runs:counts() end)

local function find(text, wanted)
  assert.truthy(text:find(wanted, 1, true), wanted .. " in:\n" .. text)
end

-- step(name) counts its executions; "bad" fails while FAIL is set.
local steps = [[
  local function step(name)
    return ebb.step(name, function()
      count(name)
      if name == "bad" and os.getenv "FAIL" then error "bad fails" end
      return name
    end)
  end
]]

local function fail(id, text)
  local _, status, err = runs:words(("run --id %s %s"):format(id,
    runs:write(steps .. text)), "FAIL=1")
  assert.equal(1, status, err)
  find(err, "bad fails")
end

local function resume(id)
  local out, status, err = runs:words("runs resume " .. id)
  assert.equal(0, status, err)
  return out, select(2, runs:counts())
end

describe("a call that was killed between its attempts", function()
  it("goes on with attempt 3 of 4, at the time that was set", function()
    local server = scripted.start { { on = "GET /files", status = 503 } }
    local words = "run --id attempts " .. runs:write [[
      local ok, e = pcall(e2b.readFile, { sandboxId = "ibox",
        path = "/tmp/a.txt" })
      return ok and "read" or e.code .. " " .. e.attempts]]
    local env = ("EBB_LOCAL= E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=e2b_"
      .. "%s EBB_LIMITS=retry=300,jitter=0 EBB_CRASH="):format(server.url,
      server.url, ("0"):rep(40))
    local out, status, err
    for _ = 1, 2 do
      _, status = runs:program(words, env .. "attempt-done:1")
      assert.equal(durable.KILLED, status)
    end
    out, status, err = runs:program(words, env)
    assert.equal(0, status, err)
    assert.equal("server 4", out)
    local at = {}
    for i, request in ipairs(server:requests "GET /files") do
      at[i] = request.at
    end
    assert.equal(4, #at)
    -- 300 ms, then twice that, and again, as it would be in one process.
    for i, least in ipairs { 0.29, 0.59, 1.19 } do
      assert.is_true(at[i + 1] - at[i] > least, at[i + 1] - at[i])
    end
    server:stop()
  end)
end)

describe("a resumed run", function()
  it("keeps what a branch had done, and tries the other again", function()
    fail("branches", [[
      local r = ebb.parallel {
        function() return step "bad" end,
        function() local x = step "good" ebb.sleep(0.1) return x end }
      return table.concat(r, "+")]])
    local out, often = resume "branches"
    assert.equal("bad+good", out)
    assert.same({ bad = 2, good = 1 }, often)
  end)

  it("decides combinators within combinators anew", function()
    fail("nested", [[
      step "early"
      ebb.parallel {
        function()
          ebb.sleep(0.05)
          ebb.parallel { function() step "bad" end,
            function() step "beside" end }
        end,
        function()
          ebb.parallel { function() step "x1" ebb.sleep(0.3) step "x2" end,
            function() step "y" end }
        end,
        function()
          local _ <close> = ebb.defer(step, "cleanup")
          step "z1"
          ebb.sleep(0.3)
          step "z2"
        end }
      return step "last"]])
    local out, often = resume "nested"
    assert.equal("last", out)
    -- Cleanup behind a step that is tried again belongs to what comes anew.
    assert.same({ early = 1, bad = 2, beside = 1, x1 = 1, x2 = 1, y = 1,
      z1 = 1, z2 = 1, cleanup = 2, last = 1 }, often)
  end)

  it("welcomes a script that was corrected", function()
    fail("corrected", [[step "first" step "bad"]])
    runs:write(steps .. [[step "first" step "other" return "well"]])
    local out, status, err = runs:words "runs resume corrected"
    assert.equal(0, status, err)
    assert.equal("well", out)
    find(err, "the script was changed")
    assert.same({ first = 1, bad = 1, other = 1 }, select(2, runs:counts()))
  end)

  it("says that its arguments are others, ended or not", function()
    local text = "ebb.sleep(0) ebb.sleep(0) return arg[1]"
    runs:run("args", text, { arguments = "first", crash = "outcome-done:1" })
    local out, status, err = runs:run("args", text, { arguments = "other" })
    assert.equal(0, status, err)
    assert.equal("other", out)
    find(err, "run args began with other arguments")
    for _, arguments in ipairs { "first", "other" } do
      out, status, err = runs:run("args", text .. " ",
        { arguments = arguments })
      assert.equal(0, status)
      assert.equal("other", out)
      find(err, "the script was changed since run args began")
      assert.equal(arguments == "other",
        err:find("began with other arguments", 1, true) ~= nil)
    end
  end)

  it("runs what may have run only by --force", function()
    local text = steps .. [[step "one" step "two" return "end"]]
    runs:run("forced", text, { crash = "outcome:2" })
    local _, status, err = runs:run("forced", text)
    assert.equal(4, status)
    find(err, "ebb runs resume forced --force")
    _, status = runs:words "runs resume forced"
    assert.equal(4, status)
    assert.same({ one = 1, two = 1 }, select(2, runs:counts()))
    local out
    out, status, err = runs:words "runs resume forced --force"
    assert.equal(0, status, err)
    assert.equal("end", out)
    assert.same({ two = 1 }, select(2, runs:counts()))
  end)

  it("is not resumed without its file", function()
    os.execute(("echo 'error \"x\"' | %s %s/ebb run --id piped - 2>/dev/null")
      :format(runs:environment(), os.getenv "EBB_BUILD" or "build"))
    local _, status, err = runs:words "runs resume piped"
    assert.equal(2, status)
    find(err, "ebb run --id piped SCRIPT")
  end)
end)
