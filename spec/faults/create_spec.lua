-- SPDX-License-Identifier: MIT
-- createSandbox (lifecycle): one key is one sandbox, whatever the server
-- loses, repeats, hides or ignores.

local cjson = require "cjson"

local scripted = require "support.scripted"
local service = require "support.service"

local TASK = "e2b.createSandbox"
local KEY = "_render_tasks_idempotency_key"
local CREATE, LIST = "POST /v2/sandboxes", "GET /v2/sandboxes"

after_each(scripted.stop_all)

local function create(s, key, more)
  local input = { idempotencyKey = key or "k" }
  for name, value in pairs(more or {}) do input[name] = value end
  return s:call(TASK, input)
end

-- The server's own list of what lives, by the official way to ask.
local function living(s)
  local found = {}
  local answer = s:ebb("sandbox list", "")
  assert.equal(0, answer.status, answer.errors)
  for _, box in ipairs(answer.out) do
    if box.metadata[KEY] then found[#found + 1] = box.sandboxId end
  end
  return found
end

local function assert_one(s, answer, created)
  assert.equal(0, answer.status, answer.errors)
  assert.same({ answer.out.sandboxId }, living(s))
  if created ~= nil then assert.equal(created, answer.out.created) end
end

-- All Idempotency-Key headers that the server saw.
local function keys_of(s)
  local keys = {}
  for index, request in ipairs(s:requests(CREATE)) do
    keys[index] = request.headers["idempotency-key"]
  end
  return keys
end

describe("a server that honours the key", function()
  local lost = {
    ["closes before it answers"] = { act = "close" },
    ["resets before it answers"] = { act = "reset" },
    ["cuts the answer"] = { cut = 30 },
    ["cuts the answer's head"] = { cut_head = 15 },
    ["answers 503"] = { status = 503 },
    ["answers no JSON"] = { body = "<html>created</html>", status = 201 },
    ["answers an empty 201"] = { body = "", status = 201 },
    ["answers without an id"] = { body = { templateID = "base" },
      status = 201 },
  }
  for what, rule in pairs(lost) do
    it(("makes one sandbox though it %s three times (A02 a)"):format(what),
      function()
        rule.on, rule.times = CREATE, 3
        -- Shown late, so that only the header can tell that it exists.
        local s = scripted.start({ rule }, { shows_after_lists = 4 })
        assert_one(s, create(s), true)
        local keys = keys_of(s)
        assert.equal(4, #keys)
        for _, key in ipairs(keys) do assert.equal(keys[1], key) end
      end)
  end

  it("makes one sandbox within limit + 1 s though it says nothing once",
    function()
      local s = scripted.start { { on = CREATE, times = 1, act = "hold" } }
      local answer = create(s)
      assert_one(s, answer)
      assert.is_true(answer.seconds < 2 + 1.5, answer.seconds)
    end)

  it("makes one sandbox though the client is killed in its create (A02 b)",
    function()
      local s = scripted.start({ { on = CREATE, times = 1, act = "hold" } },
        { shows_after_lists = 2 })
      s:call(TASK, { idempotencyKey = "k" },
        { before = "timeout -s KILL 0.4" })
      assert.equal(1, #keys_of(s))
      assert_one(s, create(s), true)
      assert.equal(keys_of(s)[1], keys_of(s)[2])
    end)

  it("is found again when the create's get is lost", function()
    local s = scripted.start {
      { on = "GET /sandboxes/imade*", times = 1, act = "close" } }
    assert_one(s, create(s))
    assert.equal(1, #keys_of(s))
  end)

  it("gets the same header from everyone who uses the key (A02 e)",
    function()
      local s = scripted.start()
      create(s, "report-42")
      create(s, "report-42")
      create(s, "another")
      local keys = keys_of(s)
      assert.equal(2, #keys) -- the second call found the first sandbox
      -- SHA-256 of "report-42", first 40 digits, generation 0.
      assert.equal("ebb-" .. io.popen("printf report-42 | sha256sum")
        :read(40) .. "-g0", keys[1])
      assert.not_equal(keys[1], keys[2])
    end)

  it("begins a generation when it replays a dead sandbox", function()
    local s = scripted.start()
    local first = create(s).out.sandboxId
    s:call("e2b.killSandbox", { sandboxId = first })
    local answer = create(s)
    assert_one(s, answer, true)
    assert.not_equal(first, answer.out.sandboxId)
    local keys = keys_of(s)
    assert.equal(3, #keys)
    assert.equal(keys[1], keys[2])
    assert.equal("g1", keys[3]:match "%-(g%d+)$")
  end)

  it("adopts what is listed on a mismatch, else begins a generation",
    function()
      local s = scripted.start(nil, { shows_after_lists = 1 })
      local first = create(s, "k", { template = "base" }).out.sandboxId
      local second = create(s, "k", { template = "other" })
      assert_one(s, second, false)
      assert.equal(first, second.out.sandboxId)
      s:call("e2b.killSandbox", { sandboxId = first })
      local third = create(s, "k", { template = "other" })
      assert_one(s, third, true)
      assert.equal("g1", keys_of(s)[#keys_of(s)]:match "%-(g%d+)$")
    end)

  for _, code in ipairs { "in_progress", "outcome_unknown" } do
    it("asks again with the same key on idempotency_" .. code, function()
      local s = scripted.start { { on = CREATE, times = 2, status = 409,
        executes = false, body = { code = 409, message = "wait",
          error_code = "idempotency_" .. code } } }
      assert_one(s, create(s), true)
      assert.equal(3, #keys_of(s))
    end)
  end

  it("is not misled when it answers twice", function()
    local s = scripted.start { { on = CREATE, twice = true } }
    assert_one(s, create(s))
    assert_one(s, create(s), false)
  end)

  it("makes one sandbox for 8 processes at once (A02 d)", function()
    local s = scripted.start({ { on = CREATE, delay = 20 } },
      { shows_after_lists = 30 })
    local ids = {}
    for _, answer in ipairs(s:call_at_once(8, TASK,
        { idempotencyKey = "k" })) do
      assert.equal(0, answer.status, answer.errors)
      ids[answer.out.sandboxId] = true
    end
    assert.same({ imade1 = true }, ids)
  end)

  it("makes one sandbox for 20 threads at once (A02 c)", function()
    local s = scripted.start({ { on = CREATE, delay = 20 } },
      { shows_after_lists = 5 })
    local answer = s:host(20, "e2b.createSandbox", { idempotencyKey = "k" })
    assert.equal(0, answer.status, answer.errors)
    for _, result in ipairs(answer.out.results) do
      assert.equal("ok", result)
    end
    local keys, made = {}, {}
    for _, request in ipairs(s:requests(CREATE)) do
      keys[request.headers["idempotency-key"]] = true
    end
    for _, request in ipairs(s:requests "GET /sandboxes/.*") do
      made[request.path] = true
    end
    assert.truthy(next(keys))
    assert.is_nil(next(keys, next(keys)))
    assert.is_nil(next(made, next(made)))
  end)

  it("makes one sandbox for 20 coroutines at once (A02 c)", function()
    local s = scripted.start({ { on = CREATE, delay = 20 } },
      { shows_after_lists = 50 })
    local answer = s:run [[
      local e2b, ebb = require "e2b", require "ebb"
      local n = {}
      for i = 1, 20 do n[i] = i end
      return ebb.map(n, function()
        return e2b.createSandbox { idempotencyKey = "k" }.sandboxId
      end)
    ]]
    assert.equal("", answer.errors)
    assert.equal(20, #answer.out)
    for _, id in ipairs(answer.out) do assert.equal("imade1", id) end
  end)
end)

describe("a server that ignores the key", function()
  it("makes one sandbox though it loses the answer", function()
    local s = scripted.start({ { on = CREATE, times = 1, act = "close" } },
      { honours_key = false })
    assert_one(s, create(s), false) -- listed by the second attempt
    assert.equal(1, #keys_of(s))
  end)

  for _, order in ipairs { "asc", "desc" } do
    it(("keeps the older of two that were made at once, listed %s, one by "
      .. "one"):format(order), function()
        local s = scripted.start({ { on = CREATE, delay = 300 } },
          { honours_key = false, order = order, page = 1,
            ignores_filter = true })
        local answers = s:call_at_once(2, TASK, { idempotencyKey = "k" })
        for _, answer in ipairs(answers) do
          assert.equal(0, answer.status, answer.errors)
        end
        assert.equal(answers[1].out.sandboxId, answers[2].out.sandboxId)
        assert.same({ "imade1" }, living(s))
      end)
  end

  it("adopts the oldest of several that it lists", function()
    local s = scripted.start { { on = LIST, body = { {
      sandboxID = "iyoung", templateID = "t", state = "running",
      startedAt = "2026-01-01T00:00:05Z", endAt = "2026-01-01T01:00:00Z",
      metadata = { [KEY] = "k" } }, {
      sandboxID = "iold", templateID = "t", state = "paused",
      startedAt = "2026-01-01T00:00:04Z", endAt = "2026-01-01T01:00:00Z",
      metadata = { [KEY] = "k" } }, {
      sandboxID = "iother", templateID = "t", state = "running",
      startedAt = "2026-01-01T00:00:01Z", endAt = "2026-01-01T01:00:00Z",
      metadata = { [KEY] = "K" } } } } }
    local answer = create(s)
    assert.equal("iold", answer.out.sandboxId, answer.errors)
    assert.equal("paused", answer.out.status)
    assert.False(answer.out.created)
    assert.equal(0, #s:requests(CREATE))
  end)
end)

describe("a list", function()
  it("is looked at again when the filter is ignored", function()
    local s = scripted.start(nil, { ignores_filter = true, page = 1 })
    local one, two = create(s, "one"), create(s, "two")
    assert.not_equal(one.out.sandboxId, two.out.sandboxId)
    assert.equal(one.out.sandboxId, create(s, "one").out.sandboxId)
  end)

  it("that never ends is given up as protocol", function()
    local s = scripted.start { { on = LIST, body = "[]",
      headers = { ["X-Next-Token"] = "again" } } }
    local answer = create(s)
    assert.equal("protocol", answer.error.code, answer.errors)
    assert.equal(0, #s:requests(CREATE))
  end)

  it("finds a key that needs every layer of encoding", function()
    local s = scripted.start()
    local key = "a b&c=d/é+%41'"
    local first = create(s, key)
    assert.equal(0, first.status, first.errors)
    assert.equal(first.out.sandboxId, create(s, key).out.sandboxId)
    assert.equal(1, #s:requests(CREATE))
  end)
end)

describe("the local service", function()
  local s
  setup(function() s = service.start { args = { "--listen",
    "127.0.0.1:0" } } end)
  teardown(function() s:stop() end)

  local function client()
    local c = scripted.client(s.url)
    return c, { E2B_API_KEY = s.key }
  end

  it("makes one sandbox for 6 processes with one key (A02 d)", function()
    local c, env = client()
    local ids = {}
    for _, answer in ipairs(c:call_at_once(6, TASK,
        { idempotencyKey = "p" }, { env = env })) do
      assert.equal(0, answer.status, answer.errors)
      ids[answer.out.sandboxId] = true
    end
    local id = next(ids)
    assert.is_nil(next(ids, id))
    c:call("e2b.killSandbox", { sandboxId = id }, { env = env })
  end)

  it("makes one sandbox for 20 coroutines with one key (A02 c)", function()
    local c, env = client()
    local answer = c:run([[
      local e2b, ebb = require "e2b", require "ebb"
      local n = {}
      for i = 1, 20 do n[i] = i end
      local ids = ebb.map(n, function()
        return e2b.createSandbox { idempotencyKey = "c" }.sandboxId
      end)
      e2b.killSandbox { sandboxId = ids[1] }
      return ids
    ]], { env = env })
    assert.equal("", answer.errors)
    assert.equal(20, #answer.out)
    for _, id in ipairs(answer.out) do
      assert.equal(answer.out[1], id, cjson.encode(answer.out))
    end
  end)
end)
