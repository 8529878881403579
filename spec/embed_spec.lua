-- SPDX-License-Identifier: MIT
-- ebb as it is installed: programs, headers, libraries for a host in C or C++.

local build = os.getenv "EBB_BUILD" or "build"
local dir, root

local function shell(command)
  local pipe = assert(io.popen(("cd %s; { %s\n} 2>&1"):format(dir or ".",
    command)))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

-- Its output; fails if it does.
local function run(command)
  local text, status = shell(command)
  assert(status == 0, command .. "\n" .. text)
  return text
end

local here = run "pwd":gsub("\n", "")
if build:sub(1, 1) ~= "/" then build = here .. "/" .. build end
local sanitized = build:find "asan" and " -fsanitize=address,undefined" or ""

local function flags(words)
  return (run(("PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config "
    .. "--define-variable=prefix=%s %s ebb"):format(root, root, words))
    :gsub("\n", "")) .. sanitized
end

-- Runs a host on a local service of its own.
local function host(program, env)
  return run(("EBB_STATE=%s/state %s timeout 60 ./%s"):format(dir, env or "",
    program))
end

setup(function()
  dir = run "mktemp -d /tmp/ebb-spec.XXXXXX":gsub("\n", "")
  root = dir .. "/root/usr"
  run(("cd %s && sh .ci/install %s %s/root /usr 1.2.3"):format(here, build,
    dir))
end)

teardown(function()
  shell(("EBB_STATE=%s/state timeout 60 %s/ebb serve --stop"):format(dir,
    build))
  os.execute("rm -rf " .. dir)
end)

describe("what is installed", function()
  it("runs from where it is", function()
    assert.truthy(run(root .. "/bin/ebb --version"):find "^ebb ")
    assert.equal("[]\n", run(("EBB_STATE=%s/state timeout 60 %s/bin/ebb "
      .. "--local sandbox list --json"):format(dir, root)))
  end)

  it("names its version to pkg-config", function()
    assert.equal("1.2.3", (flags "--modversion":gsub(" .*", "")))
  end)

  it("has headers that stand alone, in C17 and C++17", function()
    local plus = select(2, shell "g++ --version") == 0
    for header in run(("cd %s/include/ebb && find . -name '*.h'")
      :format(root)):gmatch "%./([^\n]+)" do
      local lua = header:find "lua/" and " $(pkg-config --cflags lua5.4)" or ""
      local how = ("-Wall -Wextra -Werror -c -o h.o $PWD/h.c -I%s/include/ebb"
        .. lua):format(root)
      run(("echo '#include <%s>' >h.c; gcc -std=c17 %s"):format(header, how))
      if plus then run("g++ -x c++ -std=c++17 " .. how) end
    end
    if not plus then pending "no g++ here: C++ was not tried" end
  end)
end)

