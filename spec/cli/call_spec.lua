-- SPDX-License-Identifier: MIT
-- `ebb call`, `ebb run` and `ebb sandbox`: what goes in, what comes out on
-- which stream, with which status.

local cjson = require "cjson"
local program = require "support.program"
local terminal = require "support.terminal"

local ebb, box

setup(function()
  ebb = program.open()
  box = cjson.decode((ebb:run
    [[call e2b.createSandbox '{"idempotencyKey":"call"}']])).sandboxId
end)

teardown(function()
  ebb:run("sandbox kill " .. box)
  ebb:close()
end)

local function object_of(err)
  return cjson.decode(err:match "([^\n]*)\n$")
end

local function call(task, input, words)
  return ebb:run(("call e2b.%s '%s' %s"):format(task, cjson.encode(input),
    words or ""))
end

-- A file of n bytes of JSON for writeFiles.
local function large_input(n)
  local path = ebb.dir .. "/large.json"
  local file = assert(io.open(path, "w"))
  local head = ('{"sandboxId":"%s","files":[{"path":"x","content":"')
    :format(box)
  file:write(head, ("x"):rep(n - #head - 4), '"}]}')
  file:close()
  return path
end

describe("ebb call", function()
  it("prints the result as one line, and nothing else", function()
    local out, status, err = call("runCommand",
      { sandboxId = box, command = "echo hi; echo no >&2" })
    assert.equal(0, status)
    assert.equal("", err)
    assert.truthy(out:find "^{[^\n]*}\n$", out)
    assert.equal("hi\n", cjson.decode(out).stdout.text)
  end)

  it("finds the same sandbox for the same key", function()
    local out = call("createSandbox", { idempotencyKey = "call" })
    assert.is_false(cjson.decode(out).created)
    assert.equal(box, cjson.decode(out).sandboxId)
  end)

  it("reads its input from standard input", function()
    local path = ebb.dir .. "/input.json"
    local file = assert(io.open(path, "w"))
    file:write('\n { "sandboxId": "', box, '" }\n')
    file:close()
    local out, status = ebb:run("call e2b.getSandbox -", path)
    assert.equal(0, status)
    assert.equal("running", cjson.decode(out).status)
  end)

  it("refuses what is no JSON and what is no input, with status 2", function()
    for input, words in pairs {
      ["{"] = "the input is not JSON", ['{"a":1}'] = "unknown field 'a'",
      ['{"sandboxId":7}'] = "sandboxId: expected string, got",
      ["[1]"] = "e2b.getSandbox", ["{} {}"] = "the input is not JSON",
    } do
      local out, status, err = ebb:run(("call e2b.getSandbox '%s'"):format(
        input))
      assert.equal("", out)
      assert.equal(2, status, err)
      assert.truthy(err:find(words, 1, true), err)
    end
  end)

  it("needs a task, its argument, and one that there is", function()
    local _, status, err = ebb:run "call e2b.getSandbox"
    assert.equal(2, status)
    assert.truthy(err:find("sandboxId: expected string, got nil", 1, true))
    _, status, err = ebb:run "call e2b.getSandbx '{}'"
    assert.equal(1, status)
    assert.truthy(err:find("did you mean e2b.getSandbox?", 1, true), err)
  end)

  it("refuses five megabytes with the limit's name", function()
    for _, n in ipairs { 4000001, 5000001, 6000000 } do
      local out, status, err = ebb:run("call --json e2b.writeFiles -",
        large_input(n))
      assert.equal("", out)
      assert.equal(1, status)
      assert.equal("limit_exceeded", object_of(err).code, err)
    end
    local _, status, err = ebb:run("run -", large_input(17 << 20))
    assert.equal(1, status)
    assert.truthy(err:find("longer than 16777216 bytes", 1, true), err)
  end)
end)

describe("the exit status", function()
  it("is 1 for what failed, with the error as JSON", function()
    local out, status, err = call("getSandbox", { sandboxId = "nope" },
      "--json")
    assert.equal("", out)
    assert.equal(1, status)
    local object = object_of(err)
    assert.equal("not_found", object.code)
    assert.equal("e2b.getSandbox", object.task)
    assert.equal(404, object.status)
    assert.is_false(object.retryable)
  end)

  it("is 3 without a back end", function()
    local out, status, err = ebb:plain
      [[--json call e2b.getSandbox '{"sandboxId":"x"}']]
    assert.equal("", out)
    assert.equal(3, status)
    assert.equal("missing_credentials", object_of(err).code)
    assert.truthy(object_of(err).message:find("--local", 1, true))
    for _, env in ipairs { "EBB_LIBEXEC=/nowhere", "EBB_BWRAP=/nowhere" } do
      _, status, err = ebb:plain("--json --local sandbox list",
        ("EBB_STATE=%s/%s %s"):format(ebb.dir, env:sub(5, 7), env))
      assert.equal(3, status, err)
      assert.equal("no_service", object_of(err).code)
      assert.truthy(err:find("/nowhere", 1, true), err)
    end
  end)

  it("is 4 when the outcome is unknown", function()
    local other = cjson.decode((call("createSandbox",
      { idempotencyKey = "dies" }))).sandboxId
    os.execute(("( sleep 1; %s sandbox kill %s ) >%s/killed 2>&1 &"):format(
      ebb:prefix(), other, ebb.dir))
    local out, status, err = call("runCommand",
      { sandboxId = other, command = "echo begun; sleep 30" }, "--json")
    assert.equal("", out)
    assert.equal(4, status, err)
    assert.equal("outcome_unknown", object_of(err).code)
    assert.equal("begun\n", object_of(err).details.stdout.text)
  end)

  it("of a script is 1, whatever its error is", function()
    local _, status, err = ebb:script(
      "require 'e2b'.getSandbox{ sandboxId = 7 }", "")
    assert.equal(1, status)
    assert.truthy(err:find("sandboxId: expected string", 1, true), err)
  end)
end)

describe("a script", function()
  local function from_stdin(text, words)
    return ebb:run(("run %s -"):format(words or ""), ebb:write(text))
  end

  it("may come from standard input", function()
    local out, status = from_stdin "#!/usr/bin/env ebb\nreturn { a = 1 }"
    assert.equal('{"a":1}\n', out)
    assert.equal(0, status)
  end)

  it("with a syntax error is named with its line", function()
    local out, status, err = from_stdin("local x = = 1", "--json")
    assert.equal("", out)
    assert.equal(1, status)
    assert.equal("script", object_of(err).code)
    assert.truthy(object_of(err).message:find("stdin:1:", 1, true), err)
  end)

  it("that returns a function or itself is an error", function()
    for _, text in ipairs { "return print", "return { f = print }",
      "local t = {} t.t = t return t", "return 0/0" } do
      local out, status, err = from_stdin(text, "--json")
      assert.equal("", out)
      assert.equal(1, status, text)
      assert.equal("script", object_of(err).code)
      assert.truthy(err:find("the script's result", 1, true), err)
    end
  end)

  it("that calls a task with no argument is told what is missing",
    function()
      local _, status, err = from_stdin "return require 'e2b'.runCode()"
      assert.equal(1, status)
      assert.truthy(err:find("e2b.runCode: sandboxId: expected string", 1,
        true), err)
      assert.truthy(err:find("at stdin:1", 1, true), err)
    end)

  it("prints to standard output, and ebb nothing more", function()
    local out, status, err = from_stdin(([[
      print "said"
      io.stderr:write "aside\n"
      require "e2b".getSandbox{ sandboxId = "%s" }
      return "result"]]):format(box))
    assert.equal("said\nresult", out)
    assert.equal(0, status)
    assert.equal("aside\n", err)
  end)
end)

describe("ebb sandbox", function()
  it("lists for people and as JSON", function()
    local out, status = ebb:run "sandbox"
    assert.equal(0, status)
    assert.truthy(out:find("^ID .*\n" .. box .. " +running "), out)
    local list = cjson.decode((ebb:run "sandbox list --json"))
    assert.equal(1, #list)
    assert.equal(box, list[1].sandboxId)
  end)

  it("kills each that is named and says which were not alive", function()
    local id = cjson.decode((call("createSandbox",
      { idempotencyKey = "other" }))).sandboxId
    local out, status = ebb:run(("sandbox kill %s inothing"):format(id))
    assert.equal(id .. " killed\ninothing was not alive\n", out)
    assert.equal(0, status)
    out = ebb:run(("sandbox kill --json %s"):format(id))
    assert.is_false(cjson.decode(out).changed)
  end)
end)

describe("an error of a script", function()
  it("shows the script's own frames, and with --json all", function()
    local text = [[
      local ebb = require "ebb"
      local function both()
        return ebb.parallel { function() error "bad" end }
      end
      ebb.settle {}
      local list = both()
      return list]]
    local _, status, err = ebb:script(text)
    assert.equal(1, status)
    assert.truthy(err:find("^ebb: %S*script.lua:3: bad\n"
      .. "  at %S*script.lua:6: in main chunk\n$"), err)
    _, _, err = ebb:run("--json run " .. ebb:write(text))
    assert.truthy(cjson.decode(err).traceback:find("[ebb ebb]", 1, true), err)
  end)
end)

describe("progress at a terminal", function()
  it("is one line, cut at the edge, and wiped before the result", function()
    local text = terminal.play(ebb:prefix() .. (" run %s"):format(ebb:write [[
      require "ebb".sleep(0.8)
      return "done"]]), { "done" })
    assert.truthy(text:find("\27%[%?7lebb%.sleep 0%.%d s[^\27]*\27%[%?7h"),
      text)
    assert.truthy(text:find("\27%[%?7h\r\27%[Kdone\r\n$"), text)
  end)
end)

describe("a closed standard output", function()
  it("is an error that is said, not a death", function()
    local path = ebb:write "return ('x'):rep(1000000)"
    local out = program.shell(("( %s run %s; echo $? >&2 ) 2>&1 >/dev/full")
      :format(ebb:prefix(), path))
    assert.equal("ebb: cannot write the result: No space left on device\n1\n",
      out)
    out = program.shell(("( %s run %s; echo $? >&3 ) 3>%s/status 2>%s/err "
      .. "| head -c 1; sleep 0.3; cat %s/err %s/status"):format(ebb:prefix(),
      path, ebb.dir, ebb.dir, ebb.dir, ebb.dir))
    assert.equal("xebb: cannot write the result: Broken pipe\n1\n", out)
  end)

  local said = "ebb: cannot write the result: %s\n"

  it("is said, once, by what lists and by a script that prints", function()
    local full = "( %s %s; echo $? >&2 ) 2>&1 >/dev/full"
    for _, words in ipairs { "tasks", "--help", "--version", "doctor", "runs",
      "runs --json", "sandbox" } do
      local out = program.shell(full:format(ebb:prefix(), words))
      assert.equal(said:format "No space left on device" .. "1\n", out, words)
    end
    local out = program.shell(full:format(ebb:prefix(),
      "run " .. ebb:write "print(1)"))
    assert.equal(said:format "some of what was printed is lost" .. "1\n", out)
  end)

  it("is none where the reader has seen enough", function()
    for _, words in ipairs { "tasks", "run " .. ebb:write "print(1)" } do
      local out = program.shell(("( (sleep 0.3; %s %s; echo $? >&3) 2>&3 "
        .. "| true ) 3>&1"):format(ebb:prefix(), words))
      assert.equal("0\n", out)
    end
  end)

  it("or another that was closed before is no death either", function()
    local path = ebb:write "return 'x' .. (io.read 'a' or 'nothing')"
    local run = ("( %s run %s %%s; echo $? >&3 ) 3>&1"):format(ebb:prefix(),
      path)
    assert.equal("xnothing0\n", program.shell(run:format "<&-"))
    assert.equal(said:format "Bad file descriptor" .. "1\n",
      program.shell(run:format "2>&1 >&- </dev/null"))
    assert.equal("x0\n", program.shell(run:format "2>&- </dev/null"))
    assert.equal("1\n", program.shell(run:format "<&- >&- 2>&-"))
    local fresh = program.open()
    local out = program.shell(("( %s sandbox <&- >&- 2>&-; echo $? >&3 ) 3>&1")
      :format(fresh:prefix()))
    fresh:close()
    assert.equal("0\n", out) -- it prints nothing there: there is none
  end)
end)
