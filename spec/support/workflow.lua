-- SPDX-License-Identifier: MIT

-- Scripts made from a seed: combinators in each other, sleeps, steps of each
-- class, errors, random numbers. They print what they see, in the order in
-- which they see it, so that two executions can be compared. (Of combinators
-- that give tables only whether they worked: an address is not the same again.)
--
--   local text = require "support.workflow".make(seed)

local workflow = {}

local header = [[
local function show(...)
  print(...)
  io.stdout:flush()
end
local shared, here = 0, ""
]]

-- A generator of its own: the spec's random numbers stay as they are.
local function generator(seed)
  local state = seed * 2654435761 % 4294967296 + 1
  return function(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n + 1
  end
end

local function maker(seed)
  local random = generator(seed)
  local lines, names = {}, 0
  local statements

  local function add(depth, text, ...)
    lines[#lines + 1] = ("  "):rep(depth) .. text:format(...)
  end

  local function name()
    names = names + 1
    return "n" .. names
  end

  local function seconds()
    return random(8) / 2000
  end

  local function functions(depth, levels)
    for _ = 1, random(3) do
      add(depth, "function()")
      statements(depth + 1, levels - 1, random(3))
      if random(6) == 1 then
        add(depth + 1, "error('%s', 0)", name())
      else
        add(depth + 1, "return '%s'", name())
      end
      add(depth, "end,")
    end
  end

  local simple = {
    function(depth)
      local n = name()
      add(depth, "show(ebb.step('%s', function() return '%s' end,", n, n)
      add(depth, "  { class = 'read' }))")
    end,
    function(depth)
      local n = name()
      add(depth, "show(pcall(ebb.step, '%s', function()", n)
      add(depth, "  math.random() ebb.now() ebb.uuid()")
      add(depth, "  return count('%s' .. here) end))", n)
    end,
    function(depth) add(depth, "ebb.sleep(%g)", seconds()) end,
    function(depth)
      add(depth, "shared = shared + 1")
      add(depth, "show('%s', shared, math.random(1000), os.time(),", name())
      add(depth, "  ebb.uuid())")
    end,
    function(depth) add(depth, "show(ebb.now())") end,
  }

  local function combinator(depth, levels)
    local kinds = { "parallel", "settle", "race", "timeout", "map" }
    local kind = kinds[random(#kinds)]
    if kind == "timeout" then
      add(depth, "show(pcall(ebb.timeout, %g, function()", seconds() * 3)
      statements(depth + 1, levels - 1, random(3))
      add(depth, "end))")
    elseif kind == "map" then
      add(depth, "show((pcall(ebb.map, { 1, 2, 3 }, function(item)")
      add(depth + 1, "local here = here .. '/' .. item")
      statements(depth + 1, levels - 1, random(2))
      add(depth, "  return item end, { limit = %d })))", random(3))
    else
      add(depth, "show((pcall(ebb.%s, {", kind)
      functions(depth + 1, levels)
      add(depth, "})))")
    end
  end

  function statements(depth, levels, n)
    for _ = 1, n do
      if levels > 0 and random(3) == 1 then
        combinator(depth, levels)
      else
        simple[random(#simple)](depth)
      end
    end
  end

  return lines, statements, random
end

function workflow.make(seed)
  local lines, statements, random = maker(seed)
  statements(0, 3, 4 + random(5))
  lines[#lines + 1] = "return 'the end'"
  return header .. table.concat(lines, "\n")
end

return workflow
