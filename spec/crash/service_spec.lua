-- SPDX-License-Identifier: MIT
-- Two scripts on the real local service, killed at every point that they pass;
-- what was executed is counted by the sandbox's own file.

local crash = require "support.crash"

local SCRIPTS = { "sequence", "branches" }

describe("on the local service, a run that is killed", function()
  local world

  setup(function() world = crash.open "local" end)
  teardown(function() world:close() end)

  for _, script in ipairs(SCRIPTS) do
    it("at any point ends as if it had not been (A03): " .. script, function()
      print(("# %s: %d single points"):format(script,
        #world:singles(script)))
    end)
  end
end)
