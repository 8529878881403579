-- SPDX-License-Identifier: MIT

-- What recordings cannot show of envd: several clients at once, slow ones and
-- gone ones, large bodies, limits. envd_peer.py plays, this file judges.

local cjson = require "cjson"
local service = require "support.service"

local MIB = 1 << 20
-- AddressSanitizer keeps up to 256 MiB of what was freed.
local KEPT = service.program:find "asan" and 256 * MIB or 0
local server, address, box

local function peer(scenario, target)
  target = target or box
  return ("timeout 100 /usr/bin/python3 spec/support/envd_peer.py %s %s '%s'"
    .. " %d %s"):format(address, target.sandboxID, target.envdAccessToken,
    server.pid, scenario)
end

local function play(scenario)
  local pipe = io.popen(peer(scenario))
  local text = pipe:read "a"
  pipe:close()
  return cjson.decode(text)
end

describe("envd", function()
  setup(function()
    server = service.start { args = { "--api-key", "e2b_00" }, tcp = true }
    address = server.url:gsub("^http://", "")
  end)
  teardown(function() server:stop() end)
  before_each(function() box = server:create { timeout = 600 } end)
  after_each(function()
    server:request("DELETE", "/sandboxes/" .. box.sandboxID)
  end)

  it("delivers output byte by byte, and all of it before the end (B09)",
    function()
      local saw = play "exact"
      assert.same({}, saw.wrong)
      assert.equal("late\n", saw.late)
      assert.same({ "start", "output", "end", "ok" }, saw.late_kinds)
    end)

  it("does not deadlock on two full pipes and a slow reader (C01)", function()
    local saw = play "deadlock"
    assert.equal(200, saw.status)
    assert.equal(MIB + 4, saw.stdout)
    assert.equal(MIB, saw.stderr)
    assert.equal("last", saw.last)
    assert.is_true(saw.s < 5, saw.s)
  end)

  it("returns at once from a child that holds nothing (C02)", function()
    local saw = play "background"
    assert.is_true(saw.quick < 2, saw.quick)
    assert.same({ "start", "output", "end", "ok" }, saw.detached)
    -- One that holds stdout is waited for, but only up to the limit.
    assert.same({ "start", "output", "deadline_exceeded" }, saw.held)
    assert.equal("hi\n", saw.out)
    assert.is_true(saw.held_s < 3, saw.held_s)
    assert.equal("eof\n", saw.stdin)
  end)

  it("ends a command's group, and leaves what has left it (A11)", function()
    local saw = play "groups"
    assert.same({ "0", "0", "0" }, saw.deadline)
    assert.equal(200, saw.status)
    assert.same({ "start", "end", "ok" }, saw.kinds)
    assert.same({ "0", "1", "0" }, saw.signal)
    assert.is_true(saw.s < 2, saw.s)
  end)

  it("keeps a command whose client is gone, up to its limit", function()
    local saw = play "gone"
    assert.equal(1, saw.alive)
    assert.is_true(saw.limited)
    assert.same({ "start", "end", "ok" }, saw.joined)
    assert.equal("x\n", saw.left)
  end)

  it("blocks a command for a slow reader, within bounds", function()
    local saw = play "slow"
    assert.equal("1", saw.blocked)
    assert.is_true(saw.grown < 8 * MIB + KEPT, saw.grown)
    assert.equal(0, saw.got)
    assert.same({ "start", "output", "end", "ok" }, saw.kinds)
    assert.is_true(saw.grown_after < 12 * MIB + KEPT, saw.grown_after)
  end)

  it("goes on when the slow reader leaves", function()
    local saw = play "stalled_leaves"
    assert.is_true(saw.before)
    assert.is_true(saw.done)
  end)

  it("refuses messages of more than 4 MiB", function()
    local saw = play "limits"
    assert.same({ 429, "resource_exhausted" }, saw.unary)
    assert.same({ "resource_exhausted" }, saw.stream)
    assert.same({ "start", "end", "ok" }, saw.fits)
  end)

  it("streams uploads and downloads of any size", function()
    local saw = play "upload"
    assert.same({ 200, "/home/user/big1" }, saw.raw)
    assert.same({ 200, "/home/user/big2" }, saw.form)
    assert.same({ true, true }, saw.same)
    assert.is_true(saw.download)
    assert.is_true(saw.grown < 8 * MIB + KEPT, saw.grown)
    assert.is_true(saw.cut)
  end)

  it("lets input wait for its reader, and bounds that", function()
    local saw = play "feed"
    assert.equal(200, saw.waits[1])
    assert.is_true(saw.waits[3] > 0.3, saw.waits[3])
    assert.equal(tostring(MIB), saw.count)
    assert.same({ 504, "deadline_exceeded" }, { saw.bound[1], saw.bound[2] })
    assert.same({ 500, "internal" }, { saw.dies[1], saw.dies[2] })
    assert.same({ "start", "end", "ok" }, saw["end"])
  end)

  it("lists long directories in order, and odd names readably", function()
    local saw = play "listing"
    assert.equal(3000, saw.count)
    assert.is_true(saw.sorted)
    assert.same({ "a\u{FFFD}b", "c" }, saw.odd)
  end)

  it("logs commands but not their variables", function()
    play "log"
    local _, logs = server:request("GET", "/v2/sandboxes/" .. box.sandboxID
      .. "/logs?limit=100")
    local text = cjson.encode(logs)
    assert.matches("started: %S+sh %-c exit 3", text)
    assert.matches("exited with 3", text)
    assert.is_nil(text:find("s3cret", 1, true))
  end)

  it("cuts streams at a pause, and the command goes on after it", function()
    local path = "/sandboxes/" .. box.sandboxID
    local pipe = io.popen(peer "stay")
    assert.is_number(cjson.decode(pipe:read "l").pid)
    assert.equal(204, (server:request("POST", path .. "/pause")))
    assert.is_string(cjson.decode(pipe:read "l").cut)
    pipe:close()
    assert.equal(201, (server:request("POST", path .. "/connect",
      { timeout = 600 })))
    local status, entry
    service.wait(10, function()
      status, entry = server:data(box, "POST", "/filesystem.Filesystem/Stat",
        { path = "after" })
      return status == 200
    end)
    assert.equal(200, status)
    assert.equal("2", entry.entry.size)
    status, entry = server:data(box, "POST", "/process.Process/List", "{}")
    assert.equal(200, status)
    assert.equal(1, #entry.processes)
  end)

  it("cuts streams when the sandbox is killed", function()
    local gone = server:create { timeout = 600 }
    local pipe = io.popen(peer("stay", gone))
    assert.is_number(cjson.decode(pipe:read "l").pid)
    assert.equal(204, (server:request("DELETE", "/sandboxes/"
      .. gone.sandboxID)))
    assert.is_string(cjson.decode(pipe:read "l").cut)
    pipe:close()
    assert.equal(502, (server:data(gone, "GET", "/health")))
  end)

  it("serves signed URLs that name no sandbox", function()
    local saw = play "signed"
    assert.same({ 200, "it" }, saw.good)
    assert.same({ 200, "it" }, saw.timed)
    assert.same({ 401, 401, 401 }, { saw.late, saw.write, saw.other })
  end)

  it("survives damaged requests", function()
    local _, open = server:request("POST", "/sandboxes",
      { templateID = "base", timeout = 600, secure = false })
    local pipe = io.popen(("timeout 200 /usr/bin/python3 %s %s %s 1000 1")
      :format("spec/support/envd_fuzz.py", address, open.sandboxID))
    local saw = cjson.decode(pipe:read "a")
    pipe:close()
    assert.is_true(saw.works)
    assert.is_true(saw.answered > 500, saw.answered)
    assert.is_nil(server:status(), server:errors())
    server:request("DELETE", "/sandboxes/" .. open.sandboxID)
  end)

  it("lets sandboxes be killed in the middle of everything", function()
    server:request("DELETE", "/sandboxes/" .. box.sandboxID)
    local pipe = io.popen(("timeout 200 /usr/bin/python3 %s %s %s 8 1")
      :format("spec/support/envd_kill.py", address, server.key))
    local saw = cjson.decode(pipe:read "a")
    pipe:close()
    assert.same({ killed = 8, left = 0 }, saw)
    assert.is_nil(server:status(), server:errors())
  end)

  it("takes a user by name and knows two of them", function()
    local function as(user)
      return server:data(box, "GET", "/files?path=/nope&username=" .. user)
    end
    assert.equal(404, (as "root"))
    assert.equal(404, (as "user"))
    assert.equal(404, (as ""))
    assert.equal(401, (as "ghost"))
  end)
end)
