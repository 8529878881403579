-- SPDX-License-Identifier: MIT
-- Links, odd paths and odd files that would lead the file tasks out of their
-- sandbox, to the host or to a sibling (A09).

local cjson = require "cjson"
local lfs = require "lfs"
local tasks = require "support.tasks"

local LOOK_S = 3 -- what no fifo or device may hold a call for
local RACES = 10000

local t, box, outside, sibling

local function write_host(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function read_host(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function run(command)
  return t:call("runCommand", { sandboxId = box, command = command })
end

-- What a task says: its result, or its error's code, in bounded time.
local function ask(task, input)
  input.sandboxId = box
  local began = os.time()
  local out, status, err = t:try(task, input)
  assert.is_true(os.time() - began <= LOOK_S, task .. " " .. input.path)
  if status == 0 then return cjson.decode(out) end
  return nil, cjson.decode(err).code
end

local function read(path) return ask("readFile", { path = path }) end
local function list(path) return ask("listFiles", { path = path }) end
local function write(path, text)
  local input = { path = path, files = { { path = path, content = text } } }
  input.path = nil
  input.sandboxId = box
  local _, status, err = t:try("writeFiles", input)
  return status == 0, status ~= 0 and cjson.decode(err).code or nil
end

setup(function()
  t = tasks.open()
  box = t:create "outside"
  sibling = t:create "sibling"
  outside = t.ebb.dir .. "/outside"
  assert(lfs.mkdir(outside))
  os.execute("chmod 777 " .. outside)
  write_host(outside .. "/canary", "host")
  os.execute("chmod 666 " .. outside .. "/canary")
  t:call("writeFiles", { sandboxId = sibling,
    files = { { path = "canary", content = "sibling" } } })
end)
teardown(function() t:close() end)

-- Our own file at such a path may be there, since /tmp is, but nobody else's.
local function assert_not_theirs(path)
  local got = read(path)
  assert.is_true(got == nil or got.content == "from inside", path)
end

-- Nothing outside was touched or made.
local function assert_untouched()
  assert.equal("host", read_host(outside .. "/canary"))
  local names = {}
  for name in lfs.dir(outside) do names[#names + 1] = name end
  assert.equal(3, #names, table.concat(names, " "))
  assert.equal("sibling", t:call("readFile", { sandboxId = sibling,
    path = "canary" }).content)
end

describe("a path that leads out (A09)", function()
  -- Places of the host and of the sibling, as the host names them.
  local function places()
    return { outside, t.ebb.dir .. "/sandboxes/" .. sibling .. "/home" }
  end

  it("by its last link reads, writes and lists nothing there", function()
    for i, place in ipairs(places()) do
      run(("cd; mkdir a%d; cd a%d; ln -s %s/canary final; ln -s %s dir; "
        .. "ln -s %s/new dangling"):format(i, i, place, place, place))
      local at = ("a%d/"):format(i)
      for _, name in ipairs { "final", "dangling", "dir/canary" } do
        assert.same({ nil, "file_not_found" }, { read(at .. name) }, name)
        write(at .. name, "from inside")
      end
      assert.same({ nil, "file_not_found" }, { list(at .. "dir") })
      assert_untouched()
    end
  end)

  it("by dots, slashes or /proc reads, writes and lists nothing there",
    function()
      for _, place in ipairs(places()) do
        for _, before in ipairs { "../../../../../../../..",
          "/home/user/../../../../..", "//", "/./", "/proc/self/root",
          "/proc/1/root", "/proc/self/cwd/../../.." } do
          local path = before .. place
          assert_not_theirs(path .. "/canary")
          write(path .. "/canary", "from inside")
          write(path .. "/made", "from inside")
          assert_not_theirs(path .. "/canary")
          for _, entry in ipairs((list(path) or { entries = {} }).entries) do
            assert.truthy(("canary made"):find(entry.name, 1, true))
          end
        end
        assert_untouched()
      end
    end)

  it("through parents that are links reads, writes and lists nothing there",
    function()
      run(("cd; ln -s / root; ln -s root/root again; ln -s /proc/1/root up; "
        .. "ln -s .. back; ln -s /proc/self/fd fds; ln -s %s/.. host")
        :format(outside))
      for _, before in ipairs { "root", "again", "up", "back/../..", "host/..",
        "fds/3/../../.." } do
        local path = before .. outside
        assert_not_theirs(path .. "/canary")
        write(path .. "/canary", "from inside")
        write(path .. "/made", "from inside")
        assert_not_theirs(path .. "/canary")
      end
      for _, entry in ipairs((list "host" or { entries = {} }).entries) do
        assert.not_equal("input.json", entry.name)
      end
      assert_untouched()
    end)

  it("ends inside for absolute links, as they mean it", function()
    run "cd; ln -s /tmp/mine link; ln -s ///etc//passwd accounts"
    assert.is_true((write("link", "inside")))
    assert.equal("inside", read("/tmp/mine").content)
    assert.truthy(read("accounts").content:find("user:x:1000", 1, true))
    assert.equal("inside", read("//tmp/./../tmp//mine").content)
  end)

  it("is no way for a hard link either", function()
    run "cd; echo one > one; ln one two; ln /etc/passwd stolen 2>/dev/null"
    assert.is_true((write("two", "both")))
    assert.equal("both", read("one").content)
    assert.same({ nil, "file_not_found" }, { read "stolen" })
  end)
end)

describe("a link that is swapped during the call (A09)", function()
  it("never leads out, 10,000 reads and 2,000 writes", function()
    run(("cd; echo inside > real; mkdir d; echo inside > d/canary; cat > race "
      .. "<<'END'\nwhile :; do ln -sfn real swap; ln -sfn %s/canary swap; "
      .. "ln -sfn d parent; ln -sfn %s parent; done\nEND\n"
      .. "bash race >/dev/null 2>&1 &"):format(outside, outside))
    local out, status, err = t.ebb:run(("run --json %s"):format(t.ebb:write(([[
      local e2b = require "e2b"
      local box, seen = %q, {}
      local function note(ok, got)
        local what = ok and (got.content or "written") or got.code
        seen[what] = (seen[what] or 0) + 1
      end
      for i = 1, %d do
        local path = i %% 2 == 0 and "swap" or "parent/canary"
        note(pcall(e2b.readFile, { sandboxId = box, path = path }))
        if i %% 5 == 0 then
          note(pcall(e2b.writeFiles, { sandboxId = box,
            files = { { path = path, content = "inside\n" } } }))
        end
      end
      return seen]]):format(box, RACES))))
    assert.equal(0, status, err)
    run "pkill -f race"
    local seen = cjson.decode(out)
    assert.is_true(seen["inside\n"] > 100, out)
    assert.is_nil(seen.host, out)
    assert_untouched()
  end)
end)

describe("what is no file (A09)", function()
  it("is refused at once, to be read and to be written", function()
    run [[cd; mkfifo fifo; ln -s fifo to-fifo; ln -s /dev/zero zero
      python3 -c 'import socket; socket.socket(1).bind("socket")']]
    for _, path in ipairs { "fifo", "to-fifo", "zero", "/dev/zero",
      "/dev/null", "/dev/tty", "/dev/random", "socket" } do
      local _, code = read(path)
      assert.equal("invalid_input", code, path)
      local began = os.time()
      local written = write(path, "x")
      assert.is_false(written, path)
      assert.is_true(os.time() - began <= LOOK_S, path)
    end
    local names = {}
    for _, entry in ipairs(list("/dev").entries) do names[entry.name] = true end
    assert.is_nil(names.sda)
    assert.is_nil(names.mem)
  end)
end)
