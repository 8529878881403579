-- SPDX-License-Identifier: MIT
-- A report made in a sandbox: rows go in as JSON, Python works on them, a
-- Markdown report comes back. Kill it anywhere and run it again with the same
-- --id: finished steps are not run twice, and no sandbox is left behind.
--
--   ebb --local run [--id ID] scripts/report.lua [CSV]

local e2b, ebb, cjson = require "e2b", require "ebb", require "cjson"

-- A table of numbers for each line, by the names in the first line.
local function read_csv(path)
  local names, rows = nil, {}
  for line in io.lines(path) do
    local fields = {}
    for field in line:gmatch '[^,"\r]+' do
      fields[#fields + 1] = field
    end
    if names then
      local row = {}
      for index, name in ipairs(names) do
        row[name] = tonumber(fields[index])
      end
      rows[#rows + 1] = row
    end
    names = names or fields
  end
  return rows
end
local here = arg[0]:match "^(.*)/" or "."
local rows = read_csv(... or here .. "/data/macrodata.csv")

local box = e2b.createSandbox { idempotencyKey = "report-" .. ebb.uuid() }
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = box.sandboxId })

e2b.writeFiles { sandboxId = box.sandboxId, files = {
  { path = "/tmp/rows.json", content = cjson.encode(rows) } } }
local run = e2b.runCode { sandboxId = box.sandboxId, code = [[
import json
from statistics import mean
rows = json.load(open('/tmp/rows.json'))
worst = max(rows, key=lambda row: row['unemp'])
out = [f'# The economy of the United States, {rows[0]["year"]:.0f} to '
       f'{rows[-1]["year"]:.0f}', '',
       f'{len(rows)} quarters; unemployment was highest in '
       f'{worst["year"]:.0f}: {worst["unemp"]} %.', '',
       '| decade | growth a year | unemployment | inflation |',
       '|---|---:|---:|---:|']
for decade in sorted({row['year'] // 10 * 10 for row in rows}):
    some = [row for row in rows if row['year'] // 10 * 10 == decade]
    years = (len(some) - 1) / 4
    rate = (some[-1]['realgdp'] / some[0]['realgdp']) ** (1 / years) - 1
    out.append(f'| {decade:.0f}s | {rate:.1%} | '
               f'{mean(row["unemp"] for row in some):.1f} % | '
               f'{mean(row["infl"] for row in some):.1f} % |')
open('/tmp/report.md', 'w').write('\n'.join(out) + '\n')
]] }
if run.error then error(run.error.traceback.text) end
return e2b.readFile { sandboxId = box.sandboxId, path = "/tmp/report.md" }
  .content
