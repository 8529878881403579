-- SPDX-License-Identifier: MIT

-- The reference's `ebb`: its functions as docs/durable.md has them, on the
-- branches, steps and groups of model.lua.

local library = {}

local function pass(ok, ...)
  if not ok then
    error((...), 0)
  end
  return ...
end

-- self: a machine of model.lua.
function library.make(self)
  local ebb = {}

  local function all(g, count, most, start, ended)
    for i = 1, math.min(count, most) do
      start(i)
    end
    for i = 1, count do
      ended(g:next())
      if i + most <= count then
        start(i + most)
      end
    end
    g:decide(0, "ended")
  end

  local function first_error(g, results)
    return function(index, ok, ...)
      if not ok then
        g:decide(index, "failed")
      end
      results[index] = pass(ok, ...)
    end
  end

  function ebb.parallel(list)
    local results = {}
    local g <close> = self:group("ebb.parallel", { functions = #list })
    all(g, #list, #list, function(i) g:start(list[i]) end,
      first_error(g, results))
    return results
  end

  function ebb.map(list, fn, options)
    local results = {}
    local g <close> = self:group("ebb.map",
      { items = #list, limit = options.limit })
    all(g, #list, options.limit, function(i) g:start(fn, list[i], i) end,
      first_error(g, results))
    return results
  end

  function ebb.settle(list)
    local ends = {}
    local g <close> = self:group("ebb.settle", { functions = #list })
    all(g, #list, #list, function(i) g:start(list[i]) end,
      function(index, ok, value)
        ends[index] = { ok = ok, value = ok and value or nil,
          error = not ok and value or nil }
      end)
    return ends
  end

  function ebb.race(list)
    local g <close> = self:group("ebb.race", { functions = #list })
    for i = 1, #list do
      g:start(list[i])
    end
    local function first(index, ...)
      g:decide(index, "ended first")
      return pass(...)
    end
    return first(g:next())
  end

  function ebb.timeout(seconds, fn)
    local g <close> = self:group("ebb.timeout", { seconds = seconds }, true)
    g:start(fn)
    local function first(index, ...)
      if index ~= 1 or g:decide(1, "ended in time") ~= 1 then
        error({ code = "timeout" }, 0)
      end
      return pass(...)
    end
    return first(g:next())
  end

  function ebb.sleep(seconds)
    self:leaf("ebb.sleep", { ms = math.ceil(seconds * 1000) })
  end

  function ebb.now()
    return self:leaf("ebb.now", {})
  end

  function ebb.step(name)
    return self:leaf(name, {})
  end

  function ebb.task(config)
    return function(input)
      return self:leaf(config.name, input)
    end
  end

  function ebb.log() end

  function ebb.uuid()
    return "derived"
  end

  function ebb.defer(fn, ...)
    local args = table.pack(...)
    return setmetatable({}, { __close = function(_, reason)
      local branch = self.current
      branch.shield = branch.shield + 1
      local ok, problem = pcall(fn, table.unpack(args, 1, args.n))
      branch.shield = branch.shield - 1
      if not ok and reason == nil then
        error(problem, 0)
      end
    end })
  end

  return ebb
end

return library
