-- SPDX-License-Identifier: MIT
-- Neither the journal nor what is shown of it tells what a call's envs hold,
-- nor the key (D06).

local program = require "support.program"

local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

local function script(secret, after)
  return ([[
    local e2b, ebb = require "e2b", require "ebb"
    local box = e2b.createSandbox { idempotencyKey = "journal",
      envs = { A = "first-ca11a12e" } }.sandboxId
    e2b.runCommand { sandboxId = box, command = "true",
      envs = { B = %q } }
    pcall(e2b.runCode, { sandboxId = box, code = "1", language = "cobol",
      envs = { B = %q } })
    %s
    e2b.killSandbox { sandboxId = box }]]):format(secret, secret, after)
end

local function journal()
  local pipe = assert(io.popen("cat " .. ebb.dir .. "/journal.db*"))
  local bytes = pipe:read "a"
  pipe:close()
  return bytes
end

describe("a durable run", function()
  it("keeps no value of envs, and sees all the same that one has changed "
    .. "(D06)", function()
    local words = "run --json --id secrets "
    ebb:run(words .. ebb:write(script("second-ca11a12e",
      "os.execute 'kill -9 $PPID'")))
    local kept = journal()
    assert.truthy(kept:find('"B":"(hidden)"', 1, true))
    assert.falsy(kept:find("ca11a12e", 1, true))
    local out, status, err = ebb:run(words
      .. ebb:write(script("third-ca11a12e", "")))
    assert.equal(5, status, err)
    for _, text in ipairs { out, err, journal(),
      (ebb:run "runs show secrets --step 2"), (ebb:run "runs show secrets") } do
      assert.falsy(text:find("ca11a12e", 1, true), text)
    end
    ebb:run(words .. ebb:write(script("second-ca11a12e", "")))
  end)
end)
