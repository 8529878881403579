-- SPDX-License-Identifier: MIT
-- What a run keeps and what it has no room for: results up to their limit,
-- commands after their sandbox, everything at os.exit; and what a run with the
-- id of one that was removed does not find.

local cjson = require "cjson"
local durable = require "support.durable"
local system = require "system"

local runs

setup(function() runs = durable.open() end)
teardown(function() runs:close() end)
before_each(function() runs:counts() end)

local function find(text, wanted)
  assert.truthy(text:find(wanted, 1, true), wanted .. " in:\n"
    .. text:sub(1, 2000))
end

local function show(id)
  return cjson.decode((runs:words("--json runs show " .. id)))
end

-- As JSON a string has two bytes more.
local LIMIT = 4000000

describe("a result", function()
  local text = [[
    local sizes, kept = {}, {}
    for n in arg[1]:gmatch "%d+" do sizes[#sizes + 1] = tonumber(n) end
    for i, n in ipairs(sizes) do
      local ok, e = pcall(ebb.step, "step " .. i, function()
        count(tostring(n))
        return ("x"):rep(n)
      end)
      kept[i] = ok and #e or e.code .. ": " .. e.message
    end
    return kept]]

  it("of a step is kept whole up to its limit, else is an error that says "
    .. "size and limit (B15)", function()
    local sizes = { 0, 1, 70000, LIMIT - 2, LIMIT - 1, 100000000 }
    local options = { arguments = table.concat(sizes, ","),
      crash = "run-end:1" }
    local _, status = runs:run("sizes", text, options)
    assert.equal(durable.KILLED, status)
    options.crash = nil
    local out, err
    out, status, err = runs:run("sizes", text, options)
    assert.equal(0, status, err)
    local kept = cjson.decode(out)
    for i = 1, 4 do assert.equal(sizes[i], kept[i]) end
    for i = 5, 6 do
      find(kept[i], "limit_exceeded: ")
      find(kept[i], ("has %d bytes as JSON"):format(sizes[i] + 2))
      find(kept[i], tostring(LIMIT))
    end
    local _, often = runs:counts()
    for _, n in ipairs(sizes) do assert.equal(1, often[tostring(n)], n) end
  end)

  it("of a run is kept up to the same limit, else fails it (B15)", function()
    local returns = "return ('x'):rep(tonumber(arg[1]))"
    local out, status, err = runs:run("most", returns,
      { arguments = LIMIT - 2 })
    assert.equal(0, status, err)
    assert.equal(LIMIT - 2, #out)
    assert.equal(out, (runs:run("most", returns)))
    for _ = 1, 2 do
      out, status, err = runs:run("more", returns, { arguments = LIMIT - 1 })
      assert.equal(1, status)
      assert.equal("", out)
      find(err, "run more ended with has 4000001 bytes as JSON, at most "
        .. "4000000 are kept")
    end
    assert.equal("failed", show "more".state)
    assert.equal("limit_exceeded", show "more".error.code)
  end)

  it("of ten thousand steps is gone through in a second (B15)", function()
    local many = [[
      local sum, branches = 0, {}
      for i = 1, 100 do
        branches[i] = function()
          for j = 1, 100 do
            local n = ebb.step("add", function() return j end,
              { class = "read" })
            sum = sum + n
          end
        end
      end
      ebb.parallel(branches)
      return sum]]
    assert.equal(durable.KILLED, select(2, runs:run("many", many,
      { crash = "run-end:1" })))
    local began = system.monotime()
    local out, status, err = runs:run("many", many)
    local took = system.monotime() - began
    assert.equal(0, status, err)
    assert.equal("505000\n", out)
    assert.is_true(took < 1, took)
    assert.equal(10001, show "many".stepsCount)
  end)
end)

describe("what a command did", function()
  it("is there after its sandbox and its service (D10)", function()
    local _, status, err = runs:run("command", [[
      local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
      e2b.runCommand { sandboxId = box.sandboxId,
        command = "echo out; echo err >&2; exit 3" }
      e2b.runCommand { sandboxId = box.sandboxId, maxOutputBytes = 4,
        command = "yes | head -c 100000" }
      e2b.getSandboxLogs { sandboxId = box.sandboxId }
      e2b.killSandbox { sandboxId = box.sandboxId }]])
    assert.equal(0, status, err)
    runs:words "serve --stop"
    local steps = show "command".steps
    assert.equal(3, steps[2].output.exitCode)
    assert.equal("out\n", steps[2].output.stdout.text)
    assert.equal("err\n", steps[2].output.stderr.text)
    assert.equal(0, steps[3].output.exitCode)
    assert.equal(100000, steps[3].output.stdout.byteCount)
    assert.is_true(steps[3].output.stdout.truncated)
    assert.is_true(#steps[4].output.logs > 0)
    find((runs:words "runs show command --step 2"), "exit 3")
  end)
end)

describe("os.exit", function()
  local function exits(id, text)
    local _, status, err = runs:run(id, text)
    assert.equal(9, status, err)
    local run = show(id)
    assert.equal("failed", run.state)
    assert.equal(9, run.error.details.exitStatus)
    assert.equal("last words", run.log[#run.log].message)
    return run
  end

  it("writes what was said, in a step, a finalizer, a branch (C10)", function()
    local run = exits("in-step", [[
      ebb.step("one", function() return 1 end)
      ebb.step("exits", function() ebb.log("info", "last words") os.exit(9) end)
      count "never"]])
    assert.equal("done", run.steps[1].state)
    exits("in-finalizer", [[
      setmetatable({}, { __gc = function() os.exit(9) end })
      ebb.log("info", "last words")
      collectgarbage()
      ebb.step("next", function() return 1 end)
      count "never"]])
    run = exits("in-branch", [[
      local branches = { function()
        ebb.sleep(0.01)
        ebb.log("info", "last words")
        os.exit(9)
      end }
      for i = 2, 11 do branches[i] = function() ebb.sleep(60) end end
      ebb.parallel(branches)
      count "never"]])
    assert.is_true(#run.steps >= 11)
    assert.same({}, (runs:counts()))
  end)
end)

describe("a run with the id of one that was removed", function()
  local text = [[
    ebb.step("own", function() return count(arg[1]) end)
    return arg[1] ]]

  it("does its own work (A14)", function()
    assert.equal("first", (runs:run("again", text, { arguments = "first" })))
    assert.equal("first", (runs:run("again", text, { arguments = "second" })))
    local result = cjson.decode((runs:words "--json runs prune"))
    assert.truthy(table.concat(result.removed, " "):find "again")
    assert.equal("second", (runs:run("again", text,
      { arguments = "second" })))
    assert.same({ "first", "second" }, (runs:counts()))
  end)

  it("takes an id of any characters, or says what an id is (A14)", function()
    local path = runs:write(text)
    local function run(id)
      return runs:words(("run --id '%s' %s mine"):format(id, path))
    end
    for _, id in ipairs { "1", ("x"):rep(255), "UPPER case and spaces", "é😀",
      "a/b", "-" } do
      runs:counts()
      local out, status, err = run(id)
      assert.equal(0, status, err)
      assert.equal("mine", out)
      assert.equal("mine", (run(id)))
      assert.same({ "mine" }, (runs:counts()), id)
      assert.equal("done",
        cjson.decode((runs:words(("--json runs show '%s'"):format(id)))).state)
    end
    for _, id in ipairs { "", ("x"):rep(256), ("x"):rep(10000), "a\rb", "a\nb",
      "\127", "a\xff" } do
      local out, status, err = run(id)
      assert.is_true(status == 1 or status == 2, status)
      assert.equal("", out)
      find(err, "the id of a run")
    end
    assert.same({}, (runs:counts()))
  end)
end)
