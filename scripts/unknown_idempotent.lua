-- SPDX-License-Identifier: MIT
-- outcome_unknown, second way: make the command one that may run any number of
-- times, and call it again. A marker says that the effect is there; a lock
-- makes a second one wait for a first that is still running.
--
--   ebb --local run --id ID scripts/unknown_idempotent.lua

local e2b, ebb = require "e2b", require "ebb"

local box = e2b.createSandbox { idempotencyKey = "again-" .. ebb.uuid() }
local id = box.sandboxId
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })

-- Runs the command once, however often it is called: under the name's lock,
-- unless its marker is there. The command's own end sets the marker.
local function once(name, command)
  repeat
    local ok, result = pcall(e2b.runCommand, {
      sandboxId = id,
      envs = { NAME = name, COMMAND = command },
      command = [[
        exec 9> ".$NAME.lock" && flock 9 || exit
        test -e ".$NAME.done" || { sh -ec "$COMMAND" && touch ".$NAME.done"; }
      ]],
    })
    if not ok and result.code ~= "outcome_unknown" then error(result, 0) end
    if ok and result.exitCode ~= 0 then error(result.stderr.text, 0) end
  until ok
end

once("first", [[ echo "one row" >> table.txt ]])
once("second", [[ echo "and another" >> table.txt ]])

return e2b.readFile { sandboxId = id, path = "/home/user/table.txt" }.content
