-- SPDX-License-Identifier: MIT

-- What a service and its sandboxes leave on the machine: processes, mounts,
-- groups, folders. They are known by the service's state directory, so that
-- others' on the same machine are not mixed up with them.
--
--   traces.none(dir)       fails if anything of it is there
--   traces.find(dir)       what there is, as lines
--   traces.service(dir)    the pid of the service, or nil

local traces = {}

local WAIT_S = 5

local function shell(command, ...)
  local pipe = assert(io.popen(command:format(...)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

-- The shell that looks has the directory in its own words: it is passed over,
-- and so is whoever started it.
local look = [[
dir=%s
for p in /proc/[0-9]*; do
  pid=${p#/proc/}
  case $(cat $p/cmdline 2>/dev/null | tr '\0' ' ') in
    *ebb-sandboxd*"$dir"/*|*bwrap*"$dir"/*|*ebb-agent*"$dir"/*)
      grep -q '^State:.*Z' $p/status 2>/dev/null || echo "process $pid";;
  esac
done
grep -F "$dir/" /proc/self/mounts | cut -d' ' -f2 | sed 's/^/mount /'
for id in $(cat "$dir"/seen 2>/dev/null); do
  find /sys/fs/cgroup -maxdepth 4 -type d -name "ebb-$id" 2>/dev/null |
    sed 's/^/group /'
done
ls "$dir"/sandboxes 2>/dev/null | sed 's/^/sandbox /'
ls "$dir"/service.sock 2>/dev/null | sed 's/^/socket /'
]]

function traces.find(dir)
  return shell(look, dir)
end

-- Notes which sandboxes there are now, by whose names groups are looked for.
function traces.note(dir)
  os.execute(("ls %s/sandboxes >>%s/seen 2>/dev/null"):format(dir, dir))
end

function traces.none(dir)
  local found
  for _ = 1, WAIT_S * 10 do
    found = traces.find(dir)
    if found == "" then return end
    os.execute "sleep 0.1"
  end
  error("left behind:\n" .. found, 2)
end

function traces.service(dir)
  return tonumber((shell(
    "pgrep -f '[e]bb-sandboxd.* %s/service.sock' | head -1", dir)))
end

return traces
