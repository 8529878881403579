-- SPDX-License-Identifier: MIT
-- compare.lua MEASURE NAME=COMMAND…: each case with each client, the baseline
-- first. Every repetition goes round all clients, so that drift hits them
-- alike; medians are printed, and the ratio to the baseline.
--
-- BENCH_CASES="kept out" and BENCH_REPEAT=5 narrow and widen it.

local MIB = 1 << 20

-- n: how many tasks, or bytes; clients slower by orders get fewer.
local cases = {
  { name = "first", n = 1, what = "start to first task" },
  { name = "kept", n = 2000, what = "runCommand true, kept connection" },
  { name = "code", n = 1000, what = "runCode 1+1" },
  { name = "list", n = 1000, what = "listFiles, 100 entries" },
  { name = "read", n = 500, what = "readFile, 256 KiB" },
  { name = "write", n = 200, what = "writeFiles, 100 of 1 KiB" },
  { name = "conc", n = 500, what = "500 commands of 200 ms at once" },
  { name = "out", n = 64 * MIB, bytes = true, what = "64 MiB of output" },
  { name = "frames", n = 4 * MIB, bytes = true,
    what = "4 MiB of output in 16-byte events" },
  { name = "frames", n = 8 * MIB, bytes = true, fast = true,
    what = "8 MiB of output in 16-byte events" },
}

local measure = table.remove(arg, 1)
local clients = {}
for i, text in ipairs(arg) do
  local name, command = text:match("^(.-)=(.*)$")
  clients[i] = { name = name, command = command,
    slow = name:match("^SDK") ~= nil }
end

local repeats = tonumber(os.getenv("BENCH_REPEAT") or 3)
local wanted = os.getenv("BENCH_CASES")

local function count_of(case, client)
  return client.slow and not case.bytes and math.max(1, case.n // 10)
    or case.n
end

local function run(case, client)
  local pipe = assert(io.popen(("%s %s %s %d"):format(measure, client.command,
    case.name, count_of(case, client))))
  local line, got = pipe:read("a"), {}
  for key, value in line:gmatch("([%w_]+)=(%d+)") do
    got[key] = tonumber(value)
  end
  if not pipe:close() or not got.cpu_us then
    return nil
  end
  return got
end

local function median(rows, key)
  local values = {}
  for i, row in ipairs(rows) do
    values[i] = row[key] or 0
  end
  table.sort(values)
  return values[(#values + 1) // 2]
end

-- CPU of one task in µs, or of the whole case; memory in MiB.
local function figures(case, client, rows)
  if case.name == "first" then
    return median(rows, "total_cpu_us"), median(rows, "total_kb") / 1024
  end
  local per = case.bytes and 1 or count_of(case, client)
  return median(rows, "cpu_us") / per,
    (median(rows, "peak_kb") - median(rows, "idle_kb")) / 1024
end

local function show(case)
  local all, base = {}, nil
  for i in ipairs(clients) do
    all[i] = {}
  end
  for _ = 1, repeats do
    for i, client in ipairs(clients) do
      if not (case.fast and client.slow) then
        all[i][#all[i] + 1] = run(case, client)
      end
    end
  end
  print("\n" .. case.what)
  for i, client in ipairs(clients) do
    if #all[i] > 0 then
      local us, mib = figures(case, client, all[i])
      base = base or us
      print(("  %-14s %10.3f ms CPU %8.2f x %9.1f MiB%s%s"):format(
        client.name, us / 1000, us / base, mib,
        case.name == "first" and "" or " above idle",
        case.bytes and (" %7.0f MB/s"):format(case.n / us) or ""))
    elseif not (case.fast and client.slow) then
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
