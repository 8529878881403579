-- SPDX-License-Identifier: MIT
-- Many calls at once over shared connections, and faults drawn at random from
-- fixed seeds: each call of class none is executed at most once, and a success
-- is its own answer, whole.

local scripted = require "support.scripted"

local CALLS, AT_ONCE = 150, 8
local COMMAND, CODE = "POST /process.Process/Start", "POST /execute"

after_each(scripted.stop_all)

local function draw(random)
  local faults = {
    { act = "close" }, { act = "reset" }, { read = "half", act = "close" },
    { read = random(0, 40), act = "reset" }, { cut = random(0, 60) },
    { cut = random(0, 60), with = "reset" }, { cut_head = random(0, 90) },
    { drop = "end" }, { drop = "last chunk" }, { bytewise = true },
    { delay = random(0, 30) }, { status = 500 }, { after = "close" },
    { after = "close", after_ms = random(0, 5) }, { after = "reset" },
    { after = "hold", after_raw = "HTTP/1.1 200 OK\r\n\r\n" },
    { headers = { Connection = "close" } }, { framing = "close" },
    { status = 502, executes = false,
      body = { code = 502, message = "The sandbox was not found" } },
  }
  return random(1, 3) == 1 and faults[random(1, #faults)] or {}
end

-- Rules for so many requests, drawn in the order in which they come.
local function rules_for(random)
  local rules = {}
  for _, on in ipairs { COMMAND, CODE, "POST */connect" } do
    for _ = 1, CALLS do
      local rule = draw(random)
      rule.on, rule.times = on, 1
      rules[#rules + 1] = rule
    end
  end
  return rules
end

-- Some generator of our own: the same numbers on every machine.
local function generator(seed)
  local state = seed
  return function(from, to)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return from + (state >> 33) % (to - from + 1)
  end
end

local SCRIPT = ([[
  local e2b, ebb = require "e2b", require "ebb"
  local n = {}
  for i = 1, %d do n[i] = i end
  return ebb.map(n, function(i)
    local text = ("<%%d>"):format(i)
    local ok, result
    if i %% 2 == 0 then
      ok, result = pcall(e2b.runCommand, { sandboxId = "ibox",
        command = text })
      result = ok and result.stdout.text or result.code
    else
      ok, result = pcall(e2b.runCode, { sandboxId = "ibox", code = text })
      result = ok and result.stdout.text or result.code
    end
    return result
  end, { limit = %d })
]]):format(CALLS, AT_ONCE)

for _, seed in ipairs { 1, 42, 4711 } do
  it(("%d calls, %d at once, at most one execution each, seed %d")
    :format(CALLS, AT_ONCE, seed), function()
      local s = scripted.start(rules_for(generator(seed)))
      local answer = s:run(SCRIPT)
      assert.equal("", answer.errors)
      local ran = {}
      for _, request in ipairs(s:requests()) do
        local mark = request.executed and request.body:match "<%d+>"
        if mark then
          assert.is_nil(ran[mark], mark)
          ran[mark] = true
        end
      end
      local successes = 0
      for index, result in ipairs(answer.out) do
        local mark = ("<%d>"):format(index)
        if result:find "^<" then
          assert.equal(mark, result)
          assert.is_true(ran[mark], mark)
          successes = successes + 1
        elseif result ~= "outcome_unknown" then
          assert.is_nil(ran[mark], mark .. " " .. result)
        end
      end
      assert.is_true(successes > CALLS / 3, successes)
      assert.is_true(successes < CALLS, successes)
    end)
end
