-- SPDX-License-Identifier: MIT
-- The files of a source tree as the lints see them: paths relative to the
-- root, read once, in byte order.

local tree = {}
tree.__index = tree

function tree.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function lines_of(command)
  local out = {}
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do
    out[#out + 1] = line
  end
  pipe:close()
  return out
end

-- What git knows or would add; in a directory without git, every file.
function tree.open(root)
  local at = tree.quote(root)
  local command = ("cd %s && if [ -e .git ]; then git ls-files -co "
    .. "--exclude-standard; else find . -type f | sed 's,^[.]/,,'; fi"
    .. " | LC_ALL=C sort -u"):format(at)
  return setmetatable({ root = root, paths = lines_of(command), texts = {} },
    tree)
end

function tree:read(path)
  if self.texts[path] == nil then
    local file = io.open(self.root .. "/" .. path, "rb")
    self.texts[path] = file and file:read("a") or ""
    if file then
      file:close()
    end
  end
  return self.texts[path]
end

-- The lines of a file, without their ends.
function tree:lines(path)
  return self:read(path):gmatch("([^\n]*)\n?")
end

-- Paths below one of the directories whose names end in one of the suffixes.
function tree:find(dirs, suffixes)
  local out = {}
  for _, path in ipairs(self.paths) do
    local below, named = false, false
    for _, dir in ipairs(dirs) do
      below = below or dir == "" or path:sub(1, #dir + 1) == dir .. "/"
    end
    for _, suffix in ipairs(suffixes) do
      named = named or path:sub(-#suffix) == suffix
    end
    if below and named then
      out[#out + 1] = path
    end
  end
  return out
end

-- Where a comment or literal that begins at `from` ends; nil: it is neither.
local function blank_end(text, from)
  local first, two = text:sub(from, from), text:sub(from, from + 1)
  if two == "/*" then
    return select(2, text:find("*/", from + 2, true)) or #text
  elseif two == "//" then
    return (text:find("\n", from, true) or #text + 1) - 1
  elseif first == "/" then
    return nil
  end
  local stop = from + 1
  while stop <= #text and text:sub(stop, stop) ~= first do
    stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
  end
  return stop
end

-- C source with its comments and literals blanked, line by line as before, so
-- that a plain search finds code only.
function tree.code_of(text)
  local out, at = {}, 1
  local from = text:find("[/\"']", at)
  while from do
    local stop = blank_end(text, from)
    if stop then
      out[#out + 1] = text:sub(at, from - 1)
      out[#out + 1] = (text:sub(from, stop):gsub("[^\n]", " "))
      at = stop + 1
    end
    from = text:find("[/\"']", (stop or from) + 1)
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

return tree
