-- SPDX-License-Identifier: MIT
-- `ebb call --id`: one task as a durable run.

local cjson = require "cjson"
local durable = require "support.durable"

local runs, box

setup(function()
  runs = durable.open()
  local out = runs:words
    [[call --id make e2b.createSandbox '{"idempotencyKey":"call-spec"}']]
  box = cjson.decode(out).sandboxId
end)

teardown(function()
  runs:words("sandbox kill " .. box)
  runs:close()
end)

-- A command that leaves a line behind, under the id of its name.
local function append(name, env)
  return runs:words(([[call --id %s e2b.runCommand ]] ..
    [['{"sandboxId":"%s","command":"echo %s | tee -a list"}']]):format(name,
    box, name), env)
end

local function lines(name)
  local out = runs:words(([[call e2b.runCommand ]] ..
    [['{"sandboxId":"%s","command":"grep -c %s list"}']]):format(box, name))
  return math.tointeger(tonumber(cjson.decode(out).stdout.text))
end

describe("ebb call --id", function()
  it("prints the same result again and executes nothing", function()
    local first, status, err = append "once"
    assert.equal(0, status, err)
    assert.truthy(first:find "^{[^\n]*}\n$", first)
    assert.equal(first, (append "once"))
    assert.equal(1, lines "once")
  end)

  it("goes on after a crash, a command at most once", function()
    local _, status = append("before", "EBB_CRASH=connected:1")
    assert.equal(durable.KILLED, status)
    _, status = append "before"
    assert.equal(0, status)
    assert.equal(1, lines "before")
    _, status = append("after", "EBB_CRASH=answered:1")
    assert.equal(durable.KILLED, status)
    _, status = append "after"
    assert.equal(4, status)
    assert.equal(1, lines "after")
  end)

  it("is resumed by `ebb runs resume` as any run", function()
    local _, status = append("swept", "EBB_CRASH=connected:1")
    assert.equal(durable.KILLED, status)
    local out, err
    out, status, err = runs:words "runs resume"
    assert.equal(0, status, err)
    assert.equal("swept\n", cjson.decode(out).stdout.text)
    assert.truthy((runs:words "runs"):find("ebb call", 1, true))
  end)

  it("refuses another input under the same id", function()
    append("same", "EBB_CRASH=answered:1")
    local _, status, err = runs:words(([[call --id same e2b.runCommand ]] ..
      [['{"sandboxId":"%s","command":"true"}']]):format(box))
    assert.equal(5, status)
    assert.truthy(err:find("recorded", 1, true), err)
  end)

  it("says what is wrong with a task or its input", function()
    local _, status, err = runs:words "call --id bad1 e2b.runComand"
    assert.equal(1, status)
    assert.truthy(err:find("did you mean 'runCommand'", 1, true), err)
    _, status, err = runs:words "call --id bad2 runCommand"
    assert.equal(1, status)
    assert.truthy(err:find("there is no task runCommand", 1, true), err)
    _, status, err = runs:words "call --id bad3 e2b.runCommand '{'"
    assert.equal(2, status)
    assert.truthy(err:find("the input is not JSON", 1, true), err)
  end)
end)
