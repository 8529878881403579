-- SPDX-License-Identifier: MIT
-- The code interpreter of real sandboxes of a real service, by its wire.

local cjson = require "cjson"
local service = require "support.service"

local here, box

-- One execution: {type → list of its lines}, and all lines in .lines; or
-- status and text when it is not 200.
local function execute(body, options)
  options = options or {}
  options.port = 49999
  if type(body) == "string" then
    body = { code = body, language = options.language }
  end
  local status, text, headers =
    here:data(options.box or box, "POST", "/execute", body, options)
  if status ~= 200 then
    return nil, status, text
  end
  local out = { lines = {}, text = text, headers = headers }
  for line in text:gmatch "([^\n]*)\n" do
    local value = cjson.decode(line)
    out.lines[#out.lines + 1] = value
    out[value.type] = out[value.type] or {}
    table.insert(out[value.type], value)
  end
  return out
end

-- What a stream's lines say together.
local function joined(lines)
  local texts = {}
  for index, line in ipairs(lines or {}) do
    texts[index] = line.text
  end
  return table.concat(texts)
end

local function api(method, path, body)
  return here:data(box, method, path, body, { port = 49999 })
end

setup(function()
  here = service.start()
  box = here:create { envVars = { EBB_GLOBAL = "of the sandbox" },
    secure = true }
end)

teardown(function()
  here:stop()
end)

describe("an execution", function()
  it("begins with its number and ends with its end", function()
    local got = execute "20 + 22"
    assert.equal("number_of_executions", got.lines[1].type)
    assert.equal("end_of_execution", got.lines[#got.lines].type)
    assert.same({ type = "result", text = "42", extra = {},
      is_main_result = true }, got.result[1])
    assert.is_nil(got.headers["content-type"])
    assert.equal(got.lines[1].execution_count + 1,
      execute("1").lines[1].execution_count)
  end)
  it("keeps what was defined for the next one", function()
    execute "x = 5\ndef twice(n): return 2 * n"
    assert.equal("10", execute("twice(x)").result[1].text)
  end)
  it("gives images, displayed values and what a string holds", function()
    local got = execute [[
from IPython.display import Image, display
display(Image(data=b'\x89PNG\r\n\x1a\n'))
'a string']]
    assert.equal("iVBORw0KGgo=", got.result[1].png)
    assert.is_false(got.result[1].is_main_result)
    assert.equal("a string", got.result[2].text)
  end)
  it("draws the figures of matplotlib", function()
    if execute("import matplotlib").error then
      pending("needs python3-matplotlib")
      return
    end
    local got = execute("import matplotlib.pyplot as p\n"
      .. "p.plot([1, 2])\np.show()")
    assert.truthy(got.result[1].png or got.result[2].png)
  end)
  it("tells an exception with its traceback and goes on", function()
    local got = execute "print('before')\n1 / 0"
    assert.equal("before\n", joined(got.stdout))
    assert.equal("ZeroDivisionError", got.error[1].name)
    assert.equal("division by zero", got.error[1].value)
    assert.truthy(got.error[1].traceback:find("1 / 0", 1, true))
    assert.equal("2", execute("1 + 1").result[1].text)
  end)
  it("stamps output with the time and keeps the streams apart", function()
    local got = execute "import sys\nprint('o')\nprint('e', file=sys.stderr)"
    assert.equal("o\n", joined(got.stdout))
    assert.equal("e\n", joined(got.stderr))
    assert.truthy(got.stdout[1].timestamp:match(
      "^%d+%-%d%d%-%d%dT%d%d:%d%d:%d%d%.%d+%+00:00$"))
  end)
  it("writes ASCII lines whatever the text", function()
    local got = execute [[print('a\u2028\u0085é😀', end='')]]
    assert.is_nil(got.text:find "[\x80-\xff]")
    assert.equal("a\u{2028}\u{85}é😀", joined(got.stdout))
    assert.is_nil(got.text:find "\n\n")
  end)
  it("makes U+FFFD of bytes that are no UTF-8, also split ones", function()
    local got = execute [[
import os
os.write(1, b'\xe2\x82'); os.write(1, b'\xac\xff|'); os.write(1, b'\xe2')]]
    assert.equal("€\u{FFFD}|\u{FFFD}", joined(got.stdout))
  end)
  it("passes three megabytes of both streams and a result", function()
    local got = execute [[
import sys
print('o' * 3_000_000); print('e' * 3_000_000, file=sys.stderr)
'r' * 3_000_000]]
    assert.equal(3000001, #joined(got.stdout))
    assert.equal(3000001, #joined(got.stderr))
    assert.equal(3000000, #got.result[1].text)
  end)
  it("has the sandbox's variables, and its own for itself", function()
    local code = "import os\n[os.environ.get(n) for n in "
      .. "('EBB_GLOBAL', 'EBB_RUN', 'HOME', 'E2B_SANDBOX')]"
    local got = execute { code = code, env_vars = { EBB_RUN = "mine" } }
    assert.equal("['of the sandbox', 'mine', '/home/user', 'true']",
      got.result[1].text)
    got = execute(code)
    assert.equal("['of the sandbox', None, '/home/user', 'true']",
      got.result[1].text)
  end)
  it("takes null as absent", function()
    local got = execute { code = "3", context_id = cjson.null,
      language = cjson.null, env_vars = cjson.null }
    assert.equal("3", got.result[1].text)
  end)
  it("keeps a silent answer alive", function()
    local got = execute "import time; time.sleep(6)"
    assert.equal(1, #got.keepalive)
  end)
end)

describe("a client that leaves", function()
  it("interrupts its run and leaves the state (C14)", function()
    execute "kept = 7"
    execute("import time\nfor _ in range(600): time.sleep(0.1)",
      { timeout = 1 })
    local got = execute("kept", { timeout = 3 })
    assert.equal("7", got.result[1].text)
  end)
  it("has a run killed that will not be interrupted", function()
    execute("import signal, time\nwhile True:\n"
      .. "  try: time.sleep(60)\n  except KeyboardInterrupt: pass",
      { timeout = 1 })
    local got = execute("'fresh'", { timeout = 10 })
    assert.equal("fresh", got.result[1].text)
    assert.equal(1, got.lines[1].execution_count)
  end)
  it("does not stop a run that was not its own", function()
    os.execute(("curl -s --unix-socket %s -H 'E2b-Sandbox-Id: %s' "
      .. "-H 'E2b-Sandbox-Port: 49999' http://localhost/execute "
      .. "-d '{\"code\":\"import time; time.sleep(1.5); done = 1\"}' "
      .. ">/dev/null &"):format(here.socket, box.sandboxID))
    service.sleep(0.3)
    execute("'waits'", { timeout = 0.5 })
    local got = execute "done"
    assert.equal("1", got.result[1].text)
  end)
end)

describe("a kernel that dies", function()
  it("says its last words, why it died, and leaves a fresh one", function()
    execute "lost = 1"
    local got = execute("print('last words', flush=True)\nimport os\n"
      .. "os.kill(os.getpid(), 9)")
    assert.equal("last words\n", joined(got.stdout))
    assert.equal("UnexpectedEndOfExecution", got.error[1].name)
    assert.truthy(got.error[1].value:find("SIGKILL", 1, true))
    assert.equal("end_of_execution", got.lines[#got.lines].type)
    assert.equal("NameError", execute("lost").error[1].name)
  end)
end)

describe("bash", function()
  local function bash(code)
    return execute { code = code, language = "bash" }
  end
  it("keeps variables and the directory", function()
    bash "x=5; cd /tmp"
    assert.equal("5 /tmp\n", joined(bash("echo $x $PWD").stdout))
  end)
  it("tells a status that is not 0 as an error", function()
    local got = bash "echo out; echo err >&2; (exit 3)"
    assert.equal("out\n", joined(got.stdout))
    assert.equal("err\n", joined(got.stderr))
    assert.equal("ExitStatus", got.error[1].name)
    assert.equal("exit status 3", got.error[1].value)
    assert.is_nil(bash("true").error)
  end)
  it("ends at exit, and goes on in a new shell", function()
    bash "x=lost"
    assert.equal("exit status 4", bash("exit 4").error[1].value)
    assert.is_nil(bash("exit 0").error)
    assert.equal("\n", joined(bash("echo $x").stdout))
  end)
  it("takes variables for a run", function()
    local got = execute { code = "sh -c 'echo $V'", language = "bash",
      env_vars = { V = "it's" } }
    assert.equal("it's\n", joined(got.stdout))
    assert.equal("\n", joined(bash("echo $V").stdout))
  end)
end)

describe("javascript", function()
  it("keeps state, awaits, and tells errors", function()
    if not os.execute "command -v node >/dev/null" then
      local _, status, text = execute("1", { language = "javascript" })
      assert.equal(500, status)
      assert.truthy(text:find("no program 'node'", 1, true))
      return
    end
    local function js(code)
      return execute { code = code, language = " JS" }
    end
    js "const n = await Promise.resolve(4)"
    assert.equal("8", js("n * 2").result[1].text)
    assert.equal("TypeError", js("null.x").error[1].name)
  end)
end)

-- Languages whose programs may be absent: either they work, or the refusal
-- says what was looked for and how to install it.
local optional = {
  java = { program = "java", first = "int n = 4;", second = "n * 2",
    value = "8", wrong = "Integer.parseInt(\"x\")",
    name = "java.lang.NumberFormatException", hang = "while (true);",
    out = "System.out.println(\"o\"); System.err.println(\"e\");",
    env = "System.getenv(\"V\")" },
  r = { program = "Rscript", first = "n <- 4", second = "n * 2",
    value = "[1] 8", wrong = "stop('bad')", name = "simpleError",
    out = "cat('o\\n'); message('e')", hang = "repeat {}",
    env = "cat(Sys.getenv('V'))" },
}
for language, try in pairs(optional) do
  describe(language, function()
    local function run(code, env, timeout)
      return execute({ code = code, language = language, env_vars = env },
        { timeout = timeout })
    end
    if not os.execute("command -v " .. try.program .. " >/dev/null") then
      it("is refused by the program that is missing", function()
        local _, status, text = run(try.first)
        assert.equal(500, status)
        assert.truthy(text:find("'" .. try.program .. "'", 1, true))
        assert.truthy(text:find("apt-get install", 1, true))
      end)
      return
    end
    it("keeps state, separates the streams, tells errors", function()
      run(try.first)
      assert.equal(try.value, run(try.second).result[1].text)
      local got = run(try.out)
      assert.equal("o\n", joined(got.stdout))
      assert.equal("e\n", joined(got.stderr))
      assert.equal(try.name, run(try.wrong).error[1].name)
      got = run(try.env, { V = "it's \"é\"" })
      assert.truthy(got.text:find([[it's]], 1, true), got.text)
      run(try.hang, nil, 1)
      assert.equal(try.value, run(try.second, nil, 10).result[1].text)
    end)
  end)
end

describe("contexts", function()
  it("are listed with the two defaults", function()
    local status, list = api("GET", "/contexts")
    assert.equal(200, status)
    local seen = {}
    for _, context in ipairs(list) do
      seen[context.language] = context.cwd
    end
    assert.equal("/home/user", seen.python)
    assert.equal("/home/user", seen.javascript)
  end)
  it("have each its own state and directory", function()
    local _, a = api("POST", "/contexts", { cwd = "/tmp" })
    local _, b = api("POST", "/contexts", { language = "python" })
    local where = "import os\nv = globals().get('v', 0) + 1\n(v, os.getcwd())"
    local function run(context)
      return execute({ code = where, context_id = context.id }).result[1].text
    end
    assert.equal("(1, '/tmp')", run(a))
    assert.equal("(1, '/home/user')", run(b))
    assert.equal("(2, '/tmp')", run(a))
    assert.equal(200, (api("POST", "/contexts/" .. a.id .. "/restart")))
    assert.equal("(1, '/tmp')", run(a))
    for _, context in ipairs { a, b } do
      assert.equal(200, (api("DELETE", "/contexts/" .. context.id)))
      local _, status, text =
        execute { code = "1", context_id = context.id }
      assert.equal(404, status)
      assert.equal("Context " .. context.id .. " not found", text)
    end
  end)
  it("end a run when they are restarted", function()
    local _, context = api("POST", "/contexts", {})
    os.execute(("(sleep 0.5; curl -s --unix-socket %s -X POST "
      .. "-H 'E2b-Sandbox-Id: %s' -H 'E2b-Sandbox-Port: 49999' "
      .. "http://localhost/contexts/%s/restart >/dev/null) &")
      :format(here.socket, box.sandboxID, context.id))
    local got = execute { code = "import time; time.sleep(30)",
      context_id = context.id }
    assert.equal("ContextRestarting", got.error[1].name)
    assert.equal("end_of_execution", got.lines[#got.lines].type)
  end)
  it("refuse a directory that is not there and a fifty-first", function()
    local status, text = api("POST", "/contexts", { cwd = "/nowhere" })
    assert.equal(500, status)
    assert.truthy(text:find("no directory /nowhere", 1, true))
    local ids = {}
    repeat
      status, text = api("POST", "/contexts", { language = "bash" })
      ids[#ids + 1] = text.id
    until status ~= 200
    assert.equal(500, status)
    assert.truthy(text:find("at most 50 contexts", 1, true))
    for _, id in ipairs(ids) do
      api("DELETE", "/contexts/" .. id)
    end
  end)
end)

describe("a request that is wrong", function()
  local function refused(body, options)
    local got, status, text = execute(body, options)
    assert.is_nil(got)
    return status, text
  end
  it("is refused with the member's name", function()
    local status, answer = refused { code = 1 }
    assert.equal(422, status)
    assert.same({ "body", "code" }, answer.detail[1].loc)
    assert.equal(422, (refused { code = "1", env_vars = { a = 1 } }))
    assert.equal(422, (refused { code = "1", language = 1 }))
    assert.equal(422, (refused { code = "1\0", language = "bash" }))
    assert.equal(422, (here:data(box, "POST", "/execute", "no json",
      { port = 49999 })))
  end)
  it("names one context or one language, and one that exists", function()
    assert.equal(400, (refused { code = "1", context_id = "a",
      language = "python" }))
    assert.equal(404, (refused { code = "1", context_id = "a" }))
    local status, text = refused { code = "1", language = "cobol" }
    assert.equal(500, status)
    assert.truthy(text:find("'cobol'", 1, true))
    assert.equal(404, (api("DELETE", "/contexts/none")))
    assert.equal(404, (api("GET", "/nothing")))
    assert.equal(405, (api("GET", "/contexts/none")))
  end)
  it("with a wrong token runs nothing", function()
    local status = refused("wrong = 1",
      { headers = { ["X-Access-Token"] = "not it" } })
    assert.equal(401, status)
    assert.equal("NameError", execute("wrong").error[1].name)
  end)
  it("beyond the hundred that may wait is refused", function()
    local _, context = api("POST", "/contexts", {})
    local curl = ("curl -s -m 20 -o /dev/null -w '%%{http_code}\\n' "
      .. "--unix-socket %s -H 'E2b-Sandbox-Id: %s' "
      .. "-H 'E2b-Sandbox-Port: 49999' http://localhost/execute "
      .. "-d '{\"context_id\":\"%s\",\"code\":\"%s\"}'")
    local function call(code)
      return curl:format(here.socket, box.sandboxID, context.id, code)
    end
    os.execute(call("import time; time.sleep(4)") .. " >/dev/null &")
    service.sleep(0.3)
    local pipe = assert(io.popen("for i in $(seq 102); do " .. call("1")
      .. " & done; wait"))
    local counts = {}
    for status in pipe:lines() do
      counts[status] = (counts[status] or 0) + 1
    end
    pipe:close()
    assert.same({ ["200"] = 100, ["429"] = 2 }, counts)
    api("DELETE", "/contexts/" .. context.id)
  end)
  it("that is too long is refused", function()
    assert.equal(413, (refused { code = ("#"):rep(17 << 20) }))
  end)
end)

it("health is OK", function()
  local status, body = api("GET", "/health")
  assert.equal(200, status)
  assert.equal("OK", body)
end)
