-- SPDX-License-Identifier: MIT
-- compare.lua FOLDER PEER: prints what ebb.c, ebb.lua and peer.py measured, as
-- ratios to a commit of bare SQLite that was measured between the steps.

local folder, peer = ...

local function read(name)
  local values, file = {}, io.open(folder .. "/" .. name)
  if not file then return values end
  for key, value in file:read "a":gmatch "(%S+) (%S+)\n" do
    values[key] = tonumber(value) or value
  end
  file:close()
  return values
end

local c, lua, dbos = read "c", read "lua", read "dbos"

local function cell(format, value, ratio)
  if not value then return "" end
  return (format .. "%8s"):format(value, ratio
    and (ratio < 10 and "%.2fx" or "%.0fx"):format(ratio) or "")
end

local function row(name, ...)
  print(("%-36s %-18s %-18s %-18s"):format(name, ...))
end

local function times(name, key, bare)
  row(name, cell("%9.3f", c[key], c[key] / bare),
    cell("%9.3f", lua[key], lua[key] / bare),
    cell("%9.3f", dbos[key], dbos[key] and dbos[key] / bare))
end

local function rates(name, key)
  local base = dbos[key] or c[key]
  row(name, cell("%9.0f", c[key], c[key] / base),
    cell("%9.0f", lua[key], lua[key] / base), cell("%9.0f", dbos[key], 1))
end

local function replay(values)
  if not values.replay_ms then return "" end
  return cell("%9.1f", values.replay_ms * 1000 / values.replay_steps)
end

row("", "   ebb from C", "   ebb from Lua", "   " .. peer)
row("a commit of bare SQLite, ms", cell("%9.3f", c.none_bare_ms, 1)
  .. "    WAL, FULL, one row", "", "")
times("step of class none, 2 commits, ms", "none_ms", c.none_bare_ms)
times("step of class read, 1 commit, ms", "read_ms", c.read_bare_ms)
-- A step of DBOS is executed again when it was interrupted: as class read.
lua.one_per_s, c.one_per_s = lua.read_per_s, c.read_per_s
rates("one after the other, steps/s", "one_per_s")
rates("100 at once, steps/s", "many_per_s")
row("replayed, us a step", replay(c), replay(lua), replay(dbos))
print(("the same grouping of bare SQLite: %.0f steps/s, ebb %.2f of it"):format(
  c.many_bare_per_s, c.many_per_s / c.many_bare_per_s))
print(("one run of %d steps, 500 at once: %.0f steps/s; opened and replayed "
  .. "in %.0f ms; %d MB"):format(c.replay_steps, c.long_per_s, c.replay_ms,
  c.resident_mb))
print(("a plain call, without a run: %.4f ms"):format(c.call_ms))
if dbos.synchronous then
  print(("DBOS has SQLite with journal_mode %s, synchronous %s"):format(
    dbos.journal_mode, dbos.synchronous))
end
