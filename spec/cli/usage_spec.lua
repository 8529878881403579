-- SPDX-License-Identifier: MIT
-- How the program is spoken to: help, wrong words, the form of errors.

local cjson = require "cjson"
local program = require "support.program"

local ebb
local commands = { "run", "call", "repl", "tasks", "sandbox", "doctor" }

setup(function() ebb = program.open() end)
teardown(function() ebb:close() end)

-- The last line of standard error as the object it must be.
local function object_of(err)
  return cjson.decode(err:match "([^\n]*)\n$")
end

describe("help", function()
  it("of the program names every command", function()
    local out, status, err = ebb:plain "--help"
    assert.equal(0, status)
    assert.equal("", err)
    for _, name in ipairs(commands) do
      assert.truthy(out:find("\n  " .. name .. " ", 1, true), name)
    end
    assert.equal(out, (ebb:plain "help"))
    assert.equal(out, (ebb:plain "-h"))
  end)

  it("of each command is its usage on standard output", function()
    for _, name in ipairs(commands) do
      local out, status, err = ebb:plain(name .. " --help")
      assert.equal(0, status)
      assert.equal("", err)
      assert.equal("usage: ebb " .. name .. " ", out:sub(1, 12 + #name))
    end
    local out, status = ebb:plain "serve --help"
    assert.equal(0, status)
    assert.truthy(out:find("--listen HOST:PORT", 1, true))
  end)

  it("is what a call without words is told, with status 2", function()
    local out, status, err = ebb:plain ""
    assert.equal("", out)
    assert.equal(2, status)
    assert.truthy(err:find("usage: ebb", 1, true))
  end)

  it("tells the version", function()
    local out, status = ebb:plain "--version"
    assert.equal(0, status)
    assert.truthy(out:find "^ebb %d+%.%d+%.%d+%S*\n$", out)
  end)
end)

describe("wrong usage", function()
  local wrong = {
    { "nope", "there is no command 'nope'" },
    { "--nope", "unknown option --nope" },
    { "run", "which script?" },
    { "run --nope x.lua", "ebb run: unknown option --nope" },
    { "run --id", "--id needs a value" },
    { "call", "which task?" },
    { "call a b c", "one JSON argument, got 2" },
    { "call --nope", "ebb call: unknown option --nope" },
    { "repl x", "no arguments, got 'x'" },
    { "tasks a b", "one name at most" },
    { "sandbox nope", "unknown action 'nope'" },
    { "sandbox kill", "kill which sandbox?" },
    { "sandbox list x", "list takes no argument" },
    { "doctor x", "no arguments, got 'x'" },
    { "serve --stop now", "--stop stands alone" },
  }

  it("is said with the usage, and has status 2", function()
    for _, case in ipairs(wrong) do
      local out, status, err = ebb:plain(case[1])
      assert.equal("", out)
      assert.equal(2, status, case[1])
      assert.truthy(err:find(case[2], 1, true), err)
      assert.truthy(err:find("\nusage: ebb", 1, true), err)
    end
  end)

  it("is one object with --json", function()
    for _, case in ipairs(wrong) do
      if not case[1]:find "^serve" then
        local _, status, err = ebb:plain("--json " .. case[1])
        assert.equal(2, status, case[1])
        local object = object_of(err)
        assert.equal("invalid_input", object.code)
        assert.truthy(object.message:find(case[2], 1, true), err)
      end
    end
  end)

  it("of serve is the service's to say", function()
    local _, status, err = ebb:plain "serve --nope"
    assert.equal(2, status)
    assert.truthy(err:find("unknown option '--nope'", 1, true), err)
  end)
end)

describe("ebb tasks", function()
  it("lists the twelve, for people and as JSON", function()
    local out, status = ebb:plain "tasks"
    assert.equal(0, status)
    local _, count = out:gsub("e2b%.%w+ ", "")
    assert.equal(12, count)
    assert.equal(12, #cjson.decode((ebb:plain "tasks --json")))
  end)

  it("shows one by its name, with or without e2b.", function()
    local out = ebb:plain "tasks runCode"
    assert.truthy(out:find("maxArtifactBytes", 1, true))
    assert.equal(out, (ebb:plain "tasks e2b.runCode"))
    assert.equal("e2b.runCode",
      cjson.decode((ebb:plain "tasks runCode --json")).name)
  end)

  it("names what it does not know", function()
    local out, status, err = ebb:plain "tasks nope"
    assert.equal("", out)
    assert.equal(2, status)
    assert.truthy(err:find("there is no task 'nope'", 1, true))
  end)
end)
