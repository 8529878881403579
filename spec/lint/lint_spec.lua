-- SPDX-License-Identifier: MIT
-- Each lint fails on a small tree that breaks its rule, and names the place.

local function shell(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read("a")
  return text, pipe:close()
end

-- Makes files (path → text) in a new tree, runs one check over it.
local function lint(only, files)
  local root = shell("mktemp -d"):gsub("%s+$", "")
  for path, text in pairs(files) do
    shell(("mkdir -p '%s/%s'"):format(root, path:match("^(.*)/") or ""))
    local file = assert(io.open(root .. "/" .. path, "wb"))
    file:write(text)
    file:close()
  end
  local out, ok = shell(("EBB_TIDY= lua5.4 spec/lint/run.lua '%s/build' "
    .. "--root '%s' --only %s"):format(root, root, only))
  shell("rm -rf '" .. root .. "'")
  return out, ok == true
end

local function refuses(only, path, text, message)
  local out, ok = lint(only, { [path] = text })
  assert.is_false(ok, out)
  assert.truthy(out:find("^not ok 1"), out)
  assert.truthy(out:find(message, 1, true), out)
end

local function accepts(only, path, text)
  local out, ok = lint(only, { [path] = text })
  assert.is_true(ok, out)
end

describe("the lint of layers", function()
  it("refuses an include of a layer above", function()
    refuses("layers", "runtime/base/a.c", '\n#include "net/loop.h"\n',
      'runtime/base/a.c:2: runtime/base may not include "net/loop.h"')
  end)
  it("refuses an include of a neighbour", function()
    refuses("layers", "runtime/task/a.c", '#include "wire/connect.h"\n',
      "runtime/task may not")
  end)
  it("lets the journal have the loop and no other part of net", function()
    accepts("layers", "runtime/journal/a.c", '#include "net/loop.h"\n')
    refuses("layers", "runtime/journal/a.c", '#include "net/lines.h"\n',
      "runtime/journal may not")
  end)
  it("holds the agent to the protocol and five base headers", function()
    accepts("layers", "runtime/sandbox/agent/a.c",
      '#include "sandbox/protocol.h"\n#include "base/buf.h"\n')
    refuses("layers", "runtime/sandbox/agent/a.c", '#include "base/value.h"',
      "runtime/sandbox/agent may not")
  end)
  it("holds bindings to ebb.h and what it exposes", function()
    accepts("layers", "bindings/lua/a.c",
      '#include "ebb.h"\n#include "lua/lvalue.h"\n#include "base/value.h"\n')
    refuses("layers", "bindings/lua/a.c", '#include "net/loop.h"\n',
      "bindings/lua may not")
    refuses("layers", "bindings/cli/a.c", '#include "lua/lvalue.h"\n',
      "bindings/cli may not")
  end)
  it("counts generated headers as the wire layer's", function()
    refuses("layers", "runtime/base/a.c", "#include <wire/process.pb-c.h>\n",
      "runtime/base may not")
  end)
  it("lets the core include any layer but nothing include the core", function()
    accepts("layers", "runtime/ebb.c",
      '#include "ebb.h"\n#include "workflow/run.h"\n')
    refuses("layers", "runtime/e2b/a.c", '#include "ebb.h"\n',
      "runtime/e2b may not")
  end)
end)

describe("the lint of header owners", function()
  for header, path in pairs {
    ["yajl/yajl_parse.h"] = "runtime/net/a.c",
    ["curl/curl.h"] = "runtime/e2b/a.c",
    ["sqlite3.h"] = "runtime/workflow/a.c",
    ["uv.h"] = "runtime/net/gzip.c",
    ["lauxlib.h"] = "bindings/cli/a.c",
    ["histedit.h"] = "bindings/lua/a.c",
    ["seccomp.h"] = "runtime/sandbox/agent/a.c",
  } do
    it("refuses <" .. header .. "> in " .. path, function()
      refuses("owners", path, "#include <" .. header .. ">\n",
        "<" .. header .. "> belongs to")
    end)
  end
  it("accepts a header at its owner", function()
    accepts("owners", "runtime/net/loop.c", "#include <uv.h>\n")
  end)
end)

describe("the lint of sizes", function()
  it("refuses a long file and notes one that is nearly so", function()
    refuses("files", "runtime/a.c", ("x;\n"):rep(501), "501 lines")
    refuses("files", "spec/a_spec.lua", ("x()\n"):rep(401), "401 lines")
    refuses("files", "runtime/a.h", ("x;\n"):rep(301), "301 lines")
    local out, ok = lint("files", { ["runtime/a.c"] = ("x;\n"):rep(450) })
    assert.is_true(ok)
    assert.truthy(out:find("# note runtime/a.c: 450 lines", 1, true))
  end)
  it("refuses a function of more than 70 lines and names it", function()
    local head = "static int\nlong_one(int a)\n{\n"
    accepts("functions", "runtime/a.c", head .. ("    a++;\n"):rep(68) .. "}\n")
    refuses("functions", "runtime/a.c",
      head .. ("    a++;\n"):rep(69) .. "}\n", "long_one: 71 lines")
  end)
  it("refuses a line of more than 80 columns, counted in characters",
    function()
      accepts("columns", "runtime/a.c", ("é"):rep(80) .. "\n")
      refuses("columns", "runtime/a.c", ("x"):rep(81) .. "\n", "81 columns")
      refuses("columns", "runtime/a.c", "\tx;\n", "a tab")
    end)
end)

describe("the lint of texts", function()
  it("refuses a source without its licence", function()
    accepts("spdx", "runtime/a.c", "/* SPDX-License-Identifier: MIT */\n")
    accepts("spdx", "a.py", "#!/usr/bin/python3\n"
      .. "# SPDX-License-Identifier: MIT\n")
    refuses("spdx", "runtime/a.c", "int a;\n", "runtime/a.c:1: must begin")
    refuses("spdx", "scripts/a.lua", "return 1\n", "scripts/a.lua:1: must")
  end)
  it("refuses private paths, not words like them", function()
    accepts("private", "a.md", "see runtime/workflow and /workspace\n")
    refuses("private", "a.md", "see .." .. "/shared/x\n", "a.md:1")
    refuses("private", "a.lua", "open('/" .. "work/x')\n", "a.lua:1")
  end)
  it("refuses EBB_CLEANUP in bindings, in code only", function()
    accepts("cleanup", "bindings/lua/a.c", "/* no EBB_CLEANUP here */\n")
    accepts("cleanup", "runtime/net/a.c", "EBB_CLEANUP(f) int a;\n")
    refuses("cleanup", "bindings/lua/a.c", "\nEBB_CLEANUP(f) int a;\n",
      "bindings/lua/a.c:2")
  end)
  it("refuses __attribute__ outside base/attr.h", function()
    accepts("attribute", "runtime/base/attr.h", "__attribute__((unused))\n")
    refuses("attribute", "runtime/base/a.h", "__attribute__((unused))\n",
      "runtime/base/a.h:1")
  end)
  it("refuses an open end", function()
    refuses("open-ends", "runtime/a.c", "/* TO" .. "DO: more */\n",
      "runtime/a.c:1")
  end)
end)

describe("the lint by other programs", function()
  it("reports what luacheck finds", function()
    accepts("luacheck", "scripts/a.lua", "return 1\n")
    refuses("luacheck", "scripts/a.lua", "local unused = 1\n", "unused")
  end)
  it("reports what clang-tidy finds, each time", function()
    if not os.execute("command -v clang-tidy >/dev/null") then
      pending("clang-tidy is missing")
      return
    end
    local config = "Checks: '-*,bugprone-*'\nWarningsAsErrors: '*'\n"
    local bad = "int f(int a);\nint f(int a)\n{\n    if (a);\n"
      .. "    return a;\n}\n"
    local out, ok = lint("clang-tidy", { [".clang-tidy"] = config,
      ["runtime/a.c"] = bad, ["Makefile"] = "EBB_CFLAGS = -std=c17\n" })
    assert.is_false(ok, out)
    assert.truthy(out:find("bugprone-suspicious-semicolon", 1, true), out)
  end)
end)
