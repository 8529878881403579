-- SPDX-License-Identifier: MIT
-- More than is asked for, on a real service: what comes back is the contract's
-- part of it, counted to the end, and nothing else suffers.

local cjson = require "cjson"
local tasks = require "support.tasks"

local t, box, on

setup(function()
  t = tasks.open()
  box = t:create "bounds"
  on = t:on(box)
end)
teardown(function() t:close() end)

local function run(...) return on.run(...) end
local function code(...) return on.code(...) end

-- A script in one process of ebb, for what must happen often; it gives JSON.
-- Between attempts it waits 5 ms instead of 1 s.
local function script(text)
  local path = t.ebb:write(([[
    local ebb, e2b = require "ebb", require "e2b"
    local box = %q
    local function run(command, max)
      return e2b.runCommand { sandboxId = box, command = command,
        maxOutputBytes = max }
    end
    %s]]):format(box, text))
  local pipe = assert(io.popen(("EBB_LIMITS=retry=5 %s run %s </dev/null 2>&1")
    :format(t.ebb:prefix(), path)))
  local out = pipe:read "a"
  assert(pipe:close(), out)
  return cjson.decode(out)
end

describe("output beyond its bound", function()
  it("of a command is counted, and the command ends as it would (B12)",
    function()
      local got = run "head -c 20000000 /dev/zero | tr '\\0' x; exit 3"
      assert.equal(3, got.exitCode)
      assert.equal(20000000, got.stdout.byteCount)
      assert.equal(65536, got.stdout.returnedBytes)
      assert.equal(("x"):rep(65536), got.stdout.text)
      assert.is_true(got.stdout.truncated)
      assert.equal("next\n", run "echo next".stdout.text)
    end)

  it("of a command costs the client no memory beyond it (C04)", function()
    if (os.getenv "EBB_BUILD" or ""):find "asan" then
      pending "a sanitizer's memory says nothing"
    end
    local function peak(bytes)
      local got, kb = t:call_peak("runCommand", { sandboxId = box,
        command = "head -c " .. bytes .. " /dev/zero", timeoutMs = 0 })
      assert.equal(bytes, ("%d"):format(got.stdout.byteCount))
      return kb
    end
    local idle = peak "1"
    local flood = peak(os.getenv "EBB_FLOOD_BYTES" or "1000000000")
    assert.is_true(flood - idle <= 4096, flood - idle)
  end)

  it("of code is counted, in one line of 20 MB and in many (B12)", function()
    for _, text in ipairs {
      "print('x' * 20000000, end='')",
      "for _ in range(20000): print('x' * 999)",
    } do
      local got = code(text)
      assert.equal(20000000, got.stdout.byteCount)
      assert.equal(65536, got.stdout.returnedBytes)
      assert.is_true(got.stdout.truncated)
      assert.equal(cjson.null, got.error)
    end
    assert.equal("next\n", code "print('next')".stdout.text)
  end)

  it("of everything at once is bounded part by part (B13)", function()
    local got, text = code([[
import sys
from IPython.display import display, Image
print('o' * 3000000, end='')
print('e' * 3000000, end='', file=sys.stderr)
for i in range(40): display(f'{i:02}' * 20000)
display(Image(data=b'\x89PNG\r\n\x1a\n' + b'p' * 1999992, format='png'))
raise ValueError('t' * 1000000)]], { maxOutputBytes = 1048576,
      maxResultBytes = 1048576, maxArtifactBytes = 2097152 })
    assert.is_true(#text <= 4000001)
    assert.equal(3000000, got.stdout.byteCount)
    assert.equal(3000000, got.stderr.byteCount)
    assert.is_true(got.stdout.truncated and got.stderr.truncated)
    assert.equal(41, #got.textResults) -- the picture has a text, too
    local sum = 0
    for i, one in ipairs(got.textResults) do
      assert.equal(i <= 40 and 40000 or #one.text, one.byteCount)
      assert.is_true(one.returnedBytes <= 1048576 // 41)
      sum = sum + one.returnedBytes
    end
    assert.is_true(sum <= 1048576)
    assert.equal(2000000, got.artifacts[1].content.byteCount)
    assert.equal(2666668, #got.artifacts[1].content.base64)
    assert.equal("ValueError", got.error.name)
  end)
end)

describe("output", function()
  it("comes byte for byte, to its last line (B09)", function()
    local rows = {
      { [[printf 'a\n\nb\n\n\nc']], "a\n\nb\n\n\nc", "" },
      { [[printf 'a\r\nb\r\n']], "a\r\nb\r\n", "" },
      { [[printf '\n']], "\n", "" },
      { [[exec >&-; echo late >&2]], "", "late\n" },
      { [[echo out; echo err >&2; exec >&- 2>&-]], "out\n", "err\n" },
    }
    for _, row in ipairs(rows) do
      local got = run(row[1])
      assert.same({ row[2], row[3] }, { got.stdout.text, got.stderr.text })
    end
    for _, n in ipairs { 65535, 65536, 65537, 1048575, 1048576 } do
      local got = run(("yes | head -c %d; exit 0"):format(n),
        { maxOutputBytes = 1048576 })
      assert.equal(("y\n"):rep(n // 2 + 1):sub(1, n), got.stdout.text)
    end
    assert.equal(4194304, run "yes | head -c 4194304".stdout.byteCount)
  end)

  it("ends only when both pipes have ended, every time (B09)", function()
    assert.same({ 1000 }, script [[
      local good = 0
      for i = 1, 1000 do
        local got = run("printf 'a\n%" .. i % 7 .. "s'; printf b >&2")
        good = good + (#got.stdout.text == math.max(2, 2 + i % 7)
          and got.stderr.text == "b" and 1 or 0)
      end
      return { good }]])
  end)

  it("keeps characters whole, however it is written and cut (B07, D12)",
    function()
      local got = script [[
        local all = {}
        local slow = "python3 -c 'import sys,time\n"
          .. "for b in \"aé€😀é😀\".encode():\n"
          .. " sys.stdout.buffer.write(bytes([b])); sys.stdout.flush()'"
        for max = 1, 17 do
          local out = run(slow, max).stdout
          all[max] = { out.text, out.returnedBytes, out.byteCount }
        end
        return all]]
      local kept = { 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10, 12, 12, 12, 12, 16,
        16 }
      for max, row in ipairs(got) do
        assert.same({ ("aé€😀é😀"):sub(1, kept[max]), kept[max], 16 }, row)
      end
    end)
end)

describe("a directory of 200,000 files", function()
  it("is counted whole and listed to the limit (C04)", function()
    assert.equal(0, run("mkdir /tmp/many && cd /tmp/many && "
      .. "seq -w 1 200000 | xargs touch", { timeoutMs = 110000 }).exitCode)
    local got = t:call("listFiles", { sandboxId = box, path = "/tmp/many",
      limit = 1000 })
    assert.same({ returned = 1000, available = 200000, limit = 1000,
      truncated = true }, got.page)
    assert.equal(1000, #got.entries)
    assert.equal("file", got.entries[1].type)
    run "rm -rf /tmp/many"
  end)
end)

describe("a file that changes while it is read", function()
  it("comes as it was at one time, or not at all (B11)", function()
    local got = script [[
      run([=[cd /tmp; (for i in $(seq 1 300); do
        head -c 300000 /dev/zero > grows; sleep 0.01; : > grows
        sleep 0.005; done) >/dev/null 2>&1 &
        until [ -s grows ]; do sleep 0.01; done]=])
      local sizes, codes = {}, {}
      for _ = 1, 60 do
        local ok, got = pcall(e2b.readFile, { sandboxId = box,
          path = "/tmp/grows", maxBytes = 400000 })
        if ok then
          assert(#got.content == got.byteCount and got.byteCount <= 300000)
          assert(not got.content:find "[^\0]")
          sizes[#sizes + 1] = got.byteCount
        elseif got.code ~= "file_not_found" then
          codes[#codes + 1] = got.code
        end
      end
      return { #sizes, codes }]]
    assert.is_true(got[1] > 0)
    for _, name in ipairs(got[2]) do assert.equal("network", name) end
  end)
end)
