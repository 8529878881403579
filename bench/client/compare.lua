-- SPDX-License-Identifier: MIT
-- compare.lua MEASURE NAME=COMMAND…: each case with each client, the baseline
-- first. Every repetition goes round all clients, so that drift hits them
-- alike; the SDKs, which are slow, leave early. Printed are the least CPU,
-- since what else the machine does can only add to it, the median of memory,
-- and the ratio to the baseline.
--
-- A task names its sandbox by id and no handle crosses a call. For that a user
-- of the SDKs connects by the id and does the operation, so they do both each
-- time; ebb, as always, uses the answer of a connect again for 30 s. Bare
-- libcurl does the exchanges that ebb makes, and only in "task" those of the
-- SDKs. In "kept" the SDKs keep their Sandbox, which a task cannot.
--
-- BENCH_CASES="kept out" and BENCH_REPEAT=9 narrow and widen it.

local MIB = 1 << 20
local BARE_TIMES = 2 -- of the bare loop's CPU, at most
local SDK_TIMES = 20 -- of ebb's CPU, at least
local SDK_REPEAT = 3 -- or less

-- n: how many tasks, or bytes. ms and mib are goals, at most; a case of tasks
-- has those of BARE_TIMES and SDK_TIMES.
local cases = {
  { name = "first", n = 1, ms = 25, mib = 16, what = "start to first task" },
  { name = "task", n = 1000, what = "runCommand true: connect and command" },
  { name = "kept", n = 1000,
    what = "runCommand true, kept connection and Sandbox" },
  { name = "code", n = 1000, what = "runCode 1+1" },
  { name = "list", n = 1000, what = "listFiles, 100 entries" },
  { name = "read", n = 500, what = "readFile, 256 KiB" },
  { name = "write", n = 200, what = "writeFiles, 100 of 1 KiB" },
  { name = "conc", n = 500, what = "500 commands of 200 ms at once" },
  { name = "out", n = 64 * MIB, bytes = true, ms = 64 * MIB / 300e3, mib = 4,
    what = "64 MiB of output" },
  { name = "frames", n = 4 * MIB, bytes = true, ms = 100,
    what = "4 MiB of output in 16-byte events" },
  { name = "frames", n = 8 * MIB, bytes = true, fast = true, ms = 200,
    what = "8 MiB of output in 16-byte events" },
}

local measure = table.remove(arg, 1)
local clients = {}
for i, text in ipairs(arg) do
  local name, command = text:match("^(.-)=(.*)$")
  clients[i] = { name = name, command = command,
    slow = name:match("^SDK") ~= nil }
end

local repeats = tonumber(os.getenv("BENCH_REPEAT") or 7)
local wanted = os.getenv("BENCH_CASES")

local function run(case, client)
  local pipe = assert(io.popen(("%s %s %s %d"):format(measure, client.command,
    case.name, case.n)))
  local line, got = pipe:read("a"), {}
  for key, value in line:gmatch("([%w_]+)=(%d+)") do
    got[key] = tonumber(value)
  end
  if not pipe:close() or not got.cpu_us then
    return nil
  end
  return got
end

local function sorted(rows, key)
  local values = {}
  for i, row in ipairs(rows) do
    values[i] = row[key] or 0
  end
  table.sort(values)
  return values
end

local function least(rows, key)
  return sorted(rows, key)[1]
end

local function median(rows, key)
  return sorted(rows, key)[(#rows + 1) // 2]
end

-- CPU of one task in µs, or of the whole case; memory in MiB.
local function figures(case, rows)
  if case.name == "first" then
    return least(rows, "total_cpu_us"), median(rows, "total_kb") / 1024
  end
  return least(rows, "cpu_us") / (case.bytes and 1 or case.n),
    (median(rows, "peak_kb") - median(rows, "idle_kb")) / 1024
end

local function verdict(good, goal, ...)
  return ("  %s: %s"):format(goal:format(...), good and "met" or "MISSED")
end

-- How far the bare loop itself is below the SDK says what could be reached.
local function sdk_goal(case, us, times)
  if case.ms then
    return ""
  end
  return verdict(us >= SDK_TIMES * times.ebb,
    "%.0f x ebb (%.0f x bare), goal %d", us / times.ebb, us / times.base,
    SDK_TIMES)
end

-- What is asked of this figure, and whether it is so.
local function goal(case, client, us, mib, times)
  if times.base == us then
    return ""
  elseif client.slow then
    return sdk_goal(case, us, times)
  elseif not case.ms then
    return verdict(us <= BARE_TIMES * times.base, "goal %d x", BARE_TIMES)
  end
  return verdict(us <= case.ms * 1000 and mib <= (case.mib or mib),
    case.mib and "goal %.0f ms, %d MiB" or "goal %.0f ms", case.ms, case.mib)
end

local function takes_part(case, client, round)
  local last = case.fast and 0 or case.bytes and 1 or SDK_REPEAT
  return not client.slow or round <= last
end

local function show(case)
  local all, times = {}, {}
  for i in ipairs(clients) do
    all[i] = {}
  end
  for round = 1, repeats do
    for i, client in ipairs(clients) do
      if takes_part(case, client, round) then
        all[i][#all[i] + 1] = run(case, client)
      end
    end
  end
  print("\n" .. case.what)
  for i, client in ipairs(clients) do
    if #all[i] > 0 then
      local us, mib = figures(case, all[i])
      times.base = times.base or us
      times.ebb = client.name == "ebb from C" and us or times.ebb
      print(("  %-14s %10.3f ms CPU %8.2f x %9.1f MiB%s%s%s"):format(
        client.name, us / 1000, us / times.base, mib,
        case.name == "first" and "" or " above idle",
        case.bytes and (" %7.0f MB/s"):format(case.n / us) or "",
        goal(case, client, us, mib, times)))
    elseif takes_part(case, client, 1) then
      print(("  %-14s failed"):format(client.name))
    end
  end
end

for _, case in ipairs(cases) do
  if not wanted or (" " .. wanted .. " "):find(" " .. case.name .. " ", 1,
      true) then
    show(case)
  end
end
