-- SPDX-License-Identifier: MIT
-- runCommand on a real service.

local system = require "system"

local tasks = require "support.tasks"

local t, on

setup(function()
  t = tasks.open()
  on = t:on(t:create "command")
end)
teardown(function() t:close() end)

local function run(...) return on.run(...) end

describe("a command", function()
  it("gives back what it wrote and how it ended", function()
    local got = run "printf 'a\\n\\nb'; echo no >&2; exit 3"
    assert.equal(3, got.exitCode)
    assert.equal("a\n\nb", got.stdout.text)
    assert.equal("no\n", got.stderr.text)
    assert.is_nil(got.signal)
  end)

  it("runs in bash, as the user, in the home or where it is told", function()
    assert.equal("/home/user user\n",
      run "[[ a == a ]] && echo $PWD $(whoami)".stdout.text)
    assert.equal("/tmp\n", run("pwd", { cwd = "/tmp" }).stdout.text)
    assert.equal("v w\n",
      run("echo $V", { envs = { V = "v w" } }).stdout.text)
  end)

  it("reads stdin when there is any, else nothing", function()
    assert.equal("", run "cat".stdout.text)
    assert.equal("é\n", run("cat", { stdin = "é\n" }).stdout.text)
    local long = ("x"):rep(1000000)
    assert.equal("1000000\n", run("wc -c", { stdin = long }).stdout.text)
    assert.equal(0, run("head -c 1", { stdin = long }).exitCode)
  end)

  it("fills both pipes before it reads, and ends within a second (C01)",
    function()
      local best = math.huge
      for _ = 1, 3 do -- other work may slow one of them
        local began = system.monotime()
        local got = run([[head -c 1048576 /dev/zero | tr '\0' o
          head -c 1048576 /dev/zero | tr '\0' e >&2; read -r x; exit $x]],
          { stdin = "7\n", maxOutputBytes = 1048576 })
        best = math.min(best, system.monotime() - began)
        assert.equal(7, got.exitCode)
        assert.equal(("o"):rep(1048576), got.stdout.text)
        assert.equal(("e"):rep(1048576), got.stderr.text)
      end
      assert.is_true(best < 1, best)
    end)

  it("that does not exist is a result (D04)", function()
    local got = run "nosuchprogram"
    assert.equal(127, got.exitCode)
    assert.truthy(got.stderr.text:find("nosuchprogram", 1, true))
    assert.equal(126, run "/etc/passwd".exitCode)
  end)

  it("that a signal ended says which", function()
    local got = run "kill -TERM $$"
    assert.equal(-1, got.exitCode)
    assert.equal("SIGTERM", got.signal)
  end)
end)

describe("output", function()
  it("is kept to its bound and counted to its end (B12)", function()
    local got = run("head -c 20000000 /dev/zero | tr '\\0' x; exit 4")
    assert.equal(4, got.exitCode)
    assert.equal(20000000, got.stdout.byteCount)
    assert.equal(65536, got.stdout.returnedBytes)
    assert.equal(("x"):rep(65536), got.stdout.text)
    assert.is_true(got.stdout.truncated)
    assert.equal("next\n", run "echo next".stdout.text)
  end)

  it("is cut between characters (B07)", function()
    local got = run("printf 'aé€😀'", { maxOutputBytes = 5 })
    assert.equal("aé", got.stdout.text)
    assert.equal(10, got.stdout.byteCount)
  end)

  it("that is not UTF-8 is replaced as the standard says (B07)", function()
    local got = run "printf 'a\\xff\\xe2\\x82'"
    assert.equal("a\u{FFFD}\u{FFFD}", got.stdout.text)
    assert.equal(7, got.stdout.byteCount)
  end)
end)

