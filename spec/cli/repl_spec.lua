-- SPDX-License-Identifier: MIT
-- The prompt: at a terminal, as a person types at it, and from a pipe.

local program = require "support.program"
local terminal = require "support.terminal"

local keys, type_in = terminal.keys, terminal.type
local ebb

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

-- Without `timeout`, which would pass Ctrl-C on a second time.
local function command()
  return ebb:prefix():gsub("timeout %d+ ", "") .. " repl"
end

-- Plays the steps at a prompt and ends it: what came, and the status.
local function prompt(steps, before)
  local all = { "ebb> " }
  for _, step in ipairs(steps) do
    all[#all + 1] = step
  end
  all[#all + 1] = keys.ctrl_d
  return terminal.play((before or "NO_COLOR=1 ") .. command(), all)
end

-- What a pipe gives: standard output, status, standard error.
local function piped(text, words)
  ebb:write(text)
  return ebb:run("repl " .. (words or ""), ebb.dir .. "/script.lua")
end

describe("the prompt", function()
  it("prints values and keeps globals", function()
    local text, status = prompt {
      type_in "1 + 1", "2\r\n", "ebb> ",
      type_in "x = { a = { 1, 2 }, b = 'c' }", "ebb> ",
      type_in "x", '{ a = { 1, 2 }, b = "c" }', "ebb> ",
      type_in "x.a[2], nil, 1.0", "2\r\nnil\r\n1.0\r\n", "ebb> ",
    }
    assert.equal(0, status)
    assert.falsy(text:find("\27[32m", 1, true))
  end)

  it("colours values unless NO_COLOR is set", function()
    prompt({ type_in "'x'", '\27[32m"x"\27[0m', "ebb> " }, "")
  end)

  it("takes a chunk of several lines and gives it back whole", function()
    prompt {
      type_in "for i = 1, 2 do", "...> ", type_in "print(i * 11) end",
      "11\r\n22\r\n", "ebb> ",
      keys.up, "print(i * 11) end", keys.enter, "11\r\n22\r\n", "ebb> ",
    }
  end)

  it("remembers what earlier prompts were told", function()
    prompt { type_in "'from the first'", "ebb> " }
    prompt { keys.up, "'from the first'", keys.enter,
      '"from the first"\r\n', "ebb> " }
    local file = io.popen("stat -c %a " .. ebb.dir .. "/history")
    assert.equal("600\n", file:read "a")
    file:close()
  end)

  it("never keeps a key that was typed (D06)", function()
    local key = "e2b_ca11a12eca11a12e"
    prompt({
      type_in("mine = '" .. key .. "'"), "ebb> ",
      type_in "#mine", "20\r\n", "ebb> ",
    }, "NO_COLOR=1 E2B_API_KEY=" .. key .. " ")
    local file = assert(io.open(ebb.dir .. "/history"))
    local kept = file:read "a"
    file:close()
    assert.truthy(kept:find("#mine", 1, true))
    assert.falsy(kept:find("ca11a12e", 1, true))
  end)

  it("says whose sandboxes they are", function()
    local bare = ("env -u E2B_API_KEY -u EBB_LOCAL EBB_STATE=%s "):format(
      ebb.dir) .. "%s " .. (os.getenv "EBB_BUILD" or "build") .. "/ebb repl"
    terminal.play(bare:format "", { "no E2B_API_KEY: try --local", "ebb> ",
      type_in "e2b.getSandbox{ sandboxId = 'x' }",
      "E2B_API_KEY is required", "ebb> ", keys.ctrl_d })
    terminal.play(bare:format "E2B_API_KEY=e2b_0", { "E2B_API_KEY's account",
      "ebb> ", keys.ctrl_d })
    terminal.play(bare:format "EBB_LOCAL=1", { "local sandbox service",
      "ebb> ", keys.ctrl_d })
  end)

  it("takes characters of any length", function()
    prompt { type_in "'é世🎉'", '"é世🎉"\r\n', "ebb> " }
  end)

  it("takes what is pasted as one chunk", function()
    prompt {
      terminal.send "\27[200~local a = 20\rlocal b = 3\rreturn a + b\r\27[201~",
      "23\r\n", "ebb> ",
      terminal.send "\27[200~'no\ttab, é'\27[201~ .. 1\r",
      [["no\ttab, é1"]], "ebb> ",
    }
  end)

  it("says what is wrong and goes on", function()
    local _, status = prompt {
      type_in "x = = 2", "prompt:1: unexpected symbol near '='", "ebb> ",
      type_in "error 'boom'", "prompt:1: boom", "ebb> ",
      type_in "e2b.getSandbx{}", "did you mean 'getSandbox'?", "ebb> ",
      type_in "e2b.getSandbox{ sandboxID = 'x' }",
      "unknown field 'sandboxID' (did you mean 'sandboxId'?)", "ebb> ",
      type_in "1 + 1", "2\r\n", "ebb> ",
    }
    assert.equal(1, status)
  end)

  it("ends with the status of os.exit", function()
    local _, status = prompt { type_in "os.exit(3)" }
    assert.equal(3, status)
  end)

  it("ends at SIGTERM", function()
    local _, status = terminal.play(command(),
      { "ebb> ", terminal.signal(15) })
    assert.equal(130, status)
  end)
end)

describe("completion", function()
  local function completes(typed, wanted)
    prompt { terminal.send(typed), typed, keys.tab, wanted,
      keys.ctrl_c, "^C", "ebb> " }
  end

  it("knows globals, modules and tasks", function()
    completes("setmetat", "able")
    completes("string.gma", "tch")
    completes("e2b.writeF", "iles")
  end)

  it("shows what could follow", function()
    completes("e2b.runCo", "e2b.runCode     e2b.runCommand")
  end)

  it("knows the fields of the call that is open", function()
    completes("e2b.runCommand{ sand", "boxId")
    prompt { type_in "e2b.runCommand{ sandboxId = 'x',", "...> ",
      terminal.send "  timeo", "timeo", keys.tab, "utMs",
      keys.ctrl_c, "^C", "ebb> " }
  end)
end)

describe("Ctrl-C", function()
  it("drops what was typed, at the prompt and inside a chunk", function()
    local _, status = prompt {
      terminal.send "error(", "error(", keys.ctrl_c, "^C", "ebb> ",
      type_in "if true then", "...> ", type_in "error(1)", "...> ",
      keys.ctrl_c, "^C", "ebb> ", type_in "'on'", '"on"', "ebb> ",
    }
    assert.equal(0, status)
  end)

  it("cancels the call and keeps the sandbox and the prompt", function()
    prompt {
      type_in "box = e2b.createSandbox{ idempotencyKey = 'prompt' }", "ebb> ",
      type_in "id = { sandboxId = box.sandboxId }", "ebb> ",
      type_in("e2b.runCommand{ sandboxId = id.sandboxId, "
        .. "command = 'sleep 60' }"),
      "e2b.runCommand 0.", keys.ctrl_c, "cancelled", "ebb> ",
      type_in "e2b.getSandbox(id).status", '"running"', "ebb> ",
      type_in "e2b.killSandbox(id).changed", "true", "ebb> ",
    }
  end)

  it("stops a loop that computes", function()
    prompt { type_in "while true do end", terminal.pause(0.5), keys.ctrl_c,
      "cancelled", "ebb> ", type_in "1", "1\r\n", "ebb> " }
  end)
end)

describe("a pipe", function()
  it("has each chunk run, and results alone on standard output", function()
    local out, status, err = piped
      "x = 20\nfor i = 1, 2 do\n  x = x + i\nend\nx\n\n'é'\n{ a = 1 }"
    assert.equal('23\n"é"\n{ a = 1 }\n', out)
    assert.equal(0, status)
    assert.equal("", err)
  end)

  it("goes on after an error, and has status 1", function()
    local out, status, err = piped "error 'boom'\n'after'\n"
    assert.equal('"after"\n', out)
    assert.equal(1, status)
    assert.truthy(err:find("ebb: prompt:1: boom", 1, true), err)
  end)

  it("may not end inside a statement", function()
    local out, status, err = piped "for i = 1, 2 do\nprint(i)\n"
    assert.equal("", out)
    assert.equal(1, status)
    assert.truthy(err:find("the input ends inside a statement", 1, true), err)
  end)

  it("gives and reports JSON when it is asked to", function()
    local out, status, err = piped("{ a = { 1 } }\nerror 'boom'", "--json")
    assert.equal('{"a":[1]}\n', out)
    assert.equal(1, status)
    assert.truthy(err:find('^{"attempts":.*"code":"script".*}\n$') or
      err:find('^{"code":"script".*}\n$'), err)
  end)

  it("that is empty is nothing to do", function()
    local out, status = piped ""
    assert.equal("", out)
    assert.equal(0, status)
  end)

  it("ends with 130 at Ctrl-C", function()
    ebb:write "print 'begun'\nrequire 'ebb'.sleep(60)\nprint 'not'"
    local out, status = ebb:signalled("repl <" .. ebb.dir .. "/script.lua",
      "INT")
    assert.equal("", out)
    assert.equal(130, status)
  end)

  it("ends with the status of os.exit", function()
    local out, status = piped "os.exit(5)\nprint 'not'"
    assert.equal("", out)
    assert.equal(5, status)
  end)
end)
