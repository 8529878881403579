-- SPDX-License-Identifier: MIT
-- What `make test` waits for seconds, for minutes. An hour is
-- EBB_BACKGROUND_S=3600 by hand.

it("a command in the background is there after two and ten minutes (C20)",
  function()
    local pipe = assert(io.popen("EBB_BACKGROUND_S=${EBB_BACKGROUND_S:-120,600}"
      .. " timeout 7200 lua5.4 $(command -v busted) -o TAP "
      .. "spec/service/background_spec.lua 2>&1"))
    local out = pipe:read "a"
    assert.is_true(pipe:close(), out)
    assert.truthy(("\n" .. out):find "\nok 1 %- ", out)
  end)
