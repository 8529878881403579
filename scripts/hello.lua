-- SPDX-License-Identifier: MIT
-- The smallest whole script: make a sandbox, run a command in it, end it.
--
--   ebb --local run scripts/hello.lua [NAME]

local e2b, ebb = require "e2b", require "ebb"

-- One key, one sandbox: a second call with it finds the first one's.
local box = e2b.createSandbox { idempotencyKey = "hello-" .. ebb.uuid() }
-- The kill happens at the end of the script, whatever ends it.
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = box.sandboxId })

local run = e2b.runCommand {
  sandboxId = box.sandboxId,
  command = 'echo "hello $NAME, this is $(uname -s)"; id -un',
  envs = { NAME = ... or "world" },
}
return run.stdout.text
