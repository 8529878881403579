-- SPDX-License-Identifier: MIT
-- Writes a Lua module as a C array, so that the program needs no files of its
-- own: lua5.4 embed.lua bindings/lua/ebb.lua > ebb.lua.c

local path = arg[1]
local name = path:match("([%w_]+)%.lua$")
local file = assert(io.open(path, "rb"))
local text = file:read("a")
file:close()

local out = {
  ("const char lebb_%s_lua[] = {"):format(name),
}
for start = 1, #text, 16 do
  local bytes = { text:byte(start, start + 15) }
  out[#out + 1] = "    " .. table.concat(bytes, ", ") .. ","
end
out[#out + 1] = "    0 };"
out[#out + 1] = ("const unsigned long lebb_%s_lua_n = %d;"):format(name, #text)
print(table.concat(out, "\n"))
