-- SPDX-License-Identifier: MIT
-- Many sandboxes at once: twenty jobs, each in a sandbox of its own, at most
-- five at a time; results come in order. An error in one job cancels the
-- others, and every sandbox is killed all the same.
--
--   ebb --local run scripts/fanout.lua [JOBS]

local e2b, ebb = require "e2b", require "ebb"

local jobs = {}
for n = 1, tonumber(... or 20) do
  jobs[n] = n
end

-- Each job counts the primes below 1,000 n, in its own sandbox.
local function work(n)
  local box = e2b.createSandbox { idempotencyKey = "fanout-" .. ebb.uuid() }
  local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = box.sandboxId })
  local run = e2b.runCommand {
    sandboxId = box.sandboxId,
    envs = { LIMIT = tostring(1000 * n) },
    command = [[awk 'BEGIN { limit = ENVIRON["LIMIT"]
      for (i = 2; i < limit; i++) if (!(i in sieve)) {
        count++
        for (j = i * i; j < limit; j += i) sieve[j] }
      print count }']],
  }
  if run.exitCode ~= 0 then error(run.stderr.text) end
  return { below = 1000 * n, primes = math.tointeger(
    tonumber(run.stdout.text)) }
end

return ebb.map(jobs, work, { limit = 5 })
