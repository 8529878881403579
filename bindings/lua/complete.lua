-- SPDX-License-Identifier: MIT
-- What could stand at the end of a line at the prompt: complete(text) gives
-- the full forms of its last word. Tables are read raw, so nothing is called.

local names_max = 1000

local function members(value)
  if type(value) == "string" then
    value = string
  end
  return type(value) == "table" and value or nil
end

-- The table that the path before the last dot leads to.
local function follow(path)
  local at = _G
  for name in path:gmatch("[%a_][%w_]*") do
    at = members(at) and rawget(members(at), name)
  end
  return members(at)
end

return function(text)
  local word = text:match("[%a_][%w_%.]*$") or ""
  local path, start = word:match("^(.*[%.])([%w_]*)$")
  if not path then
    path, start = "", word
  end
  local names = require("ebb").array({})
  for key in next, follow(path) or {} do
    if type(key) == "string" and key:find("^[%a_][%w_]*$") and
        key:sub(1, #start) == start and #names < names_max then
      names[#names + 1] = path .. key
    end
  end
  table.sort(names)
  return names
end
