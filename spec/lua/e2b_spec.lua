-- SPDX-License-Identifier: MIT
-- The tasks as Lua sees them, on a real service.

local cjson = require "cjson"
local program = require "support.program"

local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

local head = [[
local e2b, ebb = require "e2b", require "ebb"
local box = e2b.createSandbox{ idempotencyKey = ebb.uuid() }
local id = box.sandboxId
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })
]]

-- What the script returns, with a sandbox `id` at hand.
local function run(text)
  local out, status, err = ebb:script(head .. text)
  assert.equal(0, status, err)
  return cjson.decode(out)
end

describe("results", function()
  it("have null members absent and empty lists as lists", function()
    local got = run [[
      local run = e2b.runCode{ sandboxId = id, code = "1 + 1" }
      e2b.runCommand{ sandboxId = id, command = "mkdir empty" }
      local list = e2b.listFiles{ sandboxId = id, path = "empty" }
      return { run.error == nil, run.textResults[1].text,
        math.type(run.executionCount), list.entries }]]
    assert.same({ true, "2", "integer", {} }, got)
  end)

  it("keep integers exact and bytes whole", function()
    local got = run [[
      local all = "AAECAwQFBgcICQoLDA0ODw=="
      e2b.writeFiles{ sandboxId = id, files = { { path = "/tmp/b",
        encoding = "base64", content = all } } }
      local read = e2b.readFile{ sandboxId = id, path = "/tmp/b",
        encoding = "base64" }
      return { read.content == all, read.byteCount,
        math.type(read.byteCount) }]]
    assert.same({ true, 16, "integer" }, got)
  end)
end)

describe("inputs", function()
  it("may be whole floats where an int is wanted", function()
    local got = run [[
      return e2b.listFiles{ sandboxId = id, path = "/", limit = 2.0 }
        .page.returned]]
    assert.equal(2, got)
  end)

  it("are named by task and path when they are wrong", function()
    local got = run [[
      local said = {}
      local function try(task, input)
        local _, e = pcall(e2b[task], input)
        said[#said + 1] = e.code .. " " .. e.message
      end
      try("writeFiles", { sandboxId = id, files = {} })
      try("writeFiles", { sandboxId = id, files = { { path = "x",
        content = "a\xff" } } })
      try("runCommand", { sandboxId = id, command = "x", tiemoutMs = 1 })
      return said]]
    assert.truthy(got[1]:find("^invalid_input e2b%.writeFiles: files: "),
      got[1])
    assert.equal("invalid_input e2b.writeFiles: files[1].content: a string "
      .. "that is not UTF-8 (send base64)", got[2])
    assert.truthy(got[3]:find("did you mean 'timeoutMs'", 1, true), got[3])
  end)
end)

describe("errors", function()
  it("are tables with one readable line", function()
    local got = run [[
      local ok, e = pcall(e2b.readFile, { sandboxId = id,
        path = "/tmp/none" })
      return { e.code, e.task, e.sandboxId == id, e.retryable, e.attempts,
        tostring(e) }]]
    assert.equal("file_not_found", got[1])
    assert.equal("e2b.readFile", got[2])
    assert.same({ true, false, 1 }, { got[3], got[4], got[5] })
    assert.truthy(got[6]:find("^e2b%.readFile: .*%(file_not_found%)"), got[6])
    assert.falsy(got[6]:find("\n"))
  end)
end)

describe("scripts", function()
  it("run commands at once on one thread", function()
    local got = run [[
      local jobs = {}
      for i = 1, 10 do
        jobs[i] = function()
          return e2b.runCommand{ sandboxId = id,
            command = "sleep 0.5; echo " .. i }.stdout.text
        end
      end
      local began = ebb.monotonic()
      local results = ebb.parallel(jobs)
      return { table.concat(results), ebb.monotonic() - began < 4 }]]
    assert.same({ "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", true }, got)
  end)

  it("may call tasks in generators", function()
    local got = run [[
      local function lines(path)
        return coroutine.wrap(function()
          for n = 1, 3 do
            coroutine.yield(e2b.runCommand{ sandboxId = id,
              command = "sed -n " .. n .. "p " .. path }.stdout.text)
          end
        end)
      end
      e2b.writeFiles{ sandboxId = id, files = { { path = "/tmp/l",
        content = "a\nb\nc\n" } } }
      local all = ""
      for line in lines "/tmp/l" do all = all .. line end
      return { all }]]
    assert.same({ "a\nb\nc\n" }, got)
  end)

  it("end a command that takes too long and keep the sandbox", function()
    local got = run [[
      local ok, e = pcall(ebb.timeout, 0.5, e2b.runCommand,
        { sandboxId = id, command = "sleep 77" })
      local left = e2b.runCommand{ sandboxId = id,
        command = "pgrep -fc '^sleep 77' || true" }
      return { e.code, left.stdout.text }]]
    assert.same({ "timeout", "0\n" }, got)
  end)
end)

describe("the types for editors", function()
  it("are made from the registry as it is", function()
    local made = ebb.dir .. "/e2b.lua"
    local ok = os.execute(("%s tasks --json | lua5.4 "
      .. "bindings/lua/types/generate.lua > %s && "
      .. "cmp -s %s bindings/lua/types/e2b.lua"):format(ebb:prefix(), made,
      made))
    assert.truthy(ok, "run bindings/lua/types/generate.lua again")
  end)
end)
