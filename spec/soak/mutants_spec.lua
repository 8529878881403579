-- SPDX-License-Identifier: MIT
-- The simulator finds each mistake of spec/sim/mutants.lua, made in a copy of
-- this tree.

local mutants = dofile "spec/sim/mutants.lua"
local STEPS = 40000 -- the rarest need a third of that

local dir

local function shell(command, ...)
  local pipe = assert(io.popen(("cd '%s' && { %s\n} 2>&1"):format(dir or ".",
    command:format(...))))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

local function file(path, text)
  local handle = assert(io.open(dir .. "/" .. path, text and "w" or "r"))
  local read = text and handle:write(text) or handle:read "a"
  handle:close()
  return read
end

-- A mistake may leave something unused.
local function make()
  local text, status =
    shell "make -s -j2 CFLAGS='-O2 -g -Wno-error' build/spec/sim"
  assert(status == 0, text)
end

-- What the simulator says of the copy with this mistake.
local function try(path, mistaken, whole)
  file(path, mistaken)
  local ok, problem = pcall(make)
  file(path, whole)
  assert(ok, problem)
  return shell("timeout 500 build/spec/sim 1 %d", STEPS)
end

setup(function()
  local made = shell "mktemp -d /tmp/ebb-mutants.XXXXXX":gsub("\n", "")
  shell([[mkdir %s/build && cp -a Makefile runtime bindings spec %s &&
    for part in gen obj libebb.a libebb_lua.a; do
      [ ! -e build/$part ] || cp -a build/$part %s/build
    done]], made, made, made)
  dir = made
  make()
end)
teardown(function()
  local made = dir
  dir = nil
  shell("rm -rf '%s'", made)
end)

describe("the simulator finds a core that", function()
  for _, mutant in ipairs(mutants) do
    local what, path, from, to = table.unpack(mutant)
    it(what, function()
      local whole = file(path)
      local first, last = whole:find(from, 1, true)
      assert(first, path .. " has changed: see spec/sim/mutants.lua")
      local text, status = try(path,
        whole:sub(1, first - 1) .. to .. whole:sub(last + 1), whole)
      assert.equal(1, status, text)
      print(("# %s: seed %s, %s"):format(what, text:match "SEED=(%d+) STEPS",
        text:match "\nproblem: ([^\n]*)"))
    end)
  end
end)
