-- SPDX-License-Identifier: MIT
---@meta e2b
-- luacheck: ignore 212 631
-- Made by generate.lua. For editors only: nothing loads this file.

---@class e2b.createSandbox.Input
---one key, one sandbox: the same key finds the same one again
---@field idempotencyKey string
---what the sandbox is made of (code-interpreter-v1 when left out)
---@field template? string
---how long it lives; the server's default is 300,000
---@field timeoutMs? number
---strings to find it by
---@field metadata? table<string, string>
---environment of everything in it
---@field envs? table<string, string>
---false: no network; else what the service offers
---@field allowInternetAccess? boolean

---@class e2b.getSandbox.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string

---@class e2b.pauseSandbox.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---false: keep the disk only, processes end (true when left out)
---@field keepMemory? boolean

---@class e2b.resumeSandbox.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---how long it lives from now; the server's default is 300,000
---@field timeoutMs? number

---@class e2b.killSandbox.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string

---@class e2b.runCommand.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---for /bin/bash -l -c; at most 131,071 bytes
---@field command string
---where it runs; the user's home when left out
---@field cwd? string
---further environment; at most 1 MiB
---@field envs? table<string, string>
---when it is killed; 0: never (60000 when left out)
---@field timeoutMs? number
---of stdout and of stderr that are kept; all of it is counted (65536 when left
---out)
---@field maxOutputBytes? integer
---who runs it; the template's user when left out
---@field user? string
---what it reads; /dev/null when left out
---@field stdin? string

---@class e2b.runCode.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---what to run; state persists between calls
---@field code string
---of the code (python when left out)
---@field language? "python"|"javascript"|"typescript"|"r"|"java"|"bash"
---environment of this run; at most 1 MiB
---@field envs? table<string, string>
---when it is interrupted; 0: never (60000 when left out)
---@field timeoutMs? number
---of stdout, of stderr and of a traceback that are kept (65536 when left out)
---@field maxOutputBytes? integer
---of all text results together (262144 when left out)
---@field maxResultBytes? integer
---of one picture; a larger one is an error (524288 when left out)
---@field maxArtifactBytes? integer

---@class e2b.writeFiles.Input.files
---where; missing directories are made
---@field path string
---of content (utf8 when left out)
---@field encoding? "utf8"|"base64"
---the whole file
---@field content string

---@class e2b.writeFiles.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---the files, each path once; a failure lists them in details.written and
---details.mayBeWritten
---@field files e2b.writeFiles.Input.files[]
---of all contents together, decoded (1048576 when left out)
---@field maxTotalBytes? integer

---@class e2b.readFile.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---the file
---@field path string
---base64 for anything that is not text (utf8 when left out)
---@field encoding? "utf8"|"base64"
---a larger file is an error; at most 1,048,576 for utf8 (262144 when left out)
---@field maxBytes? integer

---@class e2b.listFiles.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---the directory; its entries only, not theirs
---@field path string
---how many entries at most (100 when left out)
---@field limit? integer

---@class e2b.getSandboxLogs.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---where to go on, in ms since 1970: the last answer's cursor
---@field cursor? integer
---from the cursor on, or back from it; the server's default is backward
---@field direction? "forward"|"backward"
---the least severe one wanted
---@field level? "debug"|"info"|"warn"|"error"
---what a line must hold; at most 256 bytes
---@field search? string
---how many lines at most (100 when left out)
---@field limit? integer
---of all messages together (262144 when left out)
---@field maxBytes? integer

---@class e2b.getSandboxMetrics.Input
---the sandbox, as e2b.createSandbox returns it
---@field sandboxId string
---ISO 8601 with a zone, such as 2026-11-29T15:00:00Z
---@field start? string
---ISO 8601 with a zone
---@field end? string
---how many samples at most (100 when left out)
---@field limit? integer

---@class e2b
local e2b = {}

---Find the key's sandbox, or create it. Class `lifecycle`: 4 attempts.
---@param input e2b.createSandbox.Input
---@return e2b.CreatedSandbox
function e2b.createSandbox(input) end

---What a sandbox is and until when it lives. Class `read`: 4 attempts.
---@param input e2b.getSandbox.Input
---@return e2b.Sandbox
function e2b.getSandbox(input) end

---Freeze a sandbox with its memory. Class `lifecycle`: 4 attempts.
---@param input e2b.pauseSandbox.Input
---@return e2b.Changed
function e2b.pauseSandbox(input) end

---Wake a paused sandbox, or extend a running one. Class `lifecycle`: 4 attempts.
---@param input e2b.resumeSandbox.Input
---@return e2b.Changed
function e2b.resumeSandbox(input) end

---End a sandbox and everything in it. Class `lifecycle`: 4 attempts.
---@param input e2b.killSandbox.Input
---@return e2b.Changed
function e2b.killSandbox(input) end

---Run a shell command, once. Class `none`: 1 attempt.
---@param input e2b.runCommand.Input
---@return e2b.CommandResult
function e2b.runCommand(input) end

---Run code in the sandbox's kernel, once. Class `none`: 1 attempt.
---@param input e2b.runCode.Input
---@return e2b.CodeResult
function e2b.runCode(input) end

---Write files, each whole. Class `none`: 1 attempt.
---@param input e2b.writeFiles.Input
---@return e2b.WrittenFiles
function e2b.writeFiles(input) end

---Read one file, whole or not at all. Class `read`: 4 attempts.
---@param input e2b.readFile.Input
---@return e2b.FileContent
function e2b.readFile(input) end

---List one directory. Class `read`: 4 attempts.
---@param input e2b.listFiles.Input
---@return e2b.Listing
function e2b.listFiles(input) end

---Read what a sandbox has logged. Class `read`: 4 attempts.
---@param input e2b.getSandboxLogs.Input
---@return e2b.Logs
function e2b.getSandboxLogs(input) end

---Read a sandbox's use of CPU, memory and disk. Class `read`: 4 attempts.
---@param input e2b.getSandboxMetrics.Input
---@return e2b.Metrics
function e2b.getSandboxMetrics(input) end

return e2b
