-- SPDX-License-Identifier: MIT
-- require "e2b": one function for each task e2b.* of the runtime.

local core = ...

local prefix = "e2b."
local e2b, names = {}, {}

for _, task in ipairs(core.tasks()) do
  if task.name:sub(1, #prefix) == prefix then
    local name = task.name:sub(#prefix + 1)
    e2b[name] = core.call(task.name)
    names[#names + 1] = name
  end
end

-- How many single-letter changes make b of a.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local least = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], least
    end
  end
  return row[#b]
end

local function nearest(name)
  local best, least
  for _, known in ipairs(names) do
    local d = distance(name:lower(), known:lower())
    if not least or d < least then
      best, least = known, d
    end
  end
  return least and least <= 4 and best or nil
end

-- A mistyped task is an error where it is written, not a call of nil later.
return setmetatable(e2b, {
  __index = function(_, name)
    local near = type(name) == "string" and #name < 64 and nearest(name)
    core.raise("invalid_input", ("there is no task e2b.%s%s"):format(
      tostring(name), near and (" (did you mean '%s'?)"):format(near) or ""))
  end,
})
