-- SPDX-License-Identifier: MIT
-- What must stand, or must not stand, in the text of files.

local Tree = require "lint.tree"

local texts = {}

local spdx = {
  { suffixes = { ".c", ".h" }, line = "/* SPDX-License-Identifier: MIT */" },
  { suffixes = { ".lua" }, line = "-- SPDX-License-Identifier: MIT" },
  { suffixes = { ".js", ".java", ".proto" },
    line = "// SPDX-License-Identifier: MIT" },
  { suffixes = { ".py", ".sh", ".R" },
    line = "# SPDX-License-Identifier: MIT" },
}

-- The first line, or the second after a line of #!.
function texts.check_spdx(tree)
  local problems = {}
  for _, kind in ipairs(spdx) do
    for _, path in ipairs(tree:find({ "" }, kind.suffixes)) do
      local text = tree:read(path):gsub("^#![^\n]*\n", "")
      if not path:find("^spec/fixtures/")
          and text:match("^[^\n]*") ~= kind.line then
        problems[#problems + 1] = ("%s:1: must begin with '%s'")
          :format(path, kind.line)
      end
    end
  end
  return problems
end

-- Where the authors keep their notes is nobody else's business, and a path of
-- one machine does not work on another. Written so as not to find itself.
local private = { "%.%./" .. "shared%f[^%w_]", "%f[%S]/" .. "work%f[^%w_%-]",
  "[\"'`(=:]/" .. "work%f[^%w_%-]" }

function texts.check_private(tree)
  local problems = {}
  for _, path in ipairs(tree.paths) do
    local number = 0
    for line in tree:lines(path) do
      number = number + 1
      for _, pattern in ipairs(private) do
        if line:find(pattern) then
          problems[#problems + 1] = ("%s:%d: names a private path")
            :format(path, number)
          break
        end
      end
    end
  end
  return problems
end

-- word in the code (not in comments or strings) of files below dirs.
local function search(tree, dirs, suffixes, word, why, except)
  local problems = {}
  for _, path in ipairs(tree:find(dirs, suffixes)) do
    local text = path ~= except and tree:read(path) or ""
    if text:find(word, 1, true) then
      local number = 0
      for line in Tree.code_of(text):gmatch("([^\n]*)\n?") do
        number = number + 1
        if line:find(word, 1, true) then
          problems[#problems + 1] = ("%s:%d: %s"):format(path, number, why)
        end
      end
    end
  end
  return problems
end

-- A cleanup attribute does not run when Lua raises: it leaks.
function texts.check_cleanup(tree)
  return search(tree, { "bindings" }, { ".c", ".h" }, "EBB_CLEANUP",
    "EBB_CLEANUP does not run when Lua raises; use a userdata")
end

function texts.check_attribute(tree)
  return search(tree, { "runtime", "bindings", "spec", "bench" },
    { ".c", ".h" }, "__attribute__",
    "attributes have names in base/attr.h", "runtime/base/attr.h")
end

-- An open end belongs in an issue, not in the tree.
function texts.check_open_ends(tree)
  local problems = {}
  for _, path in ipairs(tree:find({ "runtime", "bindings", "scripts", "spec",
    "bench" }, { ".c", ".h", ".lua", ".py", ".js", ".sh" })) do
    local number = 0
    for line in tree:lines(path) do
      number = number + 1
      for _, word in ipairs { "TO" .. "DO", "FIX" .. "ME" } do
        if line:find("%f[%w_]" .. word .. "%f[^%w_]") then
          problems[#problems + 1] = ("%s:%d: %s"):format(path, number, word)
        end
      end
    end
  end
  return problems
end

return texts
