-- SPDX-License-Identifier: MIT
-- A report made in a sandbox: rows go in as JSON, Python works on them, a
-- Markdown report comes back. Kill it anywhere and run it again with the same
-- --id: finished steps are not run twice, and no sandbox is left behind.
--
--   ebb --local run [--id ID] scripts/report.lua [CSV]

local e2b, ebb, cjson = require "e2b", require "ebb", require "cjson"

-- A table of numbers for each line, by the names in the first line.
local function read_csv(path)
  local lines, names, rows = io.lines(path), {}, {}
  for name in lines():gmatch '[^,"\r]+' do names[#names + 1] = name end
  for line in lines do
    local row, index = {}, 0
    for field in line:gmatch '[^,"\r]+' do
      index = index + 1
      row[names[index]] = tonumber(field)
    end
    rows[#rows + 1] = row
  end
  return rows
end
local here = arg[0]:match "^(.*)/" or "."
local rows = read_csv(... or here .. "/data/macrodata.csv")

local box = e2b.createSandbox { idempotencyKey = "report-" .. ebb.uuid() }
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = box.sandboxId })

-- Both calls may be made twice: so that is what a kill in the middle means.
local function call(task, input)
  local ok, result = pcall(task, input)
  if ok then return result end
  return result.code == "outcome_unknown" and call(task, input)
    or error(result, 0)
end
call(e2b.writeFiles, { sandboxId = box.sandboxId, files = {
  { path = "/tmp/rows.json", content = cjson.encode(rows) } } })
local run = call(e2b.runCode, { sandboxId = box.sandboxId, code = [[
import json
from statistics import mean
rows = json.load(open('/tmp/rows.json'))
worst = max(rows, key=lambda row: row['unemp'])
first, last = rows[0]['year'], rows[-1]['year']
out = [f'# The economy of the United States, {first:.0f} to {last:.0f}', '',
       f'{len(rows)} quarters; unemployment was highest in '
       f'{worst["year"]:.0f}: {worst["unemp"]} %.', '',
       '| decade | growth a year | unemployment | inflation |',
       '|---|---:|---:|---:|']
for decade in sorted({row['year'] // 10 * 10 for row in rows}):
    some = [row for row in rows if row['year'] // 10 * 10 == decade]
    ratio, quarters = some[-1]['realgdp'] / some[0]['realgdp'], len(some) - 1
    out.append(f'| {decade:.0f}s | {ratio ** (4 / quarters) - 1:.1%} | '
               f'{mean(row["unemp"] for row in some):.1f} % | '
               f'{mean(row["infl"] for row in some):.1f} % |')
open('/tmp/out.md', 'w').write('\n'.join(out) + '\n')
]] })
if run.error then error(run.error.traceback.text) end
return e2b.readFile { sandboxId = box.sandboxId, path = "/tmp/out.md" }.content
