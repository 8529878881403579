-- SPDX-License-Identifier: MIT
-- runCode on a real service.

local cjson = require "cjson"
local system = require "system"

local tasks = require "support.tasks"

local t, on

setup(function()
  t = tasks.open()
  on = t:on(t:create "code")
end)
teardown(function() t:close() end)

local function run(...) return on.code(...) end

describe("code", function()
  it("with a NUL in it is an error, and no more than that", function()
    local got = run "x = 1\0"
    assert.equal("ValueError", got.error.name)
    assert.truthy(got.error.value:find("null bytes", 1, true))
    assert.equal("", got.stderr.text)
    assert.equal("1", run "1".textResults[1].text)
  end)

  it("shows its last value, its output and its error", function()
    local got = run [[
import sys
print('out')
print('err', file=sys.stderr)
40 + 2]]
    assert.equal("42", got.textResults[1].text)
    assert.equal("out\n", got.stdout.text)
    assert.equal("err\n", got.stderr.text)
    assert.equal(cjson.null, got.error)
    got = run "raise ValueError('é')"
    assert.equal("ValueError", got.error.name)
    assert.equal("é", got.error.value)
    assert.truthy(got.error.traceback.text:find("ValueError", 1, true))
  end)

  it("keeps its state, one for each language", function()
    run "kept = 'yes'"
    assert.equal("yes", run "print(kept, end='')".stdout.text)
    run("kept=bash", { language = "bash" })
    assert.equal("bash\n",
      run("echo $kept", { language = "bash" }).stdout.text)
  end)

  it("gets an environment for one run", function()
    assert.equal("v", run("import os; print(os.environ['V'], end='')",
      { envs = { V = "v" } }).stdout.text)
  end)

  it("must be in a language that there is", function()
    local err = on.fails.code("1", { language = "cobol" })
    assert.equal("invalid_input", err.code)
    assert.truthy(err.message:find("python, javascript", 1, true))
  end)
end)

describe("results", function()
  it("share one budget (B13)", function()
    local got = run("from IPython.display import display\n"
      .. "display('a' * 100)\ndisplay('b' * 100)\n'c' * 100",
      { maxResultBytes = 30 })
    assert.equal(3, #got.textResults)
    for _, text in ipairs(got.textResults) do
      assert.equal(10, text.returnedBytes)
      assert.is_true(text.truncated)
    end
  end)

  it("hold pictures whole or not at all (B13)", function()
    local code = [[
from IPython.display import display, Image
display(Image(data=b'\x89PNG\r\n\x1a\n' + b'x' * 92, format='png'))]]
    local got = run(code)
    assert.equal(100, got.artifacts[1].content.byteCount)
    assert.equal("image/png", got.artifacts[1].content.contentType)
    assert.equal(0, got.artifacts[1].index)
    local err = on.fails.code(code, { maxArtifactBytes = 99 })
    assert.equal("limit_exceeded", err.code)
    assert.truthy(err.message:find("e2b.readFile", 1, true))
  end)

  it("fit their cap, whatever the code prints (B13)", function()
    local got, text = run([[
import sys
print('\x01' * 3000000)
print('e' * 3000000, file=sys.stderr)
raise ValueError('t' * 1000000)]],
      { maxOutputBytes = 1048576 })
    assert.is_true(#text <= 4000001)
    assert.equal(3000001, got.stdout.byteCount)
    assert.equal(3000001, got.stderr.byteCount)
    assert.is_true(got.stdout.truncated)
    assert.equal("ValueError", got.error.name)
    assert.equal(65536, #got.error.value)
  end)
end)

describe("time", function()
  it("interrupts the code and leaves the kernel (D02)", function()
    run "kept = 'still'"
    local began = system.monotime()
    local err = on.fails.code(
      "print('so far', flush=True)\nimport time\ntime.sleep(30)",
      { timeoutMs = 700 })
    local took = system.monotime() - began
    assert.is_true(took >= 0.7 and took <= 1.7 + 0.5, took)
    assert.equal("timeout", err.code)
    assert.equal("so far\n", err.details.stdout.text)
    assert.is_true(err.details.mayStillRun)
    assert.equal("still", run "print(kept, end='')".stdout.text)
  end)
end)
