-- SPDX-License-Identifier: MIT
-- Our tasks beside the published pack (render-lab-tasks-e2b 0.1.0): the same
-- inputs on the same service, equal field by field, except where ours is
-- better by decision; each such place stands in `better` with its reason.
-- What the pack gave is recorded in spec/fixtures/parity/pack.jsonl and is
-- recorded anew, and compared with the recording, where a Python >= 3.12 is.

local cjson = require "cjson"
local service = require "support.service"

local build = os.getenv "EBB_BUILD"
local folder = "spec/fixtures/parity/"

-- Another result than the pack's, and why.
local better = {
  ["create, timeout 0"] = "a lifetime of 0 is refused, not ignored",
  ["write, no encoding"] = "the encoding may be left out: utf8",
  ["read, not UTF-8"] = "bytes that are no text are refused, not damaged",
  ["resume again"] = "changed is false when it was running",
}

-- Members that differ, by case and path ("*": in every case).
local members = {
  ["*"] = {
    [".error"] = "null members are absent in Lua",
    [".cursor"] = "derived from the last entry when there may be more",
  },
  ["create, timeout 0"] = { [".sandboxId"] = "another sandbox each time" },
  ["command, killed by a signal"] = { [".signal"] = "the signal is named" },
  ["list"] = {
    [".entries"] = "fifos and dangling links are listed",
    [".page.returned"] = "the same", [".page.available"] = "the same",
  },
  ["metrics"] = { [".page.available"] = "samples come as time passes",
    [".page.truncated"] = "the same" },
  ["logs"] = {
    [".logs[1].message"] = "the service's own lines, of other processes",
    [".logs[2].message"] = "the service's own lines, of other processes",
    [".logs[1].logger"] = "the logger is also looked up in fields",
    [".logs[2].logger"] = "the logger is also looked up in fields",
    [".page.available"] = "null when unknown: a full page hides the rest",
  },
}

-- The pack's exceptions, as the codes that say the same.
local codes = {
  ValueError = { invalid_input = true, limit_exceeded = true },
  KeyError = { invalid_input = true },
  InvalidArgumentException = { invalid_input = true },
  SandboxNotFoundException = { not_found = true },
  FileNotFoundException = { file_not_found = true },
  TimeoutException = { timeout = true },
  SandboxException = { invalid_input = true },
}

-- What differs from one run to the next is made the same.
local volatile = { startedAt = true, endAt = true, timestamp = true,
  cpuUsedPct = true, memoryUsedBytes = true, diskUsedBytes = true,
  memoryTotalBytes = true, diskTotalBytes = true, cpuCount = true }

local function read(lines)
  local rows, order = {}, {}
  for line in lines do
    local row = cjson.decode(line)
    rows[row.name], order[#order + 1] = row, row.name
  end
  return rows, order
end

local function same(name, path, theirs, ours, found)
  local key = path:match "%.([%w]+)$"
  local allowed = (members[name] or {})[path] or members["*"][path]
  if allowed or volatile[key] then return end
  if theirs == cjson.null then theirs = nil end
  if type(theirs) == "table" and type(ours) == "table" then
    local keys = {}
    for one in pairs(theirs) do keys[one] = true end
    for one in pairs(ours) do keys[one] = true end
    for one in pairs(keys) do
      local next_path = type(one) == "number" and path .. "[" .. one .. "]"
        or path .. "." .. one
      same(name, next_path, theirs[one], ours[one], found)
    end
  elseif type(theirs) == "string" and type(ours) == "string" then
    local function plain(text) return (text:gsub("0x%x+", "0x")) end
    if key ~= "message" and plain(theirs) ~= plain(ours) then
      found[#found + 1] = ("%s: %s, ours %s"):format(path, theirs, ours)
    end
  elseif theirs ~= ours then
    found[#found + 1] = ("%s: %s, ours %s"):format(path, tostring(theirs),
      tostring(ours))
  end
end

local function compare(name, theirs, ours)
  local found = {}
  if theirs.error then
    assert.is_truthy((codes[theirs.error] or {})[ours.error], ("%s: %s (%s), "
      .. "ours %s (%s)"):format(name, theirs.error, theirs.message,
      tostring(ours.error), tostring(ours.message)))
  else
    same(name, "", theirs.output, ours.output or {}, found)
    assert.equal("", table.concat(found, "\n"))
  end
end

-- A program against a service of our own; gives its lines.
local function lines_of(command)
  local one = service.start { args = { "--listen", "127.0.0.1:0" } }
  local pipe = io.popen(("E2B_API_KEY=%s E2B_API_URL=%s E2B_SANDBOX_URL=%s %s")
    :format(one.key, one.url, one.url, command))
  local text = pipe:read "a"
  pipe:close()
  one:stop()
  return text:gmatch "[^\n]+"
end

describe("the twelve tasks beside the published pack", function()
  local pack, order = read(io.lines(folder .. "pack.jsonl"))
  local ours = read(lines_of(("%s/ebb run spec/parity/ours.lua "
    .. "%sinputs.json"):format(build, folder)))

  for _, name in ipairs(order) do
    local why = better[name]
    it(name .. (why and ": better, " .. why or ": equal"), function()
      assert.is_table(ours[name], "no result")
      if not why then return compare(name, pack[name], ours[name]) end
      local found = {}
      same(name, "", pack[name], ours[name], found)
      assert.is_truthy(#found > 0, "it is equal now: take it off the list")
    end)
  end

  it("the recording is what the pack gives today", function()
    local pipe = io.popen("bash spec/parity/python.sh " .. build)
    local python = pipe:read "l"
    pipe:close()
    if not python then return pending "needs a Python of 3.12 or later" end
    local again = read(lines_of(("%s spec/parity/record.py %sinputs.json")
      :format(python, folder)))
    for _, name in ipairs(order) do
      assert.equal(pack[name].error, again[name].error, name)
      if pack[name].output then
        local found = {}
        same(name, "", pack[name].output, again[name].output, found)
        assert.equal("", table.concat(found, "\n"), name)
      end
    end
  end)
end)
