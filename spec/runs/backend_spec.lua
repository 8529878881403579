-- SPDX-License-Identifier: MIT
-- A run stays on the back end where its sandboxes are: it goes on there, is
-- refused elsewhere, and what it left behind is ended there.

local cjson = require "cjson"
local durable = require "support.durable"
local scripted = require "support.scripted"

local runs, cloud

before_each(function()
  runs = durable.open()
  cloud = scripted.start()
end)
after_each(function()
  cloud:stop()
  runs:close()
end)

local script = [[
  local box = e2b.createSandbox { idempotencyKey = "backend-spec" }
  ebb.step("between", function() return count "between" end)
  e2b.killSandbox { sandboxId = box.sandboxId }
  return box.sandboxId]]

local no_key = "EBB_LOCAL= E2B_API_KEY="

local function account(url)
  return ("EBB_LOCAL= E2B_API_URL=%s E2B_SANDBOX_URL=%s E2B_API_KEY=e2b_%s")
    :format(url, url, ("0"):rep(40))
end

local function find(text, wanted)
  assert.truthy(text:find(wanted, 1, true), wanted .. " in:\n" .. text)
end

-- A run that was killed while its sandbox was alive, and its words.
local function interrupted(flags, env)
  local words = ("%s run --id kept %s"):format(flags, runs:write(script))
  local _, status, err = runs:program(words, "EBB_CRASH=outcome-done:2 " .. env)
  assert.equal(durable.KILLED, status, err)
  return words
end

local function sent()
  return #cloud:requests()
end

local function pruned(env)
  local out, status = runs:program("--json runs prune --kill", env)
  return cjson.decode(out), status
end

describe("a run on the local service", function()
  before_each(function() interrupted("--local", no_key) end)

  it("is shown to be there", function()
    find((runs:program "runs show kept"), "on the local service")
    assert.equal("local",
      cjson.decode((runs:program "--json runs show kept")).backend)
    runs:words "runs resume kept"
  end)

  it("is resumed there, by a command that does not say so", function()
    local out, status, err = runs:program("runs resume kept",
      account(cloud.url))
    assert.equal(0, status, err)
    assert.truthy(out:match "^i%w+$", out)
    assert.equal(0, sent())
  end)

  it("stops before anything is sent elsewhere", function()
    local words = "run --id kept " .. runs:write(script)
    local _, status, err = runs:program(words, account(cloud.url))
    assert.equal(5, status)
    find(err, "run kept has its sandboxes on the local service")
    find(err, "go on with --local")
    assert.equal(0, sent())
    _, status, err = runs:program("--local " .. words)
    assert.equal(0, status, err)
  end)

  it("leaves nothing there, pruned by a command without --local", function()
    runs:program("runs cancel kept", no_key)
    assert.equal("[]\n", (runs:words "sandbox list --json"))
    local result, status = pruned(no_key)
    assert.equal(0, status)
    assert.same({ "kept" }, result.removed)
  end)
end)

describe("a run that is killed as its first task begins", function()
  it("is known to be there, for what the task may have made", function()
    local words = runs:write(script)
    runs:program("--local run --id kept " .. words,
      "EBB_CRASH=intent-done:1 " .. no_key)
    runs:program("run --id other " .. words,
      "EBB_CRASH=intent-done:1 " .. account(cloud.url))
    for id, backend in pairs { kept = "local", other = cloud.url } do
      assert.equal(backend,
        cjson.decode((runs:program("--json runs show " .. id))).backend)
    end
  end)
end)

describe("ebb runs show", function()
  local function sandboxes(env)
    local out, status, err = runs:program("--json runs show kept", env)
    assert.equal(0, status)
    return cjson.decode(out).sandboxes, err
  end

  it("lists the sandboxes of a run that are alive, and no others", function()
    interrupted("--local", no_key)
    local left = sandboxes(no_key)
    assert.equal(1, #left)
    assert.equal("running", left[1].status)
    assert.equal("1", left[1].step)
    find((runs:program("runs show kept", no_key)), "running, made by step 1")
    runs:words("sandbox kill " .. left[1].sandboxId)
    assert.same({}, sandboxes(no_key))
    runs:words("serve --stop")
    local err
    left, err = sandboxes(no_key)
    assert.equal(1, #left)
    assert.is_nil(left[1].status)
    find(err, "is not known: the local service is not running")
  end)

  it("finds by its key the one whose id the run never heard of", function()
    local words = ("--local run --id kept %s"):format(runs:write(script))
    runs:program(words, "EBB_CRASH=answered:1 " .. no_key)
    local left = sandboxes(no_key)
    assert.equal(1, #left)
    assert.equal("running", left[1].status)
    assert.truthy(left[1].sandboxId)
    local _, status, err = runs:program(words, no_key)
    assert.equal(0, status, err)
    assert.same({}, sandboxes(no_key))
  end)

  it("lists what an attempt made whose answer was lost", function()
    local lossy = scripted.start {
      { on = "POST /v2/sandboxes", times = 1, act = "close" },
      { on = "GET /v2/sandboxes", skip = 1, times = 3, status = 429 },
    }
    local env = account(lossy.url) .. " EBB_LIMITS=retry=5"
    local _, status, err = runs:program("run --id kept " .. runs:write [[
      e2b.createSandbox { idempotencyKey = "lost" }]], env)
    assert.equal(1, status)
    find(err, "HTTP 429")
    local left = sandboxes(env)
    assert.equal(1, #left)
    assert.equal("running", left[1].status)
    lossy:stop()
  end)
end)

describe("a run in the cloud", function()
  local words
  before_each(function() words = interrupted("", account(cloud.url)) end)

  it("stops before anything is done on the local service", function()
    local _, status, err = runs:program("--local " .. words)
    assert.equal(5, status)
    find(err, "run kept has its sandboxes on " .. cloud.url)
    find(err, "go on without --local")
    _, status, err = runs:program(words, account(cloud.url))
    assert.equal(0, status, err)
  end)

  it("is shown without the password of an address", function()
    local url = cloud.url:gsub("//", "//user:secret@")
    local _, status, err = runs:program("run --id other "
      .. runs:write(script), account(url))
    assert.equal(0, status, err)
    assert.equal(cloud.url,
      cjson.decode((runs:program "--json runs show other")).backend)
  end)

  it("is kept by prune while nobody can end its sandbox", function()
    local _, status, err = runs:program("--local runs cancel kept", no_key)
    assert.equal(3, status)
    find(err, "E2B_API_KEY is required")
    local result
    result, status = pruned(no_key)
    assert.equal(1, status)
    assert.same({}, result.removed)
    find(result.failed[1].message, "E2B_API_KEY is required")
    result = pruned(account "http://127.0.0.1:9")
    find(result.failed[1].message, "it was made on " .. cloud.url)
    result, status = pruned(account(cloud.url))
    assert.equal(0, status)
    assert.same({ "kept" }, result.removed)
    assert.equal(1, #result.killed)
  end)

  it("has its sandbox ended there, asked with --local", function()
    local _, status, err = runs:program("--local runs cancel kept",
      account(cloud.url))
    assert.equal(0, status, err)
    local last = cloud:requests()[sent()]
    assert.equal("DELETE", last.method)
  end)
end)
