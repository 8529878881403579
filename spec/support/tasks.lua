-- SPDX-License-Identifier: MIT

-- The tasks through `ebb --local call`, on a local service of its own:
--
--   local tasks = require "support.tasks"
--   local t = tasks.open()
--   local box = t:create "key"
--   local result = t:call("runCommand", { sandboxId = box, command = "ls" })
--   local err, status = t:fails("runCommand", { sandboxId = box })
--   local on = t:on(box) -- the tasks that take one thing and more
--   on.run("pwd", { cwd = "/tmp" }) -- also code, write, read
--   err = on.fails.read "nope"
--   t:close()
--
-- Inputs are tables for cjson; results and errors are what it decodes.

local cjson = require "cjson"
local program = require "support.program"

local tasks = {}
local methods = {}

function tasks.open()
  local t = { ebb = program.open(), boxes = {} }
  return setmetatable(t, { __index = methods })
end

local function encode(input)
  return type(input) == "string" and input or cjson.encode(input)
end

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

-- Standard output, exit status, the last line of standard error.
function methods:try(task, input)
  local path, err = self.ebb.dir .. "/input.json", self.ebb.dir .. "/err"
  local file = assert(io.open(path, "wb"))
  file:write(encode(input))
  file:close()
  local pipe = assert(io.popen(("%s call --json e2b.%s - <%s 2>%s"):format(
    self.ebb:prefix(), task, path, err)))
  local out = pipe:read "a"
  local _, _, status = pipe:close()
  return out, status, read_file(err):match "([^\n]*)\n*$"
end

function methods:call(task, input)
  local out, status, err = self:try(task, input)
  assert(status == 0, ("e2b.%s: status %s: %s"):format(task, status, err))
  return cjson.decode(out), out
end

function methods:fails(task, input)
  local out, status, err = self:try(task, input)
  assert(status ~= 0, ("e2b.%s did not fail: %s"):format(task, out))
  return cjson.decode(err), status
end

-- As call, and the most memory that the program had, in KiB.
function methods:call_peak(task, input)
  local path = self.ebb.dir .. "/input.json"
  local file = assert(io.open(path, "wb"))
  file:write(encode(input))
  file:close()
  local pipe = assert(io.popen(([[python3 -c '
import resource, subprocess, sys
done = subprocess.run(sys.argv[1], shell=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)' '%s call --json e2b.%s - <%s']]):format(
    self.ebb:prefix(), task, path)))
  local out = pipe:read "a"
  assert(pipe:close(), out)
  local json, kb = out:match "^(.*)\n(%d+)\n$"
  return cjson.decode(json), tonumber(kb)
end

function methods:create(key)
  local box = self:call("createSandbox", { idempotencyKey = key })
  self.boxes[#self.boxes + 1] = box.sandboxId
  return box.sandboxId
end

local named = {
  run = { "runCommand", "command" }, code = { "runCode", "code" },
  write = { "writeFiles", "files" }, read = { "readFile", "path" },
}

function methods:on(box)
  local on = { fails = {} }
  for name, of in pairs(named) do
    local function input(value, more)
      local all = { sandboxId = box, [of[2]] = value }
      for key, other in pairs(more or {}) do all[key] = other end
      return all
    end
    on[name] = function(value, more)
      return self:call(of[1], input(value, more))
    end
    on.fails[name] = function(value, more)
      return self:fails(of[1], input(value, more))
    end
  end
  return on
end

function methods:close()
  for _, box in ipairs(self.boxes) do
    self:call("killSandbox", { sandboxId = box })
  end
  self.ebb:close()
end

return tasks
