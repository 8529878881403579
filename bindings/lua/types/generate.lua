-- SPDX-License-Identifier: MIT
-- Writes e2b.lua from the registry, so that editors and the program agree:
--   build/ebb tasks --json | lua5.4 bindings/lua/types/generate.lua > e2b.lua
-- What the tasks return is in results.lua.

local cjson = require "cjson"

local results = {
  createSandbox = "e2b.CreatedSandbox", getSandbox = "e2b.Sandbox",
  pauseSandbox = "e2b.Changed", resumeSandbox = "e2b.Changed",
  killSandbox = "e2b.Changed", runCommand = "e2b.CommandResult",
  runCode = "e2b.CodeResult", writeFiles = "e2b.WrittenFiles",
  readFile = "e2b.FileContent", listFiles = "e2b.Listing",
  getSandboxLogs = "e2b.Logs", getSandboxMetrics = "e2b.Metrics",
}

local lua_types = { string = "string", bool = "boolean", int = "integer",
  number = "number", map = "table<string, string>", any = "any" }

local lines = {}

local function add(...)
  lines[#lines + 1] = string.format(...)
end

-- A comment of lines that are not too long.
local function add_words(text)
  local line = ""
  for word in text:gmatch("%S+") do
    if #line + 1 + #word > 77 then
      add("---%s", line)
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  add("---%s", line)
end

local function type_of(field, class)
  if field.choices then
    return '"' .. table.concat(field.choices, '"|"') .. '"'
  elseif field.type == "list" then
    return class .. "." .. field.name .. "[]"
  end
  return lua_types[field.type]
end

local function default_of(field)
  if field.default == nil then
    return ""
  end
  local value = field.default
  if type(value) == "number" and value == math.floor(value) then
    value = math.tointeger(value)
  end
  return (" (%s when left out)"):format(tostring(value))
end

local function add_class(class, fields)
  for _, field in ipairs(fields) do
    if field.items then
      add_class(class .. "." .. field.name, field.items)
    end
  end
  add("---@class %s", class)
  for _, field in ipairs(fields) do
    add_words(field.help .. default_of(field))
    add("---@field %s%s %s", field.name, field.required and "" or "?",
      type_of(field, class))
  end
  add("")
end

add("-- SPDX-License-Identifier: MIT")
add("---@meta e2b")
add("-- luacheck: ignore 212 631")
add("-- Made by generate.lua. For editors only: nothing loads this file.")
add("")

local tasks = {}
for _, task in ipairs(cjson.decode(io.read("a"))) do
  local name = task.name:match("^e2b%.(%w+)$")
  if name then
    tasks[#tasks + 1] = { name = name, task = task }
    add_class("e2b." .. name .. ".Input", task.fields)
  end
end
add("---@class e2b")
add("local e2b = {}")
for _, entry in ipairs(tasks) do
  add("")
  add("---%s. Class `%s`: %d attempt%s.",
    entry.task.help:gsub("^%l", string.upper), entry.task.class,
    math.tointeger(entry.task.attempts), entry.task.attempts > 1 and "s" or "")
  add("---@param input e2b.%s.Input", entry.name)
  add("---@return %s", results[entry.name])
  add("function e2b.%s(input) end", entry.name)
end
add("")
add("return e2b")
print(table.concat(lines, "\n"))
