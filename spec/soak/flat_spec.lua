-- SPDX-License-Identifier: MIT
-- What `make test` does with 20,000 calls, with a million.

local build = os.getenv "EBB_BUILD" or "build"

describe("a million calls", function()
  it("of which every tenth is cancelled and fails leave nothing (C23)",
    function()
      local pipe = assert(io.popen("EBB_FLAT_CALLS=1000000 timeout 1800 "
        .. build .. "/spec/test_lua_flat 2>&1"))
      local out = pipe:read "a"
      local ok = pipe:close()
      for line in out:gmatch "# ([^\n]+)" do print("# " .. line) end
      assert.is_true(ok, out)
    end)
end)
