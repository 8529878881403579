-- SPDX-License-Identifier: MIT

-- Random values, the same for the same seed in every process and version of
-- Lua's library: it brings its own generator. For scripts under `ebb run`.

local ebb = require "ebb"

local values = {}

local NUMBERS = {
  0, -1, 1, 1 << 53, (1 << 53) + 1, math.maxinteger, math.mininteger,
  0.0, -0.0, 1.0, 0.1, 1e3, 1e15, 1e16, 1e17, 1e22, 1e30, 5e-324,
  2.2250738585072014e-308, 1.7976931348623157e308, 9007199254740993.0,
  123456789.123456789,
}
local PIECES = {
  "", "a", "é", "€", "😀", "\0", "\n", "\t", '"', "\\", "/", "\u{7f}",
  "\u{80}", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{fffd}",
  "\u{ffff}", "\u{10000}", "\u{10ffff}", "\u{2028}", "e\u{301}", "\u{1f}",
}

-- SplitMix64.
local function generator(seed)
  return function(n)
    seed = seed + 0x9E3779B97F4A7C15
    local z = seed
    z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ~ (z >> 27)) * 0x94D049BB133111EB
    z = z ~ (z >> 31)
    return n and (z >> 1) % n + 1 or z
  end
end

local function text(random)
  local parts = {}
  for i = 1, random(6) do parts[i] = PIECES[random(#PIECES)] end
  return table.concat(parts)
end

local function number(random)
  local how = random(4)
  if how == 1 then return NUMBERS[random(#NUMBERS)] end
  if how == 2 then return random() end
  if how == 3 then return random(2000) / 16 - 60 end
  local f = string.unpack("d", string.pack("j", random()))
  return f == f and math.abs(f) ~= math.huge and f or 0.5
end

local function value(random, depth)
  local how = random(depth > 0 and 8 or 5)
  if how == 1 then return ebb.null end
  if how == 2 then return random(2) == 1 end
  if how <= 4 then return number(random) end
  if how == 5 then return text(random) end
  local t = how == 6 and ebb.array {} or {}
  for i = 1, random(5) - 1 do
    local key = how == 6 and i or text(random):gsub("%z", "") .. "k"
    t[key] = value(random, depth - 1)
  end
  return t
end

-- n values of this seed.
function values.make(seed, n)
  local random, all = generator(seed), {}
  for i = 1, n do all[i] = value(random, i % 6) end
  return all
end

-- Whether two values are the same JSON, the kind of each number included.
function values.same(a, b)
  if type(a) == "number" and type(b) == "number" then
    return math.type(a) == math.type(b) and a == b
      and (a ~= 0 or math.type(a) == "integer" or 1 / a == 1 / b)
  end
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  if getmetatable(a) ~= getmetatable(b) then return false end
  for key, member in pairs(a) do
    if not values.same(member, b[key]) then return false end
  end
  for key in pairs(b) do if a[key] == nil then return false end end
  return true
end

return values
