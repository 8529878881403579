-- SPDX-License-Identifier: MIT

-- Idempotency-Key on create.

local cjson = require "cjson"
local service = require "support.service"

describe("the idempotency key of a create", function()
  local s

  setup(function() s = service.start() end)
  teardown(function() s:stop() end)

  local function create(key, body, path)
    return s:request("POST", path or "/v2/sandboxes",
      body or { templateID = "base" },
      { headers = { ["Idempotency-Key"] = key } })
  end

  it("gives the same sandbox again", function()
    local status, first = create "one"
    assert.equal(201, status)
    local again, second = create "one"
    assert.equal(201, again)
    assert.same(first, second)
    local _, list = s:request("GET", "/v2/sandboxes")
    assert.equal(1, #list)
  end)

  it("does not care for the order of members", function()
    local _, first = create("order",
      '{"templateID":"base","metadata":{"a":"1","b":"2"}}')
    local status, second = create("order",
      '{"metadata":{"b":"2","a":"1"}, "templateID":"base"}')
    assert.equal(201, status)
    assert.equal(first.sandboxID, second.sandboxID)
  end)

  it("is 422 with another body", function()
    assert.equal(201, (create "two"))
    local status, body = create("two",
      { templateID = "base", metadata = { a = "b" } })
    assert.equal(422, status)
    assert.equal("idempotency_request_mismatch", body.error_code)
    assert.equal(422, body.code)
    assert.equal(422, (create("two", nil, "/sandboxes")))
  end)

  it("makes different sandboxes under different keys", function()
    local _, a = create "a"
    local _, b = create "b"
    assert.not_equal(a.sandboxID, b.sandboxID)
  end)

  it("still stands for a sandbox that was killed", function()
    local _, box = create "dead"
    assert.equal(204, (s:request("DELETE", "/sandboxes/" .. box.sandboxID)))
    local status, again = create "dead"
    assert.equal(201, status)
    assert.equal(box.sandboxID, again.sandboxID)
    assert.equal(404, (s:request("GET", "/sandboxes/" .. box.sandboxID)))
  end)

  it("may be 255 visible characters and no more", function()
    assert.equal(201, (create(("k"):rep(255))))
    assert.equal(201, (create "A/b=C_~!"))
    for _, key in ipairs { ("k"):rep(256), "a b", "é" } do
      local status, body = create(key)
      assert.equal(400, status, key)
      assert.truthy(body.message:find("Idempotency-Key", 1, true))
    end
  end)

  it("is not spent by a request that was refused", function()
    assert.equal(400, (create("refused",
      { templateID = "base", timeout = 0 })))
    assert.equal(201, (create "refused"))
  end)

  it("makes one sandbox of twenty creates at once", function()
    os.execute("mkdir " .. s.dir .. "/many")
    local file = assert(io.open(s.dir .. "/many/config", "w"))
    for i = 1, 20 do
      file:write(i > 1 and "next\n" or "", "silent\n",
        'unix-socket = "' .. s.socket .. '"\n',
        'url = "http://localhost/v2/sandboxes"\n',
        'header = "Idempotency-Key: twenty"\n',
        'header = "Content-Type: application/json"\n',
        'data = "{\\"templateID\\":\\"base\\"}"\n',
        ('output = "%s/many/%d"\n'):format(s.dir, i))
    end
    file:close()
    os.execute(("curl -Z --parallel-max 20 -s -K %s/many/config 2>/dev/null")
      :format(s.dir))
    local ids, made = {}, 0
    for i = 1, 20 do
      local answer = cjson.decode(assert(io.open(s.dir .. "/many/" .. i))
        :read "a")
      if answer.sandboxID then
        ids[answer.sandboxID] = true
        made = made + 1
      else
        assert.equal("idempotency_in_progress", answer.error_code)
        assert.equal(409, answer.code)
      end
    end
    local count = 0
    for _ in pairs(ids) do count = count + 1 end
    assert.equal(1, count)
    assert.is_true(made >= 1)
    local status, last = create "twenty"
    assert.equal(201, status)
    assert.is_true(ids[last.sandboxID])
  end)

  it("finds the sandbox of a client that did not wait for it", function()
    local status = s:request("POST", "/v2/sandboxes", { templateID = "base",
      metadata = { left = "yes" } },
      { headers = { ["Idempotency-Key"] = "left" }, timeout = 0.001 })
    if status ~= 0 then
      pending "the service was too quick to be left"
    end
    local box = service.wait(5, function()
      local code, answer = create("left",
        { templateID = "base", metadata = { left = "yes" } })
      return code == 201 and answer
    end)
    assert.truthy(box)
    local _, list = s:request("GET",
      "/v2/sandboxes?metadata=left%3Dyes")
    assert.equal(1, #list)
    assert.equal(box.sandboxID, list[1].sandboxID)
  end)
end)
