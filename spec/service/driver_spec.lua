-- SPDX-License-Identifier: MIT
-- The drivers alone, outside any sandbox: each gets its requests in a pipe,
-- as from the service, and what comes out is taken apart by the frames.

local cjson = require "cjson"

local NONCE = "0123456789abcdef"
local DRIVERS = "runtime/sandbox/drivers/"

local function slurp(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Splits one stream into what the user's code wrote and the messages; at, in
-- a message, is how much had been written before it.
local function unframe(bytes)
  local raw, lines, at = {}, {}, 1
  local written = 0
  while at <= #bytes do
    local from = bytes:find("\x1e" .. NONCE, at, true)
    local piece = bytes:sub(at, (from or #bytes + 1) - 1)
    raw[#raw + 1], written = piece, written + #piece
    if not from then
      break
    end
    local size = tonumber(bytes:sub(from + 17, from + 20), 16)
    assert(size <= 4096 - 21)
    lines[#lines + 1] = bytes:sub(from + 21, from + 20 + size)
    at = from + 21 + size
  end
  local messages = {}
  for line in table.concat(lines):gmatch("([^\n]*)\n") do
    messages[#messages + 1] = cjson.decode(line)
  end
  return table.concat(raw), messages
end

-- Runs command with input; out: {stdout, stderr, messages, ended}.
local function drive(command, input)
  local base = os.tmpname()
  local file = assert(io.open(base, "wb"))
  file:write(input)
  file:close()
  -- Pipes all round, as in the service: the drivers reopen them.
  os.execute(("{ cat %s | timeout 20 %s 2>&3 | cat >%s.out; } 3>&1 "
    .. "| cat >%s.err"):format(base, command, base, base))
  local out = {}
  out.stdout, out.messages = unframe(slurp(base .. ".out"))
  out.stderr, out.ended = unframe(slurp(base .. ".err"))
  for _, suffix in ipairs { "", ".out", ".err" } do
    os.remove(base .. suffix)
  end
  return out
end

local function requests(codes, env)
  local lines = {}
  for id, code in ipairs(codes) do
    lines[id] = cjson.encode { id = id, code = code, env = env } .. "\n"
  end
  return table.concat(lines)
end

local function python(codes, options)
  options = options or {}
  return drive(("/usr/bin/python3 -I -X utf8 -c %s %s %s"):format(
    quote(slurp(DRIVERS .. "python.py")), NONCE,
    options.plain and "plain" or ""), requests(codes, options.env))
end

local function node(codes, options)
  options = options or {}
  return drive(("sh -c 'exec 3<&0 </dev/null; exec \"$@\"' sh node -e %s "
    .. "-- %s %s"):format(quote(slurp(DRIVERS .. "javascript.js")), NONCE,
    options.language or "javascript"), requests(codes, options.env))
end

local function bash(codes, options)
  options = options or {}
  local input = "__ebb_nonce=" .. NONCE .. "\n" .. slurp(DRIVERS .. "bash.sh")
  for id, code in ipairs(codes) do
    input = input .. ("__ebb_go %d; %seval %s </dev/null; __ebb_say\n")
      :format(id, options.assign or "", quote(code))
  end
  -- Without the signal's help bash would wait for a terminal that is not ours.
  return drive("setsid -w bash --norc --noprofile --noediting -i", input)
end

-- The messages of one type.
local function of(got, kind)
  local found = {}
  for _, message in ipairs(got.messages) do
    if message.type == kind then
      found[#found + 1] = message
    end
  end
  return found
end

local function texts(got)
  local out = {}
  for index, message in ipairs(of(got, "result")) do
    out[index] = message.data["text/plain"]
  end
  return out
end

for _, kind in ipairs { "ipython", "plain" } do
  local plain = kind == "plain"
  local function run(codes, options)
    options = options or {}
    options.plain = plain
    return python(codes, options)
  end
  describe("the " .. kind .. " driver", function()
    if not plain
        and not os.execute("/usr/bin/python3 -c 'import IPython' 2>&-") then
      pending("needs python3-ipython")
      return
    end
    it("keeps state and gives the last expression as main result", function()
      local got = run { "x = 20", "x + 1\nx * 2", "_ + 2", "None", "x;" }
      assert.same({ "40", "42" }, texts(got))
      assert.is_true(of(got, "result")[1].main)
      assert.equal(5, #of(got, "end"))
      assert.equal(5, #got.ended)
    end)
    it("captures what children and C code write, in order", function()
      local got = run { "import os, ctypes\nprint('a')\n"
        .. "os.system('echo b; echo e >&2')\nprint('c', end='')",
        "!echo d", "ctypes.CDLL(None).puts(b'f');" }
      assert.equal("a\nb\ncd\nf\n", got.stdout)
      assert.equal("e\n", got.stderr)
    end)
    it("tells errors with a traceback free of colours", function()
      local got = run { "def f():\n    return 1 / 0\n", "f()", "def (" }
      local errors = of(got, "error")
      assert.equal("ZeroDivisionError", errors[1].name)
      assert.equal("division by zero", errors[1].value)
      assert.truthy(errors[1].traceback:find("return 1 / 0", 1, true))
      assert.is_nil(errors[1].traceback:find("\27", 1, true))
      assert.equal("SyntaxError", errors[2].name)
    end)
    it("displays, and sends any form a value has", function()
      local got = run { "display(1)\nclass P:\n"
        .. "    def _repr_png_(self): return b'\\x89PNG'\n"
        .. "    def _repr_html_(self): return '<b>'\n"
        .. "    def _repr_json_(self): return {'a': [1, 2**70]}\nP()" }
      local results = of(got, "result")
      assert.is_false(results[1].main)
      assert.equal("iVBORw==", results[2].data["image/png"])
      assert.equal("<b>", results[2].data["text/html"])
      assert.same({ 1, 2.0 ^ 70 }, results[2].data["application/json"].a)
    end)
    it("awaits at the top level", function()
      local got = run { "import asyncio\nawait asyncio.sleep(0)\n'done'" }
      assert.same({ "'done'" }, texts(got))
    end)
    it("sets the variables of a run for that run only", function()
      local code = "import os\nos.environ.get('EBB_T')"
      local got = run({ code }, { env = { EBB_T = "v" } })
      assert.same({ "'v'" }, texts(got))
      assert.same({}, texts(run { code }))
    end)
    it("passes a flood through without holding it", function()
      local got = run { "import sys\nprint('o' * 3_000_000)\n"
        .. "print('e' * 3_000_000, file=sys.stderr)\n'r' * 3_000_000" }
      assert.equal(3000001, #got.stdout)
      assert.equal(3000001, #got.stderr)
      assert.equal(3000002, #texts(got)[1])
    end)
    it("refuses a result above its limit by name", function()
      local got = run { "'r' * 11_000_000", "1" }
      assert.equal("ResultTooLarge", of(got, "error")[1].name)
      assert.same({ "1" }, texts(got))
    end)
    it("gives code no standard input", function()
      assert.equal("EOFError", of(run { "input()" }, "error")[1].name)
    end)
    it("is interrupted by SIGINT and goes on", function()
      local got = run { [[
import os, signal, threading
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
while True: pass]], "1" }
      assert.equal("KeyboardInterrupt", of(got, "error")[1].name)
      assert.same({ "1" }, texts(got))
    end)
    it("survives sys.exit, text without UTF-8 and a forked child", function()
      local got = run { "import sys, os\nsys.exit(3)", "print('\\ud800')",
        "os.fork() and 5", "6" }
      assert.equal("SystemExit", of(got, "error")[1].name)
      assert.equal("\\ud800\n", got.stdout)
      assert.same({ "5", "6" }, texts(got))
    end)
  end)
end

describe("the ipython driver", function()
  it("knows magics and names one that does not exist", function()
    if not os.execute("/usr/bin/python3 -c 'import IPython' 2>&-") then
      pending("needs python3-ipython")
      return
    end
    local got = python { "%env EBB_M=5", "%nosuch" }
    assert.truthy(got.stdout:find("EBB_M=5", 1, true))
    assert.equal("UsageError", of(got, "error")[1].name)
  end)
end)

describe("the javascript driver", function()
  if not os.execute("command -v node >/dev/null") then
    pending("needs node")
    return
  end
  it("keeps state, awaits, and gives the last value", function()
    local got = node { "const x = 20", "x + 1", "undefined",
      "const y = await Promise.resolve(5)", "y", "(async () => 7)()" }
    assert.same({ "21", "5", "7" }, texts(got))
    assert.equal(6, #got.ended)
  end)
  it("separates the streams and tells errors without its own frames",
    function()
      local got = node { "console.log('o'); console.error('e')",
        "function f() { throw new TypeError('deep') }\nf()",
        "throw 'text'", "if (" }
      assert.equal("o\n", got.stdout)
      assert.equal("e\n", got.stderr)
      local errors = of(got, "error")
      assert.equal("TypeError", errors[1].name)
      assert.equal("deep", errors[1].value)
      assert.truthy(errors[1].traceback:find("at f", 1, true))
      assert.is_nil(errors[1].traceback:find("node:", 1, true))
      assert.equal("Uncaught", errors[2].name)
      assert.equal("SyntaxError", errors[3].name)
    end)
  it("ends a run by what is thrown outside it, and goes on", function()
    local got = node { "setTimeout(() => { throw new Error('late') }, 1);\n"
      .. "await new Promise(() => setTimeout(() => {}, 5000))", "1" }
    assert.equal("late", of(got, "error")[1].value)
    assert.same({ "1" }, texts(got))
  end)
  it("displays, sends images, sets variables for a run", function()
    local got = node({ "display(1); ({ _toPng() "
      .. "{ return Buffer.from('png') } })", "process.env.EBB_T" },
      { env = { EBB_T = "v" } })
    local results = of(got, "result")
    assert.is_false(results[1].main)
    assert.equal("cG5n", results[2].data["image/png"])
    assert.equal("'v'", results[3].data["text/plain"])
  end)
  it("passes a flood through", function()
    local got = node { "console.log('o'.repeat(3e6)); "
      .. "console.error('e'.repeat(3e6)); 'r'.repeat(3e6)" }
    assert.equal(3000001, #got.stdout)
    assert.equal(3000001, #got.stderr)
    assert.equal(3000002, #texts(got)[1])
  end)
  for what, code in pairs { loop = "while (true);",
    wait = "await new Promise(() => setTimeout(() => {}, 1e5))",
    promise = "new Promise(() => setTimeout(() => {}, 1e5))" } do
    it("is interrupted in a " .. what .. " and goes on", function()
      local got = node { "require('child_process').spawn('sh', ['-c', "
        .. "'sleep 0.2; kill -INT ' + process.pid]); " .. code, "1" }
      assert.truthy(of(got, "error")[1].value:find("interrupted"))
      assert.same({ "1" }, texts(got))
    end)
  end
  it("turns process.exit into an error", function()
    local got = node { "process.exit(3)", "1" }
    assert.equal("SystemExit", of(got, "error")[1].name)
    assert.same({ "1" }, texts(got))
  end)
  it("says what TypeScript needs when it is not there", function()
    local got = node({ "const n: number = 4; n" }, { language = "typescript" })
    local first = got.messages[1]
    if first.type == "ready" then
      assert.same({ "4" }, texts(got))
    else
      assert.equal("unavailable", first.type)
      assert.truthy(first.message:find("npm install", 1, true))
    end
  end)
end)

describe("the bash driver", function()
  local function statuses(got)
    local out = {}
    for index, message in ipairs(of(got, "end")) do
      out[index] = message.status
    end
    return out
  end
  it("keeps variables, functions and the directory", function()
    local got = bash { "x=5; cd /usr; f() { echo f $1; }", "f $x; pwd" }
    assert.equal("f 5\n/usr\n", got.stdout)
    assert.equal(2, #got.ended)
  end)
  it("says the status of the last command and survives bad syntax", function()
    local got = bash { "false", "if then", "nosuchcmd", "echo 'open", "true" }
    assert.same({ 1, 2, 127, 2, 0 }, statuses(got))
    assert.truthy(got.stderr:find("nosuchcmd: command not found", 1, true))
  end)
  it("runs any text as it is: quotes, lines, here documents", function()
    local got = bash { "echo \"it's\" 'a\"b' \\\\ !!", "cat <<E\n$((1 + 1))\nE",
      "for i in 1 2; do\n  echo $i\ndone" }
    assert.equal("it's a\"b \\ !!\n2\n1\n2\n", got.stdout)
  end)
  it("gives code no standard input and sets variables for a run", function()
    local got = bash({ "cat; bash -c 'echo $EBB_T'" }, { assign = "EBB_T=v " })
    assert.equal("v\n", got.stdout)
    assert.equal("\n", bash({ "echo $EBB_T" }).stdout)
  end)
  it("says the end whatever the code does to the prompt", function()
    local got = bash { "unset PROMPT_COMMAND", "PROMPT_COMMAND=; PS1='> '",
      "set -u; echo $nope", "echo ok" }
    assert.same({ 0, 0, 1, 0 }, statuses(got))
    assert.equal("ok\n", got.stdout)
  end)
end)
