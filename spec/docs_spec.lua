-- SPDX-License-Identifier: MIT
-- What is written about ebb agrees with ebb.

local build = os.getenv "EBB_BUILD" or "build"

local function shell(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function read_file(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

local function ebb(words) return (shell(build .. "/ebb " .. words)) end

describe("docs/ebb.1", function()
  -- Without the marks of fonts and of hyphens.
  local page = read_file "docs/ebb.1":gsub("\\f%u", ""):gsub("\\%-", "-")

  it("is clean to groff", function()
    if select(2, shell "command -v groff >/dev/null") ~= 0 then
      pending "no groff here"
      return
    end
    assert.equal("", (shell
      "groff -man -Tutf8 -ww -rF0 docs/ebb.1 2>&1 >/dev/null"))
  end)

  it("names every command and every option of its help", function()
    for name in ebb "--help":gmatch "\n  (%l+)  " do
      assert.truthy(page:find("ebb " .. name, 1, true), name)
      for option in ebb(name .. " --help"):gmatch "%-%-%l[%l-]*" do
        assert.truthy(page:find(option, 1, true), name .. " " .. option)
      end
    end
  end)

  it("names every variable that the program reads", function()
    local known = { TERM = true, PATH = true, EBB_CRASH = true } -- of tests
    for name in shell("grep -rhoE 'getenv\\(\"[A-Z0-9_]+\"\\)' runtime "
      .. "bindings"):gmatch '"(.-)"' do
      assert.is_true(known[name] or page:find(name, 1, true) ~= nil, name)
    end
  end)

  it("names the code of every status that is not 1", function()
    local list = read_file "runtime/base/err.h"
    local count = 0
    for name, status in list:gmatch
      'X%(EBB_[%u_0-9]+, "([%l_0-9]+)", %l+, (%d+)%)' do
      count = count + 1
      if status ~= "1" and name ~= "cancelled" then
        assert.truthy(page:find(name, 1, true), name)
      end
      assert.truthy(page:find("\n.B " .. status .. "\n", 1, true), status)
    end
    assert.is_true(count > 20)
  end)
end)

describe("docs/reference.md", function()
  it("is what the registry of tasks says", function()
    assert.equal(read_file "docs/reference.md",
      (shell(build .. "/ebb tasks --json | lua5.4 docs/reference.lua")))
  end)
end)

describe("README.md", function()
  it("shows what its script prints", function()
    local program = require "support.program"
    local text = read_file "README.md"
    local own = program.open()
    local out, status, err = own:script((text:match "```lua\n(.-)```"))
    own:close()
    assert.equal(0, status, err)
    assert.equal(text:match "ebb %-%-local run readme.lua\n(.-)\n```", out)
  end)

  it("names commands that there are", function()
    local help = ebb "--help"
    for name in read_file "README.md":gmatch "`build/ebb ([^`]+)`" do
      name = name:gsub("%-%-%l+ ", ""):match "^%l+"
      assert.truthy(help:find("\n  " .. name .. " ", 1, true), name)
    end
  end)
end)

describe("docs/architecture.md", function()
  it("has every folder of the lint of layers, and no other", function()
    local text, seen = read_file "docs/architecture.md", {}
    for _, row in ipairs(require "lint.layers".table) do
      if row.dir ~= "runtime/sandbox" then -- protocol.h alone
        seen[row.dir] = true
        assert.truthy(text:find("`" .. row.dir .. "`", 1, true) or
          text:find(row.dir:match "[^/]+$", 1, true), row.dir)
      end
    end
    for dir in text:gmatch "\n| `([%l%d_/]+)`" do
      assert.is_true(seen[dir], dir)
    end
  end)
end)

describe("every document", function()
  it("names only files that are there", function()
    local tracked = shell "git ls-files README.md CONTRIBUTING.md docs/*.md"
    for path in tracked:gmatch "[^\n]+" do
      for name in read_file(path):gmatch "`([%w_/.-]+)`" do
        local top = name:match "^([%w_.-]+)/"
        if top and select(2, shell("test -e " .. top)) == 0
          and not name:find "^build/" then
          assert.equal(0, select(2, shell("test -e " .. name)),
            path .. " names " .. name)
        end
      end
    end
  end)
end)
