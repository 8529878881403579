-- SPDX-License-Identifier: MIT
-- The lints of the tree, as TAP: lua5.4 spec/lint/run.lua BUILD
--   --root DIR    the tree to check instead of this one
--   --only NAME   one check
-- A diagnostic follows its "not ok" as a comment; "# note" asks why something
-- is unusually long and fails nothing.

package.path = arg[0]:gsub("lint/run%.lua$", "?.lua") .. ";" .. package.path

local layers = require "lint.layers"
local sizes = require "lint.sizes"
local texts = require "lint.texts"
local tools = require "lint.tools"
local Tree = require "lint.tree"

local checks = {
  { "layers", "no folder includes what is above it", layers.check },
  { "owners", "each third-party header has one owner", layers.check_owners },
  { "files", "no file is too long", sizes.check_files },
  { "functions", "no function is too long", sizes.check_functions },
  { "columns", "no line is too wide", sizes.check_columns },
  { "spdx", "every source names its licence", texts.check_spdx },
  { "private", "no file names a private path", texts.check_private },
  { "cleanup", "bindings use no cleanup attribute", texts.check_cleanup },
  { "attribute", "attributes are named in attr.h", texts.check_attribute },
  { "open-ends", "nothing is left to be done", texts.check_open_ends },
  { "luacheck", "luacheck finds nothing", tools.luacheck },
  { "clang-tidy", "clang-tidy finds nothing", tools.clang_tidy },
}

local function options(args)
  local out = { build = args[1] or "build", root = "." }
  for index = 2, #args, 2 do
    out[args[index]:gsub("^%-%-", "")] = args[index + 1]
  end
  return out
end

local function run(check, number, tree, build)
  local name, promise, fn = table.unpack(check)
  local problems, notes, skip = fn(tree, build)
  local line = ("ok %d - %s: %s"):format(number, name, promise)
  if skip then
    print(line .. " # SKIP " .. skip)
  else
    print(#problems == 0 and line or "not " .. line)
  end
  for _, problem in ipairs(problems) do
    print("# " .. problem)
  end
  for _, note in ipairs(notes or {}) do
    print("# note " .. note)
  end
  return #problems == 0
end

local function main()
  local wanted = options(arg)
  local tree = Tree.open(wanted.root)
  local number, ok = 0, true
  for _, check in ipairs(checks) do
    if not wanted.only or wanted.only == check[1] then
      number = number + 1
      ok = run(check, number, tree, wanted.build) and ok
    end
  end
  print("1.." .. number)
  os.exit(ok and number > 0)
end

main()
