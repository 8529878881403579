-- SPDX-License-Identifier: MIT
-- outcome_unknown, third way: give up what is in doubt, cleanly. The sandbox
-- is killed, and with it whatever may still run there; the work begins again
-- in a new one, which has a new key.
--
--   ebb --local run --id ID scripts/unknown_restart.lua

local e2b, ebb = require "e2b", require "ebb"

local ATTEMPTS = 3

-- All of the work, in a sandbox of its own, which ends with it.
local function work()
  local box = e2b.createSandbox { idempotencyKey = "restart-" .. ebb.uuid() }
  local id = box.sandboxId
  local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })
  e2b.runCommand { sandboxId = id, command = 'echo "one row" >> table.txt' }
  e2b.runCommand { sandboxId = id, command = 'echo "another" >> table.txt' }
  return e2b.readFile { sandboxId = id, path = "/home/user/table.txt" }.content
end

for attempt = 1, ATTEMPTS do
  local ok, result = pcall(work)
  if ok then return result end
  if result.code ~= "outcome_unknown" or attempt == ATTEMPTS then
    error(result, 0)
  end
  ebb.log("warn", "begin again: " .. tostring(result), { attempt = attempt })
end
