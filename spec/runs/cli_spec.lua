-- SPDX-License-Identifier: MIT
-- `ebb runs` and doctor: what people and programs see of the journal, and how
-- they go on with what it holds.

local cjson = require "cjson"
local durable = require "support.durable"

local runs

before_each(function() runs = durable.open() end)
after_each(function() runs:close() end)

local function json(words, env)
  local out, status, err = runs:words("--json " .. words, env)
  assert.equal(0, status, err)
  return cjson.decode(out)
end

local function find(text, wanted)
  assert.truthy(text:find(wanted, 1, true), wanted .. " in:\n" .. text)
end

local function state(id)
  return json("runs show " .. id).state
end

-- Fails at its second step while the variable FAIL is set.
local fails = [[
  local a = ebb.step("first", function() return count "first" end)
  local b = ebb.step("second", function()
    count "second"
    if os.getenv "FAIL" then error "no luck" end
    return "second"
  end)
  return a .. "+" .. b]]

local function fail(id)
  local _, status = runs:words(("run --id %s %s"):format(id,
    runs:write(fails)), "FAIL=1")
  assert.equal(1, status)
end

local build = os.getenv "EBB_BUILD" or "build"

-- A run that goes on until it is cancelled, with errors in a file of its own.
local function long(id)
  local script = runs:write [[
    ebb.step("first", function() return count "first" end)
    print "started"
    io.stdout:flush()
    ebb.sleep(60)]]
  local pipe = io.popen(("%s %s/ebb --local run --id %s %s </dev/null " ..
    ">%s/out 2>%s/first.err & echo $!"):format(runs:environment(), build, id,
    script, runs.dir, runs.dir))
  local pid = pipe:read "n"
  pipe:close()
  runs:wait_for "started"
  return pid
end

local function wait_for_end(pid)
  os.execute("while kill -0 " .. pid .. " 2>/dev/null; do sleep 0.1; done")
end

