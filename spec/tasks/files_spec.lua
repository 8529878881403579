-- SPDX-License-Identifier: MIT
-- writeFiles, readFile, listFiles on a real service.

local tasks = require "support.tasks"

local t, box, on

setup(function()
  t = tasks.open()
  box = t:create "files"
  on = t:on(box)
end)
teardown(function() t:close() end)

local function write(...) return on.write(...) end
local function read(...) return on.read(...) end
local function read_fails(...) return on.fails.read(...) end
local function run(command) return on.run(command).stdout.text end

describe("files", function()
  it("are read as they were written, whatever their names", function()
    local names = { "plain", "a b é", "dir/made/deep", "q\"uote", "per%20cent",
      "semi;colon", "back\\slash", "new\nline", "plus+", "/tmp/absolute",
      "&a=b?c#d" }
    local files = {}
    for i, name in ipairs(names) do
      files[i] = { path = name, content = "<" .. name .. ">" }
    end
    local got = write(files)
    for i, name in ipairs(names) do
      assert.equal(name, got.files[i].path)
      assert.equal(#name + 2, got.files[i].byteCount)
      assert.equal("<" .. name .. ">", read(name).content)
    end
  end)

  it("keep every byte (A08)", function()
    local contents = {
      "bytes(range(256)) * 16", "b'\\x89PNG\\r\\n\\x1a\\n'",
      "b'\\xff' * 1000", "os.urandom(1 << 20)", "b'\\0'",
    }
    for _, content in ipairs(contents) do
      run(("python3 -c \"import os; open('/tmp/all', 'wb').write(%s)\"")
        :format(content))
      local got = read("/tmp/all", { encoding = "base64",
        maxBytes = 1 << 20 })
      write { { path = "/tmp/copy", encoding = "base64",
        content = got.content } }
      assert.equal("", run "cmp /tmp/all /tmp/copy 2>&1")
    end
  end)

  it("may be empty, and are replaced whole", function()
    write { { path = "e", content = "long before" } }
    write { { path = "e", content = "" }, { path = "f", content = "" } }
    assert.equal("", read "e".content)
    assert.equal(0, read "f".byteCount)
  end)
end)

describe("writeFiles", function()
  it("refuses before anything is sent", function()
    local err = t:fails("writeFiles", { sandboxId = box,
      files = { { path = "no", content = "x" },
        { path = "no", content = "y" } } })
    assert.equal("invalid_input", err.code)
    assert.equal("file_not_found", read_fails "no".code)
    err = t:fails("writeFiles", { sandboxId = box, maxTotalBytes = 2,
      files = { { path = "no", content = "abc" } } })
    assert.equal("limit_exceeded", err.code)
  end)

  it("says what was written when a later file fails", function()
    local err = t:fails("writeFiles", { sandboxId = box,
      files = { { path = "w;1", content = "x" },
        { path = "/tmp", content = "y" } } })
    assert.equal("invalid_input", err.code)
    assert.equal("w;1", err.details.written[1].path)
    assert.equal("x", read "w;1".content)
  end)

  it("says what was written when one request for all fails", function()
    local err = t:fails("writeFiles", { sandboxId = box,
      files = { { path = "m1", content = "x" },
        { path = "/tmp", content = "y" }, { path = "m3", content = "z" } } })
    assert.equal("invalid_input", err.code)
    assert.truthy(err.message:find("/tmp: path is a directory", 1, true))
    assert.same({ { path = "m1", byteCount = 1 } }, err.details.written)
    assert.same({}, err.details.mayBeWritten)
    assert.equal("x", read "m1".content)
    assert.equal("file_not_found", read_fails "m3".code)
  end)
end)

describe("readFile", function()
  it("never damages what is not text (A08)", function()
    run "printf '\\x89PNG\\xff' > png"
    local err = read_fails "png"
    assert.equal("not_utf8", err.code)
    assert.truthy(err.message:find("encoding = \"base64\"", 1, true))
    assert.equal("iVBOR/8=", read("png", { encoding = "base64" }).content)
  end)

  it("gives all or nothing (A08)", function()
    run "head -c 1000 /dev/zero | tr '\\0' a > thousand"
    assert.equal(1000, read("thousand", { maxBytes = 1000 }).byteCount)
    local err = read_fails("thousand", { maxBytes = 999 })
    assert.equal("limit_exceeded", err.code)
    assert.is_nil(err.details)
  end)

  it("says what is no file", function()
    assert.equal("file_not_found", read_fails "nope".code)
    assert.equal("file_not_found", read_fails "/etc/passwd/x".code)
    assert.equal("invalid_input", read_fails "/tmp".code)
    run "mkfifo fifo; ln -s /proc/cpuinfo cpu"
    assert.equal("invalid_input", read_fails "fifo".code)
    for _, path in ipairs { "/proc/cpuinfo", "/sys/kernel", "cpu" } do
      local err = read_fails(path)
      assert.equal("unsupported", err.code, path)
      assert.truthy(err.message:find("e2b.runCommand", 1, true))
    end
  end)
end)

describe("listFiles", function()
  it("gives one level with types and sizes", function()
    run [[mkdir -p l/sub/deep; printf 12345 > l/file; ln -s file l/link
      ln -s nowhere l/dangling; mkfifo l/pipe]]
    local got = t:call("listFiles", { sandboxId = box, path = "l" })
    local types = {}
    for _, entry in ipairs(got.entries) do types[entry.name] = entry.type end
    assert.same({ sub = "directory", file = "file", link = "symlink",
      dangling = "symlink", pipe = "other" }, types)
    assert.equal("/home/user/l/dangling", got.entries[1].path)
    assert.same({ returned = 5, available = 5, limit = 100,
      truncated = false }, got.page)
  end)

  it("counts what is beyond its limit", function()
    run "mkdir many; cd many; seq 1500 | xargs touch"
    local got = t:call("listFiles", { sandboxId = box, path = "many",
      limit = 5000 })
    assert.equal(1000, #got.entries)
    assert.same({ returned = 1000, available = 1500, limit = 1000,
      truncated = true }, got.page)
  end)

  it("gives an empty list for an empty directory (B02)", function()
    run "mkdir empty"
    local _, text = t:call("listFiles", { sandboxId = box, path = "empty" })
    assert.truthy(text:find('"entries":[]', 1, true))
  end)

  it("says at once what may not be entered", function()
    run "mkdir -m 0 shut"
    for _, path in ipairs { "shut", "/proc/1/root" } do
      local err = t:fails("listFiles", { sandboxId = box, path = path })
      assert.equal("forbidden", err.code)
      assert.equal(1, err.attempts)
    end
  end)

  it("says what is no directory", function()
    assert.equal("file_not_found",
      t:fails("listFiles", { sandboxId = box, path = "nope" }).code)
    assert.equal("invalid_input",
      t:fails("listFiles", { sandboxId = box, path = "/etc/passwd" }).code)
  end)
end)
