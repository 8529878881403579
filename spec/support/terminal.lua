-- SPDX-License-Identifier: MIT

-- A person at a terminal (support/terminal.py), with short forms of steps:
--
--   local terminal = require "support.terminal"
--   local text, status = terminal.play("build/ebb repl", {
--     "ebb> ", terminal.type "1 + 1", "2", "ebb> ", terminal.keys.ctrl_d })
--
-- A string is waited for; a table is a step as terminal.py has it.

local cjson = require "cjson"

local terminal = {
  keys = { ctrl_c = { "send", "\3" }, ctrl_d = { "send", "\4" },
    tab = { "send", "\t" }, enter = { "send", "\r" },
    up = { "send", "\27[A" } },
}

function terminal.type(line) return { "send", line .. "\r" } end
function terminal.send(text) return { "send", text } end
function terminal.pause(seconds) return { "pause", seconds } end
function terminal.signal(number) return { "signal", number } end

-- All that came, the exit status. Fails when something did not come.
function terminal.play(command, steps)
  local all = {}
  for i, step in ipairs(steps) do
    all[i] = type(step) == "string" and { "expect", step } or step
  end
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(cjson.encode(all))
  file:close()
  local pipe = assert(io.popen(("timeout 100 python3 "
    .. "spec/support/terminal.py env TERM=xterm %s <%s"):format(command,
    path)))
  local answer = cjson.decode(pipe:read "a")
  pipe:close()
  os.remove(path)
  if answer.missing then
    error(("%q did not come; what came:\n%s"):format(answer.missing,
      answer.text), 2)
  end
  return answer.text, answer.status
end

return terminal
