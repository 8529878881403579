-- SPDX-License-Identifier: MIT

-- The states of a sandbox and what each call does in each.

local lfs = require "lfs"
local service = require "support.service"

local s

local calls = require "support.calls" (function() return s end)
local post, connect, info = calls.post, calls.connect, calls.info

local function seconds(text)
  local y, mo, d, h, mi, sec =
    text:match "(%d+)-(%d+)-(%d+)T(%d+):(%d+):([%d.]+)Z"
  return os.time { year = y, month = mo, day = d, hour = h, min = mi,
    sec = 0 } + tonumber(sec)
end

local function seconds_left(id)
  return seconds(assert(info(id)).endAt)
    - seconds(os.date "!%Y-%m-%dT%H:%M:%SZ")
end

describe("a sandbox", function()
  setup(function() s = service.start() end)
  teardown(function() s:stop() end)

  describe("that runs", function()
    it("is resumed with 409", function()
      local id = s:create().sandboxID
      local status, body = post(id, "resume", {})
      assert.equal(409, status)
      assert.equal(409, body.code)
    end)

    it("is only ever extended by connect (A13)", function()
      local box = s:create { timeout = 1800 }
      local status, again = connect(box.sandboxID)
      assert.equal(200, status)
      assert.equal(box.envdAccessToken, again.envdAccessToken)
      connect(box.sandboxID, { timeout = 60 })
      assert.near(1800, seconds_left(box.sandboxID), 3)
      assert.equal(200, (connect(box.sandboxID, { timeout = 3600 })))
      assert.near(3600, seconds_left(box.sandboxID), 3)
      assert.equal(200, (post(box.sandboxID, "connect", { timeout = 0 })))
      assert.near(3600, seconds_left(box.sandboxID), 3)
    end)

    it("is extended and shortened by timeout (A13)", function()
      local id = s:create().sandboxID
      assert.equal(204, (post(id, "timeout", { timeout = 1000 })))
      assert.near(1000, seconds_left(id), 3)
      assert.equal(204, (post(id, "timeout", { timeout = 90 })))
      assert.near(90, seconds_left(id), 3)
    end)

    it("is never shortened by refreshes (A13)", function()
      local id = s:create().sandboxID
      assert.equal(204, (post(id, "refreshes", { duration = 0 })))
      assert.near(300, seconds_left(id), 3)
      assert.equal(204, (post(id, "refreshes", { duration = 3600 })))
      assert.near(3600, seconds_left(id), 3)
      assert.equal(204, (post(id, "refreshes")))
    end)

    it("keeps its end when it is looked at (A13)", function()
      local id = s:create().sandboxID
      local before = info(id).endAt
      s:request("GET", "/v2/sandboxes")
      s:request("GET", "/v2/sandboxes/" .. id .. "/logs")
      s:request("GET", "/sandboxes/" .. id .. "/metrics")
      assert.equal(before, info(id).endAt)
    end)

    it("ends at its timeout and says so afterwards", function()
      local id = s:create { timeout = 1 }.sandboxID
      assert.truthy(service.wait(5, function() return not info(id) end))
      local _, body = info(id)
      assert.truthy(body.message:find("its timeout passed", 1, true),
        body.message)
      assert.is_nil(lfs.attributes(s.state .. "/sandboxes/" .. id))
    end)

    it("ends at once with a timeout below one second", function()
      for _, timeout in ipairs { 0, -7 } do
        local id = s:create().sandboxID
        assert.equal(204, (post(id, "timeout", { timeout = timeout })))
        assert.truthy(service.wait(5, function() return not info(id) end))
      end
    end)
  end)

  for _, memory in ipairs { true, false } do
    describe("paused " .. (memory and "with" or "without") .. " memory",
      function()
        local box, id

        before_each(function()
          box = s:create { metadata = { a = "b" } }
          id = box.sandboxID
          assert.equal(204, (post(id, "pause", { memory = memory })))
        end)
        after_each(function()
          s:request("DELETE", "/sandboxes/" .. id)
        end)

        it("reads as paused, since its end", function()
          local about = info(id)
          assert.equal("paused", about.state)
          assert.equal(memory and "full" or "filesystem", about.pauseMode)
          assert.near(0, seconds_left(id), 3)
        end)

        it("is paused again with 409", function()
          local status, body = post(id, "pause", {})
          assert.equal(409, status)
          assert.equal(409, body.code)
        end)

        it("has no timeout to set", function()
          assert.equal(404, (post(id, "timeout", { timeout = 60 })))
          assert.equal(404, (post(id, "refreshes", {})))
        end)

        it("is 502 on the data plane", function()
          local status, body = s:data(box, "GET", "/health")
          assert.equal(502, status)
          assert.equal("The sandbox was not found", body.message)
        end)

        it("runs again by connect, with its token and metadata", function()
          local status, again = connect(id, { timeout = 120 })
          assert.equal(201, status)
          assert.equal(box.envdAccessToken, again.envdAccessToken)
          assert.near(120, seconds_left(id), 3)
          assert.same({ a = "b" }, info(id).metadata)
          assert.equal("running", info(id).state)
          assert.not_equal(502, (s:data(box, "GET", "/health")))
          assert.equal(200, (connect(id, {})))
        end)

        it("runs again by the deprecated calls", function()
          assert.equal(201, (post(id, "resume", {})))
          assert.near(15, seconds_left(id), 3)
          assert.equal(204, (post(id, "pause", { memory = memory })))
          assert.equal(201, (post(id, "connect", { timeout = 50 })))
          assert.near(50, seconds_left(id), 3)
        end)

        it("runs again afresh by connect without memory", function()
          assert.equal(201, (connect(id, { memory = false })))
          assert.equal("running", info(id).state)
        end)

        it("is killed with nothing left", function()
          assert.equal(204, (s:request("DELETE", "/sandboxes/" .. id)))
          assert.is_nil(info(id))
          assert.is_nil(lfs.attributes(s.state .. "/sandboxes/" .. id))
        end)

        it("resumes with an end that has passed by v1's timeout 0",
          function()
            assert.equal(201, (post(id, "connect", { timeout = 0 })))
            assert.truthy(service.wait(5, function() return not info(id) end))
          end)
      end)
  end

  it("has no process left while it is paused without memory", function()
    local before = #s:processes()
    local id = s:create().sandboxID
    post(id, "pause", { memory = false })
    assert.equal(before, #s:processes())
    s:request("DELETE", "/sandboxes/" .. id)
  end)

  it("pauses at its timeout when it was asked to", function()
    local id = s:create { timeout = 1, autoPause = true,
      autoPauseMemory = false }.sandboxID
    assert.truthy(service.wait(5, function()
      return info(id).pauseMode == "filesystem"
    end))
    assert.equal(201, (connect(id, {})))
    s:request("DELETE", "/sandboxes/" .. id)
  end)

  it("refuses bodies that say nothing it knows", function()
    local id = s:create().sandboxID
    for what, body in pairs {
      timeout = {}, connect = {},
      pause = { memory = "no" }, refreshes = { duration = 3601 },
    } do
      local status, answer = post(id, what, body)
      assert.equal(400, status, what)
      assert.truthy(answer.message:find "^validation error: ")
    end
    assert.equal(400, (post(id, "timeout", { timeout = 1e9 })))
    assert.equal(400, (post(id, "refreshes", { duration = -1 })))
    assert.equal(400, (connect(id, { timeout = 1e9 })))
    assert.equal(400, (connect(id, { timeout = 0 })))
    assert.equal("running", info(id).state)
  end)
end)
