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
