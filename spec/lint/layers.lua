-- SPDX-License-Identifier: MIT
-- Who may include whom, and which module owns which third-party header. The
-- tables are those of docs/architecture.md; a rule that hurts is changed there
-- and here in one commit.

local layers = {}

-- Longest dir wins. may: a folder ("base/") or one header; what is in the same
-- folder always may. Paths as they stand in the #include line.
layers.table = {
  { dir = "runtime/base", may = {} },
  { dir = "runtime/wire", may = { "base/" } },
  { dir = "runtime/task", may = { "base/" } },
  { dir = "runtime/net", may = { "base/" } },
  { dir = "runtime/journal", may = { "base/", "net/loop.h" } },
  { dir = "runtime/e2b", may = { "base/", "wire/", "task/", "net/" } },
  -- The twelve, on the client beside them.
  { dir = "runtime/e2b/tasks",
    may = { "base/", "wire/", "task/", "net/", "e2b/" } },
  { dir = "runtime/workflow",
    may = { "base/", "task/", "net/", "journal/" } },
  -- The embedding API: ebb.h and ebb*.c, straight in runtime/.
  { dir = "runtime",
    may = { "base/", "wire/", "task/", "net/", "journal/", "e2b/",
      "workflow/" } },
  -- What service and agent say to each other, hence the agent's few headers.
  { dir = "runtime/sandbox",
    may = { "base/err.h", "base/buf.h", "base/utf8.h", "base/mem.h",
      "base/attr.h" } },
  { dir = "runtime/sandbox/agent",
    may = { "sandbox/protocol.h", "base/err.h", "base/buf.h", "base/utf8.h",
      "base/mem.h", "base/attr.h" } },
  { dir = "runtime/sandbox/service",
    may = { "base/", "wire/", "net/", "sandbox/service/" } },
  -- One isolation; it knows neither HTTP nor the service around it.
  { dir = "runtime/sandbox/service/box",
    may = { "base/", "net/loop.h", "sandbox/protocol.h" } },
  -- E2B's three services on the box and on each other's common ground.
  { dir = "runtime/sandbox/service/control",
    may = { "base/", "net/", "sandbox/service/" } },
  { dir = "runtime/sandbox/service/envd",
    may = { "base/", "wire/", "net/", "sandbox/service/" } },
  { dir = "runtime/sandbox/service/interpreter",
    may = { "base/", "net/", "sandbox/service/" } },
  { dir = "bindings/lua",
    may = { "ebb.h", "base/attr.h", "base/err.h", "base/log.h", "base/mem.h",
      "base/value.h" } },
  { dir = "bindings/cli",
    may = { "ebb.h", "lua/ebb_lua.h", "base/attr.h", "base/err.h",
      "base/log.h", "base/mem.h", "base/value.h" } },
}

-- header: a name or a folder ("curl/"); owner: the files that may include it,
-- by how their paths begin.
layers.owners = {
  { header = "yajl/", owner = "runtime/base/value_parse" },
  { header = "openssl/", owner = "runtime/base/digest" },
  { header = "protobuf-c/", owner = "runtime/wire/" },
  { header = "uv.h", owner = "runtime/net/loop" },
  { header = "curl/", owner = "runtime/net/http_client" },
  { header = "microhttpd.h", owner = "runtime/net/http_server" },
  { header = "zlib.h", owner = "runtime/net/gzip" },
  { header = "sqlite3.h", owner = "runtime/journal/" },
  { header = "lua.h", owner = "bindings/lua/" },
  { header = "lauxlib.h", owner = "bindings/lua/" },
  { header = "lualib.h", owner = "bindings/lua/" },
  { header = "lua5.4/", owner = "bindings/lua/" },
  { header = "editline/", owner = "bindings/cli/" },
  { header = "histedit.h", owner = "bindings/cli/" },
  { header = "seccomp.h", owner = "runtime/sandbox/service/box/" },
}

local function starts(text, prefix)
  return text:sub(1, #prefix) == prefix
end

local function rule_of(path)
  local best
  for _, rule in ipairs(layers.table) do
    if starts(path, rule.dir .. "/")
        and (not best or #rule.dir > #best.dir) then
      best = rule
    end
  end
  return best
end

local function allowed(rule, header)
  local own = rule.dir:gsub("^runtime/?", ""):gsub("^bindings/", "")
  -- Straight in runtime/ the own headers have no folder in their names.
  if own == "" and not header:find("/", 1, true)
      or own ~= "" and header:match("^(.*)/[^/]*$") == own then
    return true
  end
  for _, may in ipairs(rule.may) do
    if header == may or may:sub(-1) == "/" and starts(header, may) then
      return true
    end
  end
  return false
end

-- Calls fn(path, line number, header, quoted) for each #include.
local function each_include(tree, fn)
  for _, path in ipairs(tree:find({ "runtime", "bindings" },
    { ".c", ".h" })) do
    local number = 0
    for line in tree:lines(path) do
      number = number + 1
      local open, header = line:match('^%s*#%s*include%s*(["<])([^">]+)[">]')
      if header then
        fn(path, number, header, open == '"')
      end
    end
  end
end

function layers.check(tree)
  local problems = {}
  each_include(tree, function(path, number, header, quoted)
    -- Generated headers come by -isystem, but they are the wire layer's.
    if not quoted and not header:find("%.pb%-c%.h$") then
      return
    end
    local rule = rule_of(path)
    if not rule then
      problems[#problems + 1] = ("%s: no layer owns this folder"):format(path)
    elseif not allowed(rule, header) then
      problems[#problems + 1] = ("%s:%d: %s may not include \"%s\"")
        :format(path, number, rule.dir, header)
    end
  end)
  return problems
end

function layers.check_owners(tree)
  local problems = {}
  each_include(tree, function(path, number, header)
    for _, own in ipairs(layers.owners) do
      local named = header == own.header
        or own.header:sub(-1) == "/" and starts(header, own.header)
      if named and not starts(path, own.owner) then
        problems[#problems + 1] = ("%s:%d: <%s> belongs to %s")
          :format(path, number, header, own.owner)
      end
    end
  end)
  return problems
end

return layers
