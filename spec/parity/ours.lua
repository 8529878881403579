-- SPDX-License-Identifier: MIT
-- ebb --local run ours.lua INPUTS: runs our tasks over the inputs of the
-- parity fixtures; prints what each gave as JSON, a line a case.

local e2b, ebb = require "e2b", require "ebb"

local pause_s = { getSandboxMetrics = 6 } -- the service samples every 5 s

local function filled(value, names)
  if type(value) == "string" then return names[value] or value end
  if type(value) ~= "table" then return value end
  for key, one in pairs(value) do
    value[key] = filled(one, names)
  end
  return value
end

local function plain(text)
  return (text:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"))
end

local file = assert(io.open(..., "rb"))
local cases = ebb.json.decode(file:read "a")
file:close()

local names = { ["$KEY"] = "parity-" .. ebb.uuid() }
for _, case in ipairs(cases) do
  if pause_s[case.task] then ebb.sleep(pause_s[case.task]) end
  local row = { name = case.name }
  local ok, out = pcall(e2b[case.task], filled(case.input, names))
  if ok then
    row.output = out
  else
    row.error, row.message = out.code, out.message
  end
  if case.name == "create" then names["$ID"] = row.output.sandboxId end
  local line = ebb.json.encode(row)
  line = line:gsub(plain(names["$KEY"]), "$KEY")
  print((line:gsub(plain(names["$ID"]), "$ID")))
end
