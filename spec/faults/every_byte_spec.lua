-- SPDX-License-Identifier: MIT
-- The connection breaks at each byte of an answer, and of a request's body, in
-- turn: class none is unknown each time, class read right at its next attempt.

local cjson = require "cjson"

local scripted = require "support.scripted"

local BODY_MAX = 400

after_each(scripted.stop_all)

local tasks = {
  { "e2b.runCommand", "POST /process.Process/Start",
    { sandboxId = "ibox", command = "true" } },
  { "e2b.runCode", "POST /execute", { sandboxId = "ibox", code = "true" } },
  { "e2b.writeFiles", "POST /files", { sandboxId = "ibox",
    files = { { path = "/tmp/x", content = "true" } } } },
}

-- Calls the task once per rule. Returns for each its content or "ok", or the
-- error's code.
local function call_each(s, task, input, count)
  local answer = s:run(([[
    local e2b, cjson = require "e2b", require "cjson"
    local input, told = cjson.decode %q, {}
    for n = 1, %d do
      local ok, result = pcall(%s, input)
      told[n] = ok and (result.content or "ok") or result.code
    end
    return told
  ]]):format(cjson.encode(input), count, task))
  assert.equal("", answer.errors)
  return answer.out
end

-- How long the whole answer's head and body are, as sent.
local function measure(task, on, input)
  local s = scripted.start { { on = on, framing = "close" } }
  assert.equal(0, s:call(task, input).status)
  local sent = s:sent(on)
  s:stop()
  return sent.head, sent.body
end

local function rules_for(on, key, count, how)
  local rules = {}
  for n = 1, count do
    rules[n] = { on = on, times = 1, [key] = n - 1, with = how }
  end
  return rules
end

for _, row in ipairs(tasks) do
  local task, on, input = table.unpack(row)

  describe(task .. " (none)", function()
    for _, how in ipairs { "close", "reset" } do
      it(("is unknown, one execution, at each byte of the answer: %s")
        :format(how), function()
          local head, body = measure(task, on, input)
          assert.is_true(head > 15 and body > 15 and body < BODY_MAX)
          for key, count in pairs { cut_head = head, cut = body } do
            local s = scripted.start(rules_for(on, key, count, how))
            for n, code in ipairs(call_each(s, task, input, count)) do
              assert.equal("outcome_unknown", code, key .. " " .. n - 1)
            end
            assert.equal(count, s:executions())
            assert.equal(count, #s:requests(on))
          end
        end)
    end

    -- From the first byte: a server that closes before it may be proved not to
    -- have seen the request, which then goes out again.
    it("is unknown, no execution, at each byte of the body that is read",
      function()
        local s = scripted.start()
        s:call(task, input)
        local count = #s:requests(on)[1].body - 1
        s:stop()
        local rules = {}
        for n = 1, count do
          rules[n] = { on = on, times = 1, read = n, act = "close" }
        end
        s = scripted.start(rules)
        for n, code in ipairs(call_each(s, task, input, count)) do
          assert.equal("outcome_unknown", code, n)
        end
        assert.equal(0, s:executions())
      end)
  end)
end

describe("a stream with one byte changed", function()
  local codes = { ok = true, outcome_unknown = true, timeout = true }

  for index = 1, 2 do
    local task, on, input = table.unpack(tasks[index])
    it(("ends %s, one execution, at each byte, bit 0 and bit 7")
      :format(task), function()
        local _, body = measure(task, on, input)
        for _, by in ipairs { 1, 128 } do
          local rules = {}
          for n = 1, body do
            rules[n] = { on = on, times = 1, change = n - 1, by = by }
          end
          local s = scripted.start(rules)
          for n, code in ipairs(call_each(s, task, input, body)) do
            assert.is_true(codes[code], n .. " " .. code)
          end
          assert.equal(body, s:executions())
        end
      end)
  end
end)

describe("e2b.readFile (read)", function()
  it("gives the whole file though the answer breaks at each byte (B11)",
    function()
      local on, input = "GET /files",
        { sandboxId = "ibox", path = "/tmp/a.txt" }
      local head, body = measure("e2b.readFile", on, input)
      for key, count in pairs { cut_head = head, cut = body } do
        local rules = rules_for(on, key, count)
        for n = count, 1, -1 do -- each failure is followed by a success
          table.insert(rules, n + 1, { on = on, times = 1 })
        end
        local s = scripted.start(rules)
        for n, content in ipairs(call_each(s, "e2b.readFile", input, count)) do
          assert.equal("hello", content, key .. " " .. n - 1)
        end
        assert.equal(2 * count, #s:requests(on))
      end
    end)
end)
