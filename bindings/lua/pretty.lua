-- SPDX-License-Identifier: MIT
-- Values as people read them at the prompt: pretty(colour, ...) gives one text,
-- a line or a block for each value. Long strings and deep tables are cut, and
-- say so; nothing of the value is called but __tostring and __name.

local core = ...

local depth_max, items_max, string_max, width = 6, 200, 2000, 76

local colours = {
  string = "\27[32m", number = "\27[36m", boolean = "\27[35m",
  ["nil"] = "\27[35m", key = "\27[1m", other = "\27[33m", off = "\27[0m",
}

local escapes = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r",
  ['"'] = '\\"', ["\\"] = "\\\\" }

local function quote(text)
  local more = #text - string_max
  if more > 0 then
    local last = utf8.offset(text, 0, string_max + 1) or string_max + 1
    more = #text - (last - 1)
    text = text:sub(1, last - 1)
  end
  text = text:gsub('[%c"\\\127]', function(c)
    return escapes[c] or ("\\x%02x"):format(c:byte())
  end)
  if not utf8.len(text) then
    text = text:gsub("[\128-\255]", function(c)
      return ("\\x%02x"):format(c:byte())
    end)
  end
  return '"' .. text .. '"' .. (more > 0 and (" … %d bytes more"):format(more)
    or "")
end

local function paint(out, kind, text)
  if out.colour and colours[kind] then
    return colours[kind] .. text .. colours.off
  end
  return text
end

-- The shortest form that reads back the same; a float looks like one.
local function number_text(value)
  if math.type(value) == "integer" then
    return tostring(value)
  end
  for digits = 14, 17 do
    local text = ("%." .. digits .. "g"):format(value)
    if tonumber(text) == value then
      return text:find("^-?%d+$") and text .. ".0" or text
    end
  end
  return tostring(value)
end

-- Integers, then strings by bytes, then the rest.
local function sorted_keys(value)
  local keys, rank = {}, { number = 1, string = 2 }
  for key in next, value do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local ra, rb = rank[type(a)] or 3, rank[type(b)] or 3
    if ra ~= rb then
      return ra < rb
    elseif ra == 3 then
      return tostring(a) < tostring(b)
    end
    return a < b
  end)
  return keys
end

local write

local function key_text(out, key)
  if type(key) == "string" and key:find("^[%a_][%w_]*$") then
    return paint(out, "key", key)
  end
  return "[" .. write(out, key, depth_max) .. "]"
end

local function items_of(out, value, depth)
  local items, count = {}, #value
  for i = 1, math.min(count, items_max) do
    items[i] = write(out, value[i], depth + 1)
  end
  local left = math.max(count - items_max, 0)
  for _, key in ipairs(sorted_keys(value)) do
    local listed = math.type(key) == "integer" and key >= 1 and key <= count
    if not listed and #items < items_max then
      items[#items + 1] = key_text(out, key) .. " = " ..
        write(out, rawget(value, key), depth + 1)
    elseif not listed then
      left = left + 1
    end
  end
  if left > 0 then
    items[#items + 1] = ("… %d more"):format(left)
  end
  return items
end

local function visible(text)
  return utf8.len((text:gsub("\27%[%d*m", ""))) or #text
end

local function write_table(out, value, depth)
  if out.open[value] then
    return paint(out, "other", "{…itself…}")
  elseif depth >= depth_max then
    return next(value) == nil and "{}" or paint(out, "other", "{…}")
  end
  out.open[value] = true
  local items = items_of(out, value, depth)
  out.open[value] = nil
  local line = "{ " .. table.concat(items, ", ") .. " }"
  if #items == 0 then
    return "{}"
  elseif visible(line) + 2 * depth <= width and not line:find("\n") then
    return line
  end
  local indent = ("  "):rep(depth + 1)
  return "{\n" .. indent .. table.concat(items, ",\n" .. indent) .. "\n" ..
    ("  "):rep(depth) .. "}"
end

function write(out, value, depth)
  local kind = type(value)
  if kind == "string" then
    return paint(out, kind, quote(value))
  elseif kind == "number" then
    return paint(out, kind, number_text(value))
  elseif kind == "table" then
    local meta = getmetatable(value)
    if type(meta) == "table" and rawget(meta, "__tostring") then
      return paint(out, "other", tostring(value))
    end
    return write_table(out, value, depth)
  elseif value == core.null then
    return paint(out, "nil", "ebb.null")
  end
  return paint(out, colours[kind] and kind or "other", tostring(value))
end

return function(colour, ...)
  local lines = {}
  for i = 1, select("#", ...) do
    local out = { colour = colour, open = {} }
    lines[i] = write(out, (select(i, ...)), 0)
  end
  return table.concat(lines, "\n")
end
