-- SPDX-License-Identifier: MIT
-- Files in and out: text as it is, bytes as base64, and what happens at the
-- limits. An operation that fails raises a table whose code says what to do.
--
--   ebb --local run scripts/files.lua

local e2b, ebb = require "e2b", require "ebb"

local box = e2b.createSandbox { idempotencyKey = "files-" .. ebb.uuid() }
local id = box.sandboxId
local _ <close> = ebb.defer(e2b.killSandbox, { sandboxId = id })

-- The code of the error that a task ends with.
local function code_of(task, input)
  local ok, problem = pcall(task, input)
  return ok and "none" or problem.code
end

-- Directories are made as needed; "/+8A/g==" is FF EF 00 FE, which is no text.
local written = e2b.writeFiles { sandboxId = id, files = {
  { path = "/home/user/notes/café.txt", content = "un café\n" },
  { path = "/home/user/notes/blob.bin", content = "/+8A/g==",
    encoding = "base64" },
} }
e2b.runCommand { sandboxId = id,
  command = "head -c 300000 /dev/zero > notes/large" }

local function read(name, options)
  options = options or {}
  options.sandboxId, options.path = id, "/home/user/notes/" .. name
  return options
end

local names = {}
local list = e2b.listFiles { sandboxId = id, path = "/home/user/notes" }
for index, entry in ipairs(list.entries) do
  names[index] = ("%s (%s, %d bytes)"):format(entry.name, entry.type,
    entry.size)
end

return {
  written = #written.files,
  entries = names,
  text = e2b.readFile(read "café.txt").content,
  bytes = e2b.readFile(read("blob.bin", { encoding = "base64" })).content,
  -- Bytes that are no UTF-8 are refused as text, not damaged.
  bytesAsText = code_of(e2b.readFile, read "blob.bin"),
  -- Above maxBytes (262,144 unless given) nothing is transferred.
  tooLarge = code_of(e2b.readFile, read "large"),
  missing = code_of(e2b.readFile, read "missing"),
}
