-- SPDX-License-Identifier: MIT
-- Journals on disks that are full or read-only, and journals that are damaged:
-- nothing is executed that cannot be recorded, and other runs go on.

local cjson = require "cjson"
local durable = require "support.durable"

local build = os.getenv "EBB_BUILD" or "build"
local runs

before_each(function() runs = durable.open() end)
after_each(function() runs:close() end)

local function shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function find(text, wanted)
  assert.truthy(text:find(wanted, 1, true), wanted .. " in:\n" .. text)
end

-- Runs Python on the journal, c being a connection.
local function edit(text)
  local out, status = shell(([[/usr/bin/python3 -c '
import sqlite3
c = sqlite3.connect("%s/journal.db")
%s
c.commit()' 2>&1]]):format(runs.dir, text))
  assert.equal(0, status, out)
end

local function state(id)
  local out, status, err = runs:words("--json runs show " .. id)
  assert.equal(0, status, err)
  return cjson.decode(out).state
end

local function doctor()
  for _, check in ipairs(cjson.decode((runs:words "doctor --json"))) do
    if check.name == "journal" then return check end
  end
end

local two = [[
  ebb.step("one", function() return count(arg[1] .. " one") end)
  ebb.step("two", function() return count(arg[1] .. " two") end)
  return arg[1] ]]

local function interrupt(id)
  assert.equal(durable.KILLED, select(2, runs:run(id, two,
    { crash = "outcome-done:1", arguments = id })))
end

local function resume(id)
  return runs:run(id, two, { arguments = id })
end

-- ---- disks ----

-- A place of so many kilobytes that goes with its process.
local mounts = select(2, shell("unshare -m mount -t tmpfs none /mnt 2>&1")) == 0

describe("a full disk", function()
  local text = [[
    local unknown = 0
    for i = 1, 60 do
      local ok, e = pcall(ebb.step, "step " .. i, function()
        count("step " .. i)
        return ("x"):rep(20000)
      end)
      if not ok then
        assert(e.code == "outcome_unknown", e)
        unknown = unknown + 1
      end
    end
    return unknown]]

  it("stops the run with what to do, and it goes on once there is room (A17)",
    function()
      if not mounts then
        return pending "tmpfs cannot be mounted here: no CAP_SYS_ADMIN"
      end
      local place = runs.dir .. "/small"
      local out = shell(([[mkdir %s; unshare -m sh -c '
        mount -t tmpfs -o size=600k none %s
        run() {
          %s EBB_JOURNAL=%s/journal.db timeout 60 %s/ebb run --id full %s \
            </dev/null >>%s/out 2>>%s/err
          echo $?
        }
        run; run
        mount -o remount,size=16m %s
        run']]):format(place, place, runs:environment(), place, build,
        runs:write(text), runs.dir, runs.dir, place))
      local first, second, third = out:match "(%d+)\n(%d+)\n(%d+)"
      local file <close> = assert(io.open(runs.dir .. "/err"))
      local errors = file:read "a"
      assert.same({ "6", "6", "0" }, { first, second, third }, errors)
      find(errors, "disk is full; free some space, then run again")
      local _, often = runs:counts()
      for i = 1, 60 do assert.equal(1, often["step " .. i] or 0, i) end
      local results <close> = assert(io.open(runs.dir .. "/out"))
      assert.is_true(tonumber(results:read "a") <= 2)
    end)
end)

describe("a disk that may only be read", function()
  it("stops a run before its first effect (A17)", function()
    if not mounts then
      return pending "tmpfs cannot be mounted here: no CAP_SYS_ADMIN"
    end
    interrupt "r"
    runs:counts()
    local out = shell(([[unshare -m sh -c '
      mount --bind %s %s && mount -o remount,ro,bind %s
      %s COUNTS=/dev/null timeout 60 %s/ebb run --id r %s r 2>&1 </dev/null
      echo status $?']]):format(runs.dir, runs.dir, runs.dir,
      runs:environment(), build, runs:write(two)))
    find(out, "status 6")
    find(out, "name another by --journal")
    assert.equal("interrupted", state "r")
    assert.equal("r", (resume "r"))
    assert.same({ "r two" }, (runs:counts()))
  end)
end)

-- ---- damage ----

describe("a damaged journal", function()
  it("names the run and step of a changed row; other runs go on (C21)",
    function()
      interrupt "good"
      interrupt "bad"
      edit [[c.execute("""UPDATE step SET outcome = ? WHERE run =
  (SELECT key FROM run WHERE id = ?)""", ("\"other\"", "bad"))]]
      runs:counts()
      local _, status, err = resume "bad"
      assert.equal(6, status)
      find(err, "run bad: step 1 is damaged")
      local check = doctor()
      assert.is_false(check.ok)
      find(check.message, "bad")
      assert.equal("good", (resume "good"))
      assert.same({ "good two" }, (runs:counts()))
    end)

  it("of a newer ebb is left alone (C21)", function()
    interrupt "r"
    edit [[c.execute("PRAGMA user_version = 99")]]
    runs:counts()
    local _, status, err = resume "r"
    assert.equal(6, status)
    find(err, "schema 99")
    find(err, "use a newer ebb")
    assert.same({}, (runs:counts()))
  end)

  it("that was cut short is said to be damaged, and not written (C21)",
    function()
      interrupt "r"
      edit [[c.execute("PRAGMA wal_checkpoint(TRUNCATE)")]]
      runs:counts()
      local function bytes()
        return (shell(("md5sum <%s/journal.db"):format(runs.dir)))
      end
      shell(("truncate -s 9000 %s/journal.db; rm -f %s/journal.db-*"):format(
        runs.dir, runs.dir))
      local before = bytes()
      local _, status, err = resume "r"
      assert.equal(6, status)
      find(err, "the journal is damaged")
      find(err, "ebb doctor")
      assert.is_false(doctor().ok)
      assert.equal(before, bytes())
      assert.same({}, (runs:counts()))
    end)

  it("without its log has no run rather than half of one (C21)", function()
    interrupt "old"
    interrupt "new"
    runs:counts()
    -- Killed processes leave what they wrote in the log.
    shell(("rm %s/journal.db-wal"):format(runs.dir))
    local out, status, err = resume "new"
    assert.equal(0, status, err)
    assert.equal("new", out)
    assert.is_true(doctor().ok)
  end)
end)
