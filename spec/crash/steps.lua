-- SPDX-License-Identifier: MIT

-- What the scripts of the crash matrix are made of: steps with a name, whose
-- requests carry it as [name], so that a server's log counts them. On a real
-- sandbox each command adds a line with its name to a file.
--
-- A step whose outcome is unknown gets the value "unknown". The result of a
-- script is { values = { name = value }, list = lines, … }.

local e2b, ebb = require "e2b", require "ebb"

local steps = {}
local methods = {}

-- The one file that the scripted server can tell the size of.
steps.LIST = "/tmp/a.txt"

local function close(self)
  e2b.killSandbox { sandboxId = self.id }
end

-- A sandbox that ends with the scope.
function steps.open()
  local box = e2b.createSandbox { idempotencyKey = ebb.uuid() }
  return setmetatable({ id = box.sandboxId, values = {} },
    { __index = methods, __close = close })
end

-- The task's result; nil: its outcome is unknown.
local function attempt(task, fields)
  local ok, result = pcall(task, fields)
  if ok then return result end
  if result.code ~= "outcome_unknown" then error(result, 0) end
  return nil
end

function methods:command(name)
  local result = attempt(e2b.runCommand, { sandboxId = self.id,
    command = ("echo %s >>%s; printf '<%d>' # [%s]"):format(name, steps.LIST,
      #name, name) })
  self.values[name] = result and result.stdout.text or "unknown"
  return name
end

function methods:write(name, path, text)
  local result = attempt(e2b.writeFiles, { sandboxId = self.id,
    files = { { path = path, content = ("%s # [%s]\n"):format(text, name) } } })
  self.values[name] = result and "written" or "unknown"
  return result ~= nil
end

-- A file's text; nil: there is none.
function methods:read(path)
  local ok, result = pcall(e2b.readFile, { sandboxId = self.id, path = path })
  if ok then return result.content end
  if result.code ~= "file_not_found" then error(result, 0) end
  return nil
end

function methods:result(more)
  local result = { values = self.values, list = self:read(steps.LIST) or "" }
  for name, value in pairs(more or {}) do result[name] = value end
  return result
end

return steps