describe("the libraries", function()
  -- Of the process, each with its reason; everything else is of a runtime.
  local allowed = {
    ["log.o current"] = "the sink of ebb_log",
    ["mem.o current"] = "config.allocator, which is process-wide",
    ["crash.o passed"] = "a test's EBB_CRASH, atomic",
    ["http_client.o once"] = "curl_global_init, by pthread_once",
  }

  it("have no variables that two runtimes share (D13)", function()
    if sanitized ~= "" then pending "a sanitizer adds its own" end
    local wrong, seen = {}, {}
    for line in run(([[for a in %s/libebb.a %s/libebb_lua.a; do
      objdump -t $a | awk '/file format/ { file = $1 }
        $4 ~ /^\.(data|bss|tdata|tbss|common)/ && $4 !~ /rel\.ro/ &&
        $NF !~ /^\./ { print file, $NF }' | tr -d ':'
      done]]):format(build, build)):gmatch "[^\n]+" do
      local name = line:gsub("%.%d+$", "")
      seen[name] = true
      -- execve's arguments are not const, and nobody writes them.
      if not allowed[name] and not name:find "^ebb_launch%.o " then
        wrong[#wrong + 1] = name
      end
    end
    assert.same({}, wrong)
    for name in pairs(allowed) do assert.is_true(seen[name], name) end
  end)
end)

describe("docs/embed.c", function()
  local cc = "gcc -std=c17 -Wall -Wextra -Werror " .. here .. "/docs/embed.c "

  it("runs with the shared library", function()
    run(cc .. flags "--cflags --libs" .. " -o shared")
    assert.equal("hello from user\n",
      host("shared", "LD_LIBRARY_PATH=" .. root .. "/lib"))
  end)

  it("is told when a standard descriptor is closed", function()
    local text, status = shell(("( EBB_STATE=%s/state LD_LIBRARY_PATH=%s/lib "
      .. "timeout 60 ./shared <&- )"):format(dir, root))
    assert.truthy(text:find("descriptor 0 is closed", 1, true), text)
    assert.equal(1, status)
  end)

  it("runs with the static library", function()
    run(cc .. flags "--static --cflags --libs"
      :gsub("%-lebb ", "-l:libebb.a ") .. " -o static")
    assert.equal("", shell "ldd static | grep libebb")
    assert.equal("hello from user\n",
      host("static", "EBB_LIBEXEC=" .. root .. "/libexec/ebb"))
  end)

  it("says what is missing when the service cannot be started", function()
    local text, status = shell(("EBB_STATE=%s/other EBB_LIBEXEC=/nowhere "
      .. "LD_LIBRARY_PATH=%s/lib ./shared"):format(dir, root))
    assert.equal(1, status)
    assert.truthy(text:find("ebb-sandboxd is not in EBB_LIBEXEC (/nowhere)",
      1, true), text)
  end)
end)

describe("docs/embed_run.c", function()
  local listed = "one\ntwo\n"

  local function execute(id, crash)
    return shell(("EBB_STATE=%s/state EBB_JOURNAL=%s/journal.db "
      .. "LD_LIBRARY_PATH=%s/lib %s timeout 60 ./embed_run %s"):format(dir,
      dir, root, crash and "EBB_CRASH=" .. crash or "", id))
  end

  setup(function()
    run("gcc -std=c17 -Wall -Wextra -Werror " .. here .. "/docs/embed_run.c "
      .. flags "--cflags --libs" .. " -o embed_run")
  end)

  it("executes its commands once, and then tells what is recorded", function()
    assert.same({ listed, 0 }, { execute "whole" })
    assert.same({ listed, 0 }, { execute "whole" })
  end)

  it("goes on where it was killed", function()
    for n, crash in ipairs { "connected:1", "outcome-done:1", "connected:3",
      "outcome-done:3", "outcome-done:5", "run-end:1", "run-ended:1" } do
      local text, status = execute("killed" .. n, crash)
      assert.equal(137, status, crash .. ": " .. text)
      assert.same({ listed, 0 }, { execute("killed" .. n) })
    end
  end)

  it("says that a command's outcome is unknown, and ends", function()
    local text, status = execute("unknown", "answered:2")
    assert.equal(137, status, text)
    text, status = execute "unknown"
    assert.equal(1, status)
    assert.truthy(text:find("^outcome_unknown: "), text)
    text, status = execute "unknown"
    assert.equal(1, status)
    assert.truthy(text:find("^it failed before: "), text)
    run(("EBB_STATE=%s/state EBB_JOURNAL=%s/journal.db timeout 60 %s/bin/ebb "
      .. "runs prune --kill"):format(dir, dir, root))
  end)

  it("leaves no sandbox", function()
    assert.equal("[]\n", run(("EBB_STATE=%s/state timeout 60 %s/bin/ebb "
      .. "--local sandbox list --json"):format(dir, root)))
  end)
end)

describe("a host in C++", function()
  it("links to the same names", function()
    if select(2, shell "g++ --version") ~= 0 then
      pending "no g++ here"
      return
    end
    run [[cat >host.cc <<'END'
#include <ebb.h>
#include <cstdio>
int main() { return std::puts(ebb_version()) < 0; }
END]]
    run("g++ -std=c++17 host.cc " .. flags "--cflags --libs" .. " -o cc")
    local version = run(root .. "/bin/ebb --version")
    assert.equal(version, "ebb " .. host("cc", "LD_LIBRARY_PATH=" .. root
      .. "/lib"))
  end)
end)

describe("uninstalling", function()
  it("leaves no file", function()
    run(("cd %s && sh .ci/install --remove %s/root /usr"):format(here, dir))
    assert.equal("", run "find root ! -type d")
    assert.equal("", run "find root -name 'ebb*'")
  end)
end)
