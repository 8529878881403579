-- SPDX-License-Identifier: MIT
-- outcome_unknown, first way: look whether the effect is there, and do it
-- again only if it is not. For effects that leave something to look at.
--
--   ebb --local run --id ID scripts/unknown_check.lua

local e2b, ebb = require "e2b", require "ebb"

local box = e2b.createSandbox { idempotencyKey = "check-" .. ebb.uuid() }
local id = box.sandboxId
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })

local function command(text)
  return e2b.runCommand { sandboxId = id, command = text }
end

-- The effect: it says first who it is, and last that it is done.
local function add_row()
  command [[
    echo $$ > adding
    echo "one row" >> table.txt
    touch added]]
end

-- A process that was killed leaves its command running: wait for that, then
-- look. Looking changes nothing, so it may be done as often as it takes.
local function is_added()
  local ok, look = pcall(command, [[
    while kill -0 "$(cat adding)" 2> /dev/null; do sleep 0.1; done
    test -e added]])
  if ok then
    return look.exitCode == 0
  elseif look.code ~= "outcome_unknown" then
    error(look, 0)
  end
  return is_added()
end

repeat
  local ok, problem = pcall(add_row)
  if not ok and problem.code ~= "outcome_unknown" then error(problem, 0) end
until ok or is_added()

return e2b.readFile { sandboxId = id, path = "/home/user/table.txt" }.content
