-- SPDX-License-Identifier: MIT
-- How long files, functions and lines may be. Past `ask` is a note, past
-- `stop` a failure.

local sizes = {}

sizes.files = {
  { suffix = ".c", ask = 400, stop = 500 },
  { suffix = ".h", ask = 200, stop = 300 },
  { suffix = ".lua", ask = 300, stop = 400 },
  { suffix = ".py", ask = 400, stop = 500 },
  { suffix = ".js", ask = 400, stop = 500 },
  { suffix = ".java", ask = 400, stop = 500 },
  { suffix = ".R", ask = 400, stop = 500 },
  { suffix = ".sh", ask = 200, stop = 300 },
}
sizes.functions = { ask = 50, stop = 70 }
sizes.columns = 80

-- Not ours to shape: recorded bytes, data, and what is written by a program.
sizes.exempt = { "^spec/fixtures/", "^scripts/data/", "^bindings/lua/types/" }

local function judged(path)
  for _, pattern in ipairs(sizes.exempt) do
    if path:find(pattern) then
      return false
    end
  end
  return true
end

local function each_file(tree, fn)
  for _, limit in ipairs(sizes.files) do
    for _, path in ipairs(tree:find({ "" }, { limit.suffix })) do
      if judged(path) then
        fn(path, limit)
      end
    end
  end
end

local function measure(what, count, limit, problems, notes)
  if count > limit.stop then
    problems[#problems + 1] = ("%s: %d lines, the limit is %d")
      :format(what, count, limit.stop)
  elseif count > limit.ask then
    notes[#notes + 1] = ("%s: %d lines, more than %d: why?")
      :format(what, count, limit.ask)
  end
end

function sizes.check_files(tree)
  local problems, notes = {}, {}
  each_file(tree, function(path, limit)
    local _, count = tree:read(path):gsub("\n", "")
    measure(path, count, limit, problems, notes)
  end)
  return problems, notes
end

-- clang-format puts a function's braces, and only those, alone in column 1.
function sizes.check_functions(tree)
  local problems, notes = {}, {}
  for _, path in ipairs(tree:find({ "" }, { ".c", ".h" })) do
    local number, from, head, name = 0, nil, "", nil
    for line in tree:lines(path) do
      number = number + 1
      if line:find("^{%s*$") then
        from, name = number, head:match("([%w_]+)%s*%(")
      elseif line:find("^}%s*$") and from then
        measure(("%s:%d: %s"):format(path, from, name or "?"),
          number - from + 1, sizes.functions, problems, notes)
        from = nil
      elseif line:find("^[%a_]") then
        head = line
      elseif line == "" then
        head = ""
      end
    end
  end
  return problems, notes
end

function sizes.check_columns(tree)
  local problems = {}
  each_file(tree, function(path)
    local number = 0
    for line in tree:lines(path) do
      number = number + 1
      local width = utf8.len(line) or #line
      if width > sizes.columns then
        problems[#problems + 1] = ("%s:%d: %d columns, the limit is %d")
          :format(path, number, width, sizes.columns)
      end
      if line:find("\t", 1, true) then
        problems[#problems + 1] = ("%s:%d: a tab; indent with spaces")
          :format(path, number)
      end
    end
  end)
  return problems
end

return sizes
