-- SPDX-License-Identifier: MIT
-- What `make test` does with a gigabyte, with ten.

local build = os.getenv "EBB_BUILD" or "build"

describe("ten gigabytes", function()
  it("of output of a real sandbox cost 4 MB (C04)", function()
    local pipe = assert(io.popen("EBB_FLOOD_BYTES=10000000000 timeout 600 "
      .. "lua5.4 $(command -v busted) -o TAP --filter 'no memory beyond' "
      .. "spec/tasks/bounds_spec.lua 2>&1"))
    local out = pipe:read "a"
    assert.is_true(pipe:close(), out)
    assert.truthy(("\n" .. out):find "\nok 1 %- ", out)
  end)

  it("of a server without end cost 4 MB (C04)", function()
    local pipe = assert(io.popen("EBB_FLOOD_BYTES=10000000000 timeout 600 "
      .. build .. "/spec/test_flood 2>&1"))
    local out = pipe:read "a"
    local ok = pipe:close()
    for line in out:gmatch "# ([^\n]+)" do print("# " .. line) end
    assert.is_true(ok, out)
  end)
end)
