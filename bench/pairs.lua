-- SPDX-License-Identifier: MIT
-- What the order of pairs costs in a durable run, beside Lua's own (next):
--   ebb run --id ID bench/pairs.lua

local ebb = require "ebb"

local VISITS = 1000000

-- ns for each key that is visited, the best of three.
local function measure(iterate, t, keys)
  local best = math.huge
  for _ = 1, 3 do
    local began = ebb.monotonic()
    for _ = 1, VISITS // keys do
      for _ in iterate(t) do
        t = t
      end
    end
    best = math.min(best, ebb.monotonic() - began)
  end
  return best / VISITS * 1e9
end

local function raw(t)
  return next, t, nil
end

for _, keys in ipairs { 10, 1000 } do
  local kinds = { list = {}, strings = {}, mixed = {} }
  for i = 1, keys do
    kinds.list[i] = i
    kinds.strings["key" .. i * 7919 % 100003] = i
    kinds.mixed[i % 2 == 0 and i or "key" .. i] = i
  end
  for kind, t in pairs(kinds) do
    local own, lua = measure(pairs, t, keys), measure(raw, t, keys)
    print(("pairs over %d keys, %s: %.0f ns a key, %.1f times next")
      :format(keys, kind, own, own / lua))
  end
end
