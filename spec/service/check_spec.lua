-- SPDX-License-Identifier: MIT

-- ebb-sandboxd --check: whether sandboxes can be isolated here, for doctor.

local service = require "support.service"

-- The line it prints and its exit status, with a variable set.
local function check(variable)
  local pipe = io.popen(("%s %s --check; echo $?")
    :format(variable or "", service.program))
  local line, status = pipe:read("l", "n")
  pipe:close()
  return line, status
end

describe("ebb-sandboxd --check", function()
  it("says that it works and what is limited (C24)", function()
    local line, status = check()
    assert.equal(0, status)
    assert.matches("^bubblewrap works; memory: ", line)
    assert.matches("pause: ", line)
  end)

  it("says why it does not and ends with status 3", function()
    local line, status = check "EBB_BWRAP=/no/such/bwrap"
    assert.equal(3, status)
    assert.equal("error: EBB_BWRAP names no program: /no/such/bwrap", line)
    line, status = check "EBB_BWRAP=/bin/false"
    assert.equal(3, status)
    assert.matches("^error: bubblewrap cannot make a sandbox here", line)
  end)

  it("keeps a service from starting that could isolate nothing", function()
    local dir = service.directory()
    local pipe = io.popen(("EBB_BWRAP=/no %s --state %s 2>&1; echo $?")
      :format(service.program, dir))
    assert.equal("error: EBB_BWRAP names no program: /no", pipe:read "l")
    assert.equal(3, pipe:read "n")
    pipe:close()
    os.execute("rm -rf " .. dir)
  end)
end)
