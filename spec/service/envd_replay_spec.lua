-- SPDX-License-Identifier: MIT

-- The bytes that a real envd was asked and answered, against this one. The
-- recorded heads name no sandbox, so replay.py adds the two routing headers;
-- those of a secured sandbox get its own token and signatures.

local cases = require "support.envd_cases"
local cjson = require "cjson"
local lfs = require "lfs"
local service = require "support.service"

local FIXTURES = "spec/fixtures/envd"

local server

local function create(group)
  local status, box = server:request("POST", "/sandboxes", {
    templateID = "base", timeout = 600, secure = group.secure or false,
    envVars = group.envs or { GREETING = "hello" },
  })
  assert.equal(201, status)
  return box
end

local function as_step(step)
  if type(step) == "string" then step = { step } end
  if step["do"] then return step end
  local out = { ["do"] = "replay", fixture = step[1] }
  for key, value in pairs(step) do
    if key ~= 1 then out[key] = value end
  end
  return out
end

-- Plays the steps in a new sandbox; what differed, as one text.
local function play(group)
  local box = create(group)
  local steps = {}
  for i, step in ipairs(group.steps) do steps[i] = as_step(step) end
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write(cjson.encode {
    address = server.address, id = box.sandboxID,
    token = box.envdAccessToken or "", fixtures = FIXTURES, steps = steps,
  })
  file:close()
  local pipe = io.popen(
    "timeout 120 /usr/bin/python3 spec/support/replay.py <" .. name)
  local text = pipe:read "a"
  pipe:close()
  os.remove(name)
  local differences, count = {}, 0
  for _, result in ipairs(cjson.decode(text)) do
    count = count + 1
    if not result.ok then
      differences[#differences + 1] = result.fixture .. ": " .. result.why
    end
  end
  return table.concat(differences, "\n"), count
end

-- The fixtures of a list of steps, each once.
local function names(steps, into)
  for _, step in ipairs(steps) do
    step = as_step(step)
    if step["do"] == "replay" or step["do"] == "end" then
      into[#into + 1] = step.fixture
    end
  end
  return into
end

describe("envd, replayed", function()
  setup(function()
    server = service.start { args = { "--api-key", "e2b_00" }, tcp = true }
    server.address = server.url:gsub("^http://", "")
  end)
  teardown(function() server:stop() end)

  it("accounts for every recorded request", function()
    local all, seen = {}, {}
    names(cases.replayed, all)
    for _, group in ipairs(cases.groups) do names(group.steps, all) end
    for fixture in pairs(cases.deviates) do all[#all + 1] = fixture end
    for _, fixture in ipairs(all) do
      assert.is_nil(seen[fixture], fixture .. " is named twice")
      seen[fixture] = true
    end
    for file in lfs.dir(FIXTURES) do
      local fixture = file:match "^(.*)%.req$"
      if fixture then
        assert.is_true(seen[fixture], fixture .. " is not named")
        seen[fixture] = nil
      end
    end
    assert.is_nil(next(seen))
    assert.equal(367, #all)
  end)

  it("answers what needs nothing else as it was recorded", function()
    local differences, count = play { steps = cases.replayed }
    assert.equal("", differences)
    assert.equal(#cases.replayed, count)
  end)

  for _, group in ipairs(cases.groups) do
    it(group.name, function()
      local differences, count = play(group)
      assert.equal("", differences)
      assert.equal(#names(group.steps, {}), count)
    end)
  end

  it("refuses cleanly what it does not offer", function()
    local steps = { cases.deviating_set_up }
    for fixture, how in pairs(cases.deviates) do
      if how.expect then
        steps[#steps + 1] = { fixture, expect = how.expect }
      end
    end
    local differences, count = play { steps = steps }
    assert.equal("", differences)
    assert.equal(#steps - 1, count)
  end)
end)
