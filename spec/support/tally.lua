-- SPDX-License-Identifier: MIT
-- Counts TAP: `tally.lua NAME FILE` reads TAP on standard input, prints a line
-- for NAME and what failed or was skipped, appends the counts to FILE;
-- `tally.lua --sum FILE` prints the sum of all and exits 1 if any failed.

local function append(path, line)
  local file = assert(io.open(path, "a"))
  file:write(line, "\n")
  file:close()
end

local function count(name, path)
  local passed, failed, skipped, failing = 0, 0, 0, false
  for line in io.lines() do
    -- cmocka says "not ok" also of what it skips.
    line = line:gsub("^not ok (%d+ # SKIP)", "ok %1")
    if line:find("^not ok") then
      failed, failing = failed + 1, true
      print("  " .. line)
    elseif line:find("^ok") then
      failing = false
      if line:lower():find("# ?skip") then
        skipped = skipped + 1
        print("  " .. line)
      else
        passed = passed + 1
      end
    elseif failing or not (line:find("^%d+%.%.%d+") or line:find("^#")) then
      print("  " .. line)
    end
  end
  print(("%-44s %4d passed, %d failed, %d skipped")
    :format(name, passed, failed, skipped))
  append(path, ("count %s %d %d %d"):format(name, passed, failed, skipped))
end

-- A program that failed without a test that says so (a crash, a leak report,
-- a time limit) counts as one failed test.
local function sum(path)
  local passed, failed, skipped, failed_in = 0, 0, 0, {}
  for line in io.lines(path) do
    local name, p, f, s = line:match("^count (%S+) (%d+) (%d+) (%d+)$")
    if name then
      passed, failed, skipped = passed + p, failed + f, skipped + s
      failed_in[name] = tonumber(f)
    else
      local program, status = line:match("^exit (%S+) (%d+)$")
      if failed_in[program] == 0 then
        failed = failed + 1
        print(("%s: ended with status %s"):format(program, status))
      end
    end
  end
  print(("%d passed, %d failed, %d skipped"):format(passed, failed, skipped))
  os.exit(failed == 0 and passed > 0)
end

if arg[1] == "--sum" then
  sum(arg[2])
else
  count(arg[1], arg[2])
end
