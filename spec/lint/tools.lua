-- SPDX-License-Identifier: MIT
-- The checks that other programs make: luacheck and clang-tidy. Each returns
-- problems, notes and, when its program is missing, the reason to skip.

local Tree = require "lint.tree"
local quote = Tree.quote

local tools = {}

local function missing(program)
  return not os.execute("command -v " .. program .. " >/dev/null 2>&1")
end

local function output_of(command, problems)
  local pipe = assert(io.popen(command .. " 2>&1"))
  for line in pipe:lines() do
    if line:find("%S") then
      problems[#problems + 1] = line
    end
  end
  return pipe:close()
end

function tools.luacheck(tree)
  if missing("luacheck") then
    return {}, {}, "luacheck is missing: apt-get install lua-check"
  end
  local files = tree:find({ "runtime", "bindings", "scripts", "spec",
    "bench" }, { ".lua" })
  if #files == 0 then
    return {}, {}
  end
  local names, problems = {}, {}
  for index, path in ipairs(files) do
    names[index] = quote(path)
  end
  local ok = output_of(("cd %s && luacheck --no-color -q %s")
    :format(quote(tree.root), table.concat(names, " ")), problems)
  return ok and {} or problems, {}
end

-- The compiler's flags as the Makefile has them.
local function flags_of(root, build)
  local pipe = assert(io.popen(("make -s -C %s --no-print-directory "
    .. "--eval='lint-flags: ; @echo $(EBB_CFLAGS)' lint-flags SANITIZE= "
    .. "2>/dev/null"):format(quote(root))))
  local flags = pipe:read("a"):gsub("%s+$", "")
  pipe:close()
  return ("-isystem %s/gen %s"):format(build, flags)
end

-- One file costs seconds; tidy.sh remembers, by the preprocessed text, those
-- that were clean.
function tools.clang_tidy(tree, build)
  if missing("clang-tidy") then
    return {}, {}, "clang-tidy is missing: apt-get install clang-tidy"
  end
  if os.getenv("EBB_TIDY") == "0" then
    return {}, {}, "EBB_TIDY=0"
  end
  local files = tree:find({ "runtime", "bindings" }, { ".c" })
  local problems = {}
  if #files == 0 then
    return problems, {}
  end
  local script = arg[0]:gsub("[^/]*$", "") .. "tidy.sh"
  local list = os.tmpname()
  local out = assert(io.open(list, "w"))
  out:write(table.concat(files, "\n"), "\n")
  out:close()
  local ok = output_of(("TIDY_ROOT=%s TIDY_BUILD=%s TIDY_FLAGS=%s "
    .. "xargs -P 2 -n 1 sh %s <%s"):format(quote(tree.root), quote(build),
    quote(flags_of(tree.root, build)), quote(script), quote(list)), problems)
  os.remove(list)
  if ok then
    return {}, { ("clang-tidy: %d files"):format(#files) }
  end
  return problems, {}
end

return tools
