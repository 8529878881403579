-- SPDX-License-Identifier: MIT

-- A script made from a seed: combinators in each other, tasks and functions
-- of each class, sleeps, sandboxes, cleanup, errors, caught or not. It shows
-- everything that it sees, in that order, by see(); lines that begin with "="
-- are what only the run itself can know (random numbers, derived times).
--
--   local text = require "script".make(seed)

local script = {}

local header = [[
local e2b, ebb = require "e2b", require "ebb"
local shared, here = 0, ""

local function word(v)
  if type(v) ~= "table" then return tostring(v) end
  if v.code then return v.code end
  if v.ok ~= nil then
    return (v.ok and "+" or "-") .. word(v.ok and v.value or v.error)
  end
  if v.value then return tostring(v.value) end
  local words = {}
  for i = 1, #v do words[i] = word(v[i]) end
  return "{" .. table.concat(words, ",") .. "}"
end

-- Shows how something ended, and passes that on.
local function told(name, ok, ...)
  see(name .. (ok and " ok " or " no ") .. word((...)))
  if not ok then error((...), 0) end
  return ...
end
local function must(name, fn, ...) return told(name, pcall(fn, ...)) end
local function try(name, fn, ...) return pcall(must, name, fn, ...) end

-- Tasks of the script's own, which wait in the middle.
local own = {}
for _, class in ipairs { "read", "lifecycle", "none" } do
  own[class] = ebb.task { name = "own." .. class, class = class,
    run = function(input)
      local value = effect(input.n)
      ebb.sleep(0.02)
      return { value = value }
    end }
end

local function call(how, name, task)
  return how(name, task, { n = name })
end
local function body(how, name, class)
  return how(name, ebb.step, name, function() return effect(name) end,
    { class = class })
end
local function nap(name, seconds)
  see(name .. " naps " .. seconds)
  return must(name, ebb.sleep, seconds)
end
local function branch(name, fn)
  see(name .. " begins")
  return must(name, fn)
end
local function limit(how, name, seconds, fn)
  see(name .. " limits " .. seconds)
  return how(name, ebb.timeout, seconds, fn)
end
local function finish(name, made)
  try("end " .. name, e2b.killSandbox,
    { n = "end " .. name, sandboxId = made.sandboxId })
end
local function box(name)
  local made = must(name, e2b.createSandbox,
    { n = name, idempotencyKey = name })
  return ebb.defer(finish, name, made)
end
local function walk(name, fn)
  for value in coroutine.wrap(fn) do see(name .. " gives " .. value) end
end
local function log(name)
  ebb.log("info", name)
  see(name .. " logs")
end
local function count(name)
  shared = shared + 1
  see(name .. " counts " .. shared)
  see("= " .. math.random(1000) .. " " .. os.time() .. " " .. ebb.uuid())
end
]]

-- A generator of its own, the same everywhere.
local function generator(seed)
  local state = seed * 2654435761 % 4294967296 + 1
  return function(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n + 1
  end
end

local tasks = { "look", "look", "make", "act", "act", "act" }
local classes = { "none", "none", "read", "lifecycle" }

local function maker(seed)
  local random = generator(seed)
  local lines, names = {}, 0
  local in_coroutine = 0 -- where an error that is a text gets a place
  local statements

  local function add(depth, text, ...)
    lines[#lines + 1] = ("  "):rep(depth) .. text:format(...)
  end

  -- 'n7' .. here, as Lua text
  local function name()
    names = names + 1
    return ("'n%d' .. here"):format(names)
  end

  local function how()
    return random(5) == 1 and in_coroutine == 0 and "must" or "try"
  end

  local function seconds()
    return random(12) == 1 and random(300) or random(80) / 20
  end

  -- A function's text, whose end is shown.
  local function branch(depth, levels, most)
    local n = name()
    add(depth, "return branch(%s, function()", n)
    statements(depth + 1, levels - 1, random(most + 1) - 1)
    if random(8) == 1 then
      add(depth + 1, "error('broken ' .. %s, 0)", n)
    else
      add(depth + 1, "return %s", n)
    end
    add(depth, "end)")
  end

  local function functions(depth, levels, least)
    for _ = 1, least + random(4 - least) - (least == 0 and 1 or 0) do
      add(depth, "function()")
      branch(depth + 1, levels, 3)
      add(depth, "end,")
    end
  end

  local function task(depth)
    add(depth, "call(%s, %s, e2b.%s)", how(), name(), tasks[random(#tasks)])
  end

  local function box(depth)
    add(depth, "local _ <close> = box(%s)", name())
  end

  local simple = {
    task, task, task, task, box, box,
    function(depth)
      add(depth, "body(%s, %s, '%s')", how(), name(),
        classes[random(#classes)])
    end,
    function(depth)
      add(depth, "call(%s, %s, own.%s)", how(), name(),
        classes[random(#classes)])
    end,
    function(depth) add(depth, "log(%s)", name()) end,
    function(depth) add(depth, "nap(%s, %g)", name(), seconds()) end,
    function(depth) add(depth, "count(%s)", name()) end,
    function(depth) add(depth, "try(%s, ebb.now)", name()) end,
    function(depth)
      add(depth, "local _ <close> = ebb.defer(call, try, %s, e2b.%s)", name(),
        tasks[random(#tasks)])
    end,
  }

  -- A generator that waits between what it gives.
  local function walk(depth, levels)
    local n = name()
    in_coroutine = in_coroutine + 1
    add(depth, "walk(%s, function()", n)
    for i = 1, random(3) do
      statements(depth + 1, levels - 1, random(2))
      add(depth + 1, "coroutine.yield(%s .. '#%d')", n, i)
    end
    add(depth, "end)")
    in_coroutine = in_coroutine - 1
  end

  local function combinator(depth, levels)
    local kinds = { "parallel", "settle", "race", "timeout", "map" }
    local kind = kinds[random(#kinds)]
    if kind == "timeout" then
      add(depth, "limit(%s, %s, %g, function()", how(), name(), seconds())
      branch(depth + 1, levels, 3)
      add(depth, "end)")
    elseif kind == "map" then
      add(depth, "%s(%s, ebb.map, { 1, 2, 3 }, function(item)", how(), name())
      add(depth + 1, "local here = here .. '.' .. item")
      branch(depth + 1, levels, 2)
      add(depth, "end, { limit = %d })", random(3))
    else
      add(depth, "%s(%s, ebb.%s, {", how(), name(), kind)
      functions(depth + 1, levels, kind == "race" and 1 or 0)
      add(depth, "})")
    end
  end

  function statements(depth, levels, n)
    for _ = 1, n do
      if levels > 0 and random(3) == 1 then
        combinator(depth, levels)
      elseif levels > 0 and random(15) == 1 then
        walk(depth, levels)
      else
        simple[random(#simple)](depth)
      end
    end
  end

  return lines, statements, random
end

function script.make(seed)
  local lines, statements, random = maker(seed)
  statements(0, 3, 4 + random(12))
  lines[#lines + 1] = "return 'the end ' .. shared"
  return header .. table.concat(lines, "\n") .. "\n"
end

return script