describe("a command's input", function()
  it("is refused with its place when it is wrong (D04)", function()
    local err, status = on.fails.run("ls", { cwd = "/nope" })
    assert.equal("invalid_input", err.code)
    assert.truthy(err.message:find("/nope", 1, true))
    assert.equal(2, status)
    err = on.fails.run("ls", { user = "nobody-here" })
    assert.equal("invalid_input", err.code)
    assert.truthy(err.message:find("nobody%-here"))
    err = on.fails.run("ls", { cwd = "/etc/passwd" })
    assert.equal("invalid_input", err.code)
    assert.truthy(err.message:find("not a directory", 1, true))
    assert.equal(0, run "".exitCode) -- to the shell nothing is a command
  end)

  it("is bounded where exec is", function()
    local err = on.fails.run((":"):rep(131072))
    assert.equal("limit_exceeded", err.code)
    assert.truthy(err.message:find("e2b.writeFiles", 1, true))
    assert.equal(0, run(":" .. (" "):rep(131070)).exitCode)
  end)
end)

describe("time", function()
  it("of two seconds ends a command after two, at once and whole (D02)",
    function()
      local best = math.huge
      for _ = 1, 2 do -- other work may slow one of them
        local began = system.monotime()
        local err = on.fails.run("echo part; sleep 30.02",
          { timeoutMs = 2000 })
        local took = system.monotime() - began
        assert.is_true(took >= 2, took)
        best = math.min(best, took)
        assert.equal("timeout", err.code)
        assert.equal("part\n", err.details.stdout.text)
        assert.equal("", run "pgrep -fx 'sleep 30.02'".stdout.text)
      end
      assert.is_true(best <= 2.5, best)
    end)

  it("ends a command and keeps what it wrote", function()
    local err, status = on.fails.run("echo so far; sleep 30",
      { timeoutMs = 500 })
    assert.equal("timeout", err.code)
    assert.equal(1, status)
    assert.equal("so far\n", err.details.stdout.text)
    assert.is_nil(err.details.mayStillRun)
    assert.equal("", run "pgrep -f 'sleep 30'".stdout.text)
  end)

  it("explains a child that holds stdout (C02)", function()
    local err = on.fails.run("sleep 30 & echo hi",
      { timeoutMs = 400 })
    assert.equal("timeout", err.code)
    assert.truthy(err.message:find(">/dev/null 2>&1 &", 1, true))
    assert.equal("hi\n", err.details.stdout.text)
    assert.equal("at once\n",
      run("sleep 30 >/dev/null 2>&1 & echo at once").stdout.text)
  end)

  it("is not lost in a server, a here document or stdin (C02)", function()
    local began = system.monotime()
    assert.equal("a $b\n", run "cat > h <<'E'\na $b\nE\ncat h".stdout.text)
    assert.equal("none 1\n",
      run "read -r x; echo none $?; cat".stdout.text)
    assert.equal("served\n", run([[
      python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &
      for i in $(seq 100); do
        curl -s -o /dev/null 127.0.0.1:8123 && echo served && break
        sleep 0.05
      done]]).stdout.text)
    assert.is_true(system.monotime() - began < 8)
  end)

  it("0 is no limit (D02)", function()
    assert.equal("done\n", run("sleep 0.2; echo done",
      { timeoutMs = 0 }).stdout.text)
  end)
end)

describe("a sandbox killed meanwhile", function()
  it("leaves the outcome unknown, with the output so far", function()
    local other = t:call("createSandbox", { idempotencyKey = "killed" })
      .sandboxId
    local ebb = t.ebb:prefix()
    os.execute(("(sleep 0.7; %s call e2b.killSandbox "
      .. "'{\"sandboxId\":\"%s\"}' >/dev/null 2>&1) &"):format(ebb, other))
    local err, status = t:fails("runCommand", { sandboxId = other,
      command = "echo begun; sleep 20" })
    assert.equal("outcome_unknown", err.code)
    assert.equal(4, status)
    assert.equal("begun\n", err.details.stdout.text)
    assert.truthy(err.message:find("the sandbox has ended", 1, true))
    assert.is_nil(err.details.mayStillRun)
  end)
end)
