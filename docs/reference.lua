-- SPDX-License-Identifier: MIT
-- Writes reference.md from the registry of tasks and the types of results:
--   build/ebb tasks --json | lua5.4 docs/reference.lua > docs/reference.md

local cjson = require "cjson"

local result_types = "bindings/lua/types/results.lua"
local results = {
  createSandbox = "CreatedSandbox", getSandbox = "Sandbox",
  pauseSandbox = "Changed", resumeSandbox = "Changed",
  killSandbox = "Changed", runCommand = "CommandResult",
  runCode = "CodeResult", writeFiles = "WrittenFiles",
  readFile = "FileContent", listFiles = "Listing",
  getSandboxLogs = "Logs", getSandboxMetrics = "Metrics",
}

local head = [[
# The tasks

*Made by `docs/reference.lua` from what `ebb tasks --json` says; a test keeps
it so.*

A task is a Lua function, `e2b.NAME{…}`, a word of `ebb call e2b.NAME JSON`,
and a name for `ebb_call` in C. It takes one table and gives one back. A field
that is not known, or not of its type, is refused by name before anything is
sent. An input is at most 4,000,000 bytes as JSON, and so is a result.

The class of a task says how often it is tried: `lifecycle` and `read` four
times, with 1, 2 and 4 seconds between, and only after what can succeed the
next time; `none` once, and what it sends is sent at most once.
]]

local lines = {}

local function add(format, ...)
  lines[#lines + 1] = select("#", ...) > 0 and format:format(...) or format
end

-- 1048576 as 1,048,576.
local function digits(number)
  local text = ("%d"):format(number)
  return (text:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

local function shown(value)
  if type(value) == "number" then return digits(value) end
  return type(value) == "string" and '"' .. value .. '"' or tostring(value)
end

local function type_of(field)
  if field.choices then
    return '"' .. table.concat(field.choices, '" \\| "') .. '"'
  end
  return field.type
end

local function range_of(field)
  local unit = field.type == "list" and " of them" or ""
  if field.positive then return "; above 0" end
  if field.min and field.max and field.max < 1e9 then
    return ("; %s to %s%s%s"):format(digits(field.min), digits(field.max), unit,
      field.clamp and ", beyond which it is taken as the nearest" or "")
  end
  return ""
end

local function add_field(field, prefix)
  local need = field.required and "required" or
    field.default ~= nil and "default " .. shown(field.default) or ""
  add("| `%s%s` | %s | %s | %s%s |", prefix, field.name, type_of(field), need,
    field.help, range_of(field))
  for _, item in ipairs(field.items or {}) do
    add_field(item, prefix .. field.name .. "[].")
  end
end

local function add_task(task)
  local name = task.name:match "[^.]+$"
  add("\n## %s\n", task.name)
  add("%s. Class `%s`, %d attempt%s; returns [%s](#%s).\n",
    task.help:sub(1, 1):upper() .. task.help:sub(2), task.class,
    task.attempts, task.attempts == 1 and "" or "s", results[name],
    results[name]:lower())
  add "| field | type | | |\n|---|---|---|---|"
  for _, field in ipairs(task.fields) do
    add_field(field, "")
  end
end

local function add_results()
  add "\n# What they return\n"
  add "A field with `?` may be absent. `BoundedText` is cut at its bound and"
  add "says so; `BoundedBinary` is whole or an error."
  for line in io.lines(result_types) do
    local class, base = line:match "^%-%-%-@class e2b%.(%w+):? ?e?2?b?%.?(%w*)"
    local name, rest = line:match "^%-%-%-@field (%S+) (.+)"
    if class then
      add("\n## %s\n", class)
      if base ~= "" then add("All of [%s](#%s), and:\n", base, base:lower()) end
      add "| field | type and meaning |\n|---|---|"
    elseif name then
      add("| `%s` | %s |", name, (rest:gsub("e2b%.", ""):gsub("|", "\\|")))
    end
  end
end

lines[1] = head:gsub("\n$", "")
for _, task in ipairs(cjson.decode(io.read "a")) do
  add_task(task)
end
add_results()
print(table.concat(lines, "\n"))
