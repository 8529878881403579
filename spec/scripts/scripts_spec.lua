-- SPDX-License-Identifier: MIT
-- Every script in scripts/, run as people run it, on a local service with a
-- state directory of its own; each leaves no sandbox behind.

local cjson = require "cjson"

local build = os.getenv "EBB_BUILD" or "build"
local state

local function shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function ebb(words)
  return shell(("EBB_STATE=%s EBB_JOURNAL=%s/journal.db timeout 120 "
    .. "%s/ebb --local %s </dev/null"):format(state, state, build, words))
end

setup(function()
  state = shell("mktemp -d /tmp/ebb-spec.XXXXXX"):gsub("\n", "")
end)

teardown(function()
  shell(("EBB_STATE=%s timeout 60 %s/ebb serve --stop 2>&1"):format(state,
    build))
  shell("rm -rf " .. state)
end)

after_each(function()
  assert.equal("[]\n", (ebb "sandbox list --json"))
end)

-- Runs a script and returns what it printed; a failure fails the spec.
local function run(words)
  local text, status = ebb("run " .. words)
  assert.equal(0, status, text)
  return text
end

describe("scripts/hello.lua", function()
  it("greets from inside", function()
    assert.equal("hello world, this is Linux\nuser\n",
      run "scripts/hello.lua")
    assert.equal("hello Ana, this is Linux\nuser\n",
      run "scripts/hello.lua Ana")
  end)
end)

describe("scripts/report.lua", function()
  it("makes a report of 203 quarters", function()
    local report = run "scripts/report.lua"
    assert.truthy(report:find("203 quarters; unemployment was highest in "
      .. "1982: 10.7 %.", 1, true))
    assert.truthy(report:find("| 1980s | 3.1% | 7.3 % | 4.9 % |", 1, true))
    local _, rows = report:gsub("\n| %d", "")
    assert.equal(6, rows)
  end)
  it("takes another file, from any directory", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('"year","realgdp","unemp","infl"\r\n'
      .. "1961,100,5,1\r\n1962,103,7,3\r\n")
    file:close()
    local report = run("scripts/report.lua " .. path)
    os.remove(path)
    assert.truthy(report:find("2 quarters; unemployment was highest in 1962",
      1, true))
    assert.truthy(report:find("| 6.0 % | 2.0 % |", 1, true))
  end)
  it("gives a finished run's report again without a sandbox", function()
    local first = run "--id report-1 scripts/report.lua"
    assert.equal(first, run "--id report-1 scripts/report.lua")
  end)
  it("fails with Python's traceback and still kills its sandbox", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write('"year","realgdp"\n1961,100\n')
    file:close()
    local text, status = ebb("run scripts/report.lua " .. path .. " 2>&1")
    os.remove(path)
    assert.equal(1, status)
    assert.truthy(text:find("KeyError: 'unemp'", 1, true), text)
  end)
end)

describe("scripts/fanout.lua", function()
  it("runs twenty jobs and gives their results in order", function()
    local results = cjson.decode(run "scripts/fanout.lua")
    assert.equal(20, #results)
    assert.same({ below = 1000, primes = 168 }, results[1])
    assert.same({ below = 20000, primes = 2262 }, results[20])
    assert.equal(3, #cjson.decode(run "scripts/fanout.lua 3"))
  end)
end)

describe("scripts/files.lua", function()
  it("shows text, bytes and the limits", function()
    local got = cjson.decode(run "scripts/files.lua")
    assert.equal("un café\n", got.text)
    assert.equal("/+8A/g==", got.bytes)
    assert.equal("not_utf8", got.bytesAsText)
    assert.equal("limit_exceeded", got.tooLarge)
    assert.equal("file_not_found", got.missing)
    assert.same({ "blob.bin (file, 4 bytes)", "café.txt (file, 9 bytes)",
      "large (file, 300000 bytes)" }, got.entries)
  end)
end)

describe("scripts/demo.sh", function()
  it("prints the report and what to try next", function()
    local text, status = shell(("EBB_STATE=%s sh scripts/demo.sh %s 2>&1")
      :format(state, build))
    assert.equal(0, status, text)
    assert.truthy(text:find("| 1980s |", 1, true))
    assert.truthy(text:find("Try next", 1, true))
  end)
end)

it("no script is longer than sixty lines or without a spec", function()
  local seen = { hello = true, report = true, fanout = true, files = true,
    -- spec/runs/sandbox_spec.lua
    unknown_check = true, unknown_idempotent = true, unknown_restart = true }
  for path in shell("ls scripts/*.lua"):gmatch "[^\n]+" do
    local count = 0
    for _ in io.lines(path) do
      count = count + 1
    end
    assert.is_true(count < 60, path)
    assert.is_true(seen[path:match "([%w_]+)%.lua$"], path)
  end
end)