describe("ebb runs", function()
  it("lists runs, newest first, for people and programs", function()
    find(runs:words "runs", "no runs yet")
    assert.same({}, json "runs")
    runs:run("one", "ebb.sleep(0) return 1")
    runs:run("two", "error 'bad'")
    local list = json "runs list"
    assert.equal(2, #list)
    assert.equal("two", list[1].id)
    assert.equal("failed", list[1].state)
    assert.equal("done", list[2].state)
    assert.equal(1, list[2].stepsCount)
    assert.equal("script", json("runs show two").error.code)
    assert.equal(1, json("runs show one").result)
    local text = runs:words "runs"
    find(text, "STATE")
    find(text, "script.lua")
    runs:run("čau!", "return 1")
    text = runs:words "runs"
    find(text, "\ntwo   failed ")
    find(text, "\nčau!  done ")
  end)

  it("shows a run with its steps, and one step whole", function()
    fail "f"
    local run = json "runs show f"
    assert.equal("/", run.script:sub(1, 1))
    assert.same({ "1", "2" }, { run.steps[1].path, run.steps[2].path })
    assert.equal("first", run.steps[1].output)
    assert.equal("failed", run.steps[2].state)
    local text = runs:words "runs show f"
    find(text, "run f: failed")
    find(text, "=")
    find(text, "no luck")
    text = runs:words "runs show f --step 1"
    find(text, "step 1: first, class none, done")
    find(text, 'output:\n"first"')
    assert.equal("first", json("runs show f --step 1").output)
    find(runs:words "runs show f --step 2", "no luck")
  end)

  it("lets no name or message command the terminal", function()
    runs:run("hostile", [[
      ebb.step("n\27[31m\nx\u{9b}1m", function()
        ebb.log("info", "l\27c\nsecond")
      end)
      ebb.step("čau", function() end)
      error { code = "c\27c", message = "m\27[2J\nsecond" }]])
    local text = runs:words "runs show hostile"
    find(text, "\n+ 1     n\\x1b[31m\\x0ax\\x9b1m  ")
    find(text, "\n+ 2     čau                   ")
    find(text, "\nfailed: c\\x1bc: m\\x1b[2J\nsecond\n")
    text = text .. runs:words "runs show hostile --step 1"
    find(text, "l\\x1bc\nsecond")
    assert.is_nil(text:find "[\0-\8\11-\31\127]")
  end)

  it("names the run or step that is not there", function()
    local _, status, err = runs:words "runs show nosuch"
    assert.equal(1, status)
    find(err, "nosuch")
    runs:run("one", "return 1")
    _, status, err = runs:words "runs show one --step 7"
    assert.equal(1, status)
    find(err, "no step 7")
    _, status, err = runs:words "runs fork one --from 7"
    assert.equal(1, status)
    find(err, "run one has no step 7; `ebb runs show one` lists them")
  end)

  it("refuses words it does not know", function()
    for _, words in ipairs { "drop", "show", "cancel", "fork x", "list x",
      "show a b" } do
      local _, status = runs:words("runs " .. words)
      assert.equal(2, status, words)
    end
  end)

  it("resumes a failed run at the step that failed", function()
    fail "f"
    local _, status, err = runs:words "run --id f /dev/null"
    assert.equal(1, status)
    find(err, "ebb runs resume f")
    local out
    out, status = runs:words "runs resume f"
    assert.equal(0, status)
    assert.equal("first+second", out)
    assert.same({ "first", "second", "second" }, (runs:counts()))
    assert.equal("done", state "f")
  end)

  it("resumes every run whose process is dead", function()
    local text = [[
      ebb.step("first", function() return count(arg[1]) end)
      ebb.step("second", function() return count(arg[1] .. "2") end)
      return arg[1] ]]
    for _, id in ipairs { "a", "b", "c" } do
      local _, status = runs:run(id, text,
        { crash = "outcome-done:1", arguments = id })
      assert.equal(durable.KILLED, status)
      assert.equal("interrupted", state(id))
    end
    local out, status, err = runs:words "runs resume"
    assert.equal(0, status, err)
    assert.equal(3, #out)
    find(err, "resuming run b")
    local _, often = runs:counts()
    assert.same({ a = 1, a2 = 1, b = 1, b2 = 1, c = 1, c2 = 1 }, often)
    assert.equal("done", state "c")
    _, status, err = runs:words "runs resume"
    assert.equal(0, status)
    find(err, "no run is interrupted")
  end)

  it("does not resume a run for ever that kills its process (C21)", function()
    local _, status = runs:run("s", "ebb.sleep(0)",
      { crash = "run-opened:1" })
    assert.equal(durable.KILLED, status)
    for _ = 1, 10 do
      _, status = runs:words("runs resume", "EBB_CRASH=run-opened:1")
      assert.equal(durable.KILLED, status)
    end
    local err
    _, status, err = runs:words "runs resume"
    assert.equal(6, status)
    find(err, "ended its process 11 times in a row")
    assert.equal("stuck", state "s")
    _, status, err = runs:words "runs resume s"
    assert.equal(0, status, err)
  end)

  it("says by whom a run is owned, and takes it over if asked", function()
    local pid = long "l"
    assert.equal(pid, json("runs show l").owner.pid)
    local _, status, err = runs:words "runs resume l"
    assert.equal(6, status)
    find(err, tostring(pid))
    os.execute(("%s %s/ebb --local runs resume l --take-over" ..
      " >/dev/null 2>&1 &"):format(runs:environment(), build))
    wait_for_end(pid)
    local file <close> = assert(io.open(runs.dir .. "/first.err"))
    find(file:read "a", "the run stays interrupted")
    assert.equal(1, select(2, runs:counts()).first)
    runs:words "runs cancel l"
    while state "l" == "running" do os.execute "sleep 0.1" end
    assert.equal("cancelled", state "l")
  end)

  it("cancels a run, running or not", function()
    local pid = long "l"
    assert.equal("running", state "l")
    local _, status = runs:words "runs cancel l"
    assert.equal(0, status)
    wait_for_end(pid)
    assert.equal("cancelled", state "l")
    runs:run("i", "ebb.sleep(0) ebb.sleep(0)", { crash = "outcome-done:1" })
    assert.equal("interrupted", state "i")
    _, status = runs:words "runs cancel i"
    assert.equal(0, status)
    assert.equal("cancelled", state "i")
    _, status = runs:words "runs cancel i"
    assert.equal(1, status)
  end)

  it("forks a run before a step", function()
    fail "f"
    runs:counts()
    local out, status, err = runs:words "runs fork f --from 2"
    assert.equal(0, status, err)
    assert.equal("first+second", out)
    assert.same({ "second" }, (runs:counts()))
    local list = json "runs"
    assert.equal(2, #list)
    local id = err:match "run (%w+), from step 2 of f"
    assert.equal("f", json("runs show " .. id).forkedFrom)
    assert.equal("failed", state "f")
  end)

  it("follows a running run to its end", function()
    runs:start("l", [[
      print "started"
      io.stdout:flush()
      ebb.sleep(1)
      ebb.step("last", function() return 1 end)]])
    runs:wait_for "started"
    local out, status = runs:words "runs show l"
    assert.equal(0, status)
    find(out, "run l: running")
    find(out, "run l: done")
    find(out, "last")
  end)

  it("removes what has ended, and keeps the rest", function()
    runs:run("one", "return 1")
    runs:run("i", "ebb.sleep(0) ebb.sleep(0)", { crash = "outcome-done:1" })
    local result = json "runs prune"
    assert.same({ "one" }, result.removed)
    assert.equal("interrupted", state "i")
    assert.equal(1, #json "runs")
  end)

  it("ends the sandboxes of an interrupted run that it cancels", function()
    for _, crash in ipairs { "answered:1", "outcome-done:1" } do
      -- Killed before or after it knew the id of what it made.
      local id = crash:match "%a+"
      runs:run(id, [[
        e2b.createSandbox{ idempotencyKey = arg[1] }
        ebb.sleep(60)]], { crash = crash, arguments = id })
      assert.equal(1, #json "sandbox list")
      find(runs:words("runs show " .. id), "key " .. id)
      local _, status, err = runs:words("runs cancel " .. id)
      assert.equal(0, status, err)
      assert.equal(0, #json "sandbox list")
    end
  end)

  it("lists and ends the sandboxes that a run left", function()
    runs:run("box", [[
      local kept = e2b.createSandbox{ idempotencyKey = "kept" }
      local box = e2b.createSandbox{ idempotencyKey = "killed" }
      e2b.killSandbox{ sandboxId = box.sandboxId }
      return kept.sandboxId]])
    local run = json "runs show box"
    assert.equal(1, #run.sandboxes)
    assert.equal(run.result, run.sandboxes[1].sandboxId)
    find(runs:words "runs show box", run.result)
    assert.equal(1, #json "sandbox list")
    local result = json "runs prune --kill"
    assert.same({ run.result }, result.killed)
    assert.equal(0, #json "sandbox list")
    assert.equal(0, #json "runs")
  end)
end)

describe("ebb doctor", function()
  it("looks at every row of the journal", function()
    runs:run("one", "ebb.sleep(0)")
    local function row()
      for _, check in ipairs(cjson.decode((runs:words "doctor --json"))) do
        if check.name == "journal" then return check end
      end
    end
    assert.is_true(row().ok)
    os.execute(("printf damaged | dd of=%s/journal.db bs=1 seek=20 " ..
      "conv=notrunc 2>/dev/null"):format(runs.dir))
    assert.is_false(row().ok)
  end)
end)
