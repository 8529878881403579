-- SPDX-License-Identifier: MIT
-- `ebb doctor`: what is there, what is missing, the fix.

local cjson = require "cjson"
local program = require "support.program"

local build = os.getenv "EBB_BUILD" or "build"
local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

-- The rows by name, and the exit status.
local function rows_of(env)
  local out, status, err = ebb:plain("doctor --json", env)
  assert.equal("", err)
  local rows = {}
  for _, row in ipairs(cjson.decode(out)) do
    rows[row.name] = row
  end
  return rows, status
end

describe("ebb doctor", function()
  it("finds everything that the tests need", function()
    local rows, status = rows_of()
    assert.equal(0, status)
    for _, name in ipairs { "ebb-sandboxd", "ebb-agent", "bubblewrap",
      "isolation", "local service", "python3" } do
      assert.is_true(rows[name].ok, name)
      assert.is_nil(rows[name].fix, name)
    end
    assert.truthy(rows.isolation.message:find("memory: ", 1, true))
  end)

  it("tells people the same in lines", function()
    local out, status = ebb:plain "doctor"
    assert.equal(0, status)
    assert.truthy(out:find "\nok       bubblewrap     bubblewrap %d", out)
    assert.truthy(out:find("absent   E2B_API_KEY", 1, true), out)
    assert.truthy(out:find("fix: export E2B_API_KEY=", 1, true), out)
    assert.falsy(out:find("\27", 1, true))
  end)

  it("says whether there is a key, and never which", function()
    local rows = rows_of "E2B_API_KEY=e2b_secret"
    assert.is_true(rows.E2B_API_KEY.ok)
    assert.equal("set", rows.E2B_API_KEY.message)
  end)

  it("misses a bubblewrap that is not there", function()
    local rows, status = rows_of "EBB_BWRAP=/nowhere/bwrap"
    assert.equal(3, status)
    assert.is_false(rows.bubblewrap.ok)
    assert.truthy(rows.bubblewrap.fix:find("apt-get install", 1, true))
    assert.is_false(rows.isolation.ok)
    assert.truthy(rows.isolation.message:find("/nowhere/bwrap", 1, true))
  end)

  it("misses a bubblewrap that cannot isolate", function()
    local rows, status = rows_of "EBB_BWRAP=/bin/false"
    assert.equal(3, status)
    assert.is_false(rows.isolation.ok)
    assert.truthy(rows.isolation.message:find("cannot make a sandbox", 1,
      true))
  end)

  it("misses ebb's own programs", function()
    local rows, status = rows_of "EBB_LIBEXEC=/nowhere"
    assert.equal(3, status)
    assert.is_false(rows["ebb-sandboxd"].ok)
    assert.is_false(rows["ebb-agent"].ok)
    assert.truthy(rows["ebb-agent"].fix:find("EBB_LIBEXEC", 1, true))
    local out = ebb:plain("doctor", "EBB_LIBEXEC=/nowhere")
    assert.truthy(out:find("MISSING  ebb-sandboxd", 1, true), out)
  end)

  it("says nothing more in a folder that was deleted", function()
    local out, status = program.shell(([[
      mkdir %s/gone && cd %s/gone && rmdir %s/gone &&
      env -u EBB_LOCAL EBB_STATE=%s timeout 60 %s/ebb doctor 2>&1 >/dev/null
    ]]):format(ebb.dir, ebb.dir, ebb.dir, ebb.dir, build))
    assert.equal("", out)
    assert.equal(0, status)
  end)

  it("runs ebb's programs wherever they are", function()
    local odd = ebb.dir .. "/it's $HOME"
    program.shell(('ln -s "$(realpath %s/libexec)" "%s"'):format(build,
      odd:gsub("%$", "\\$")))
    local rows, status = rows_of(('EBB_LIBEXEC="%s"'):format(
      (odd:gsub("%$", "\\$"))))
    assert.equal(0, status)
    assert.equal(odd .. "/ebb-sandboxd", rows["ebb-sandboxd"].message)
    assert.is_true(rows.isolation.ok, rows.isolation.message)
  end)

  it("refuses a state folder that cannot be, or is another's", function()
    local rows, status = rows_of "EBB_STATE=/etc/passwd"
    assert.equal(3, status)
    assert.is_false(rows["local service"].ok)
    local other = ebb.dir .. "/other"
    os.execute(("mkdir %s; chown 54321 %s 2>/dev/null"):format(other, other))
    if not io.popen("stat -c %u " .. other):read "a":find "54321" then
      other = "/usr" -- not root: root's own
    end
    rows, status = rows_of("EBB_STATE=" .. other)
    assert.equal(3, status)
    assert.truthy(rows["local service"].message:find(other
      .. " belongs to uid ", 1, true), rows["local service"].message)
  end)
end)
