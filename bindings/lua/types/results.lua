-- SPDX-License-Identifier: MIT
---@meta e2b.results
-- What the twelve tasks return. For editors only: nothing loads this file.

---@class e2b.BoundedText
---@field text string valid UTF-8, the longest start that fits
---@field byteCount integer of the whole text
---@field returnedBytes integer
---@field maxBytes integer
---@field truncated boolean

---@class e2b.BoundedBinary
---@field base64 string
---@field contentType string
---@field byteCount integer
---@field maxBytes integer
---@field truncated boolean always false: whole or an error

---@class e2b.Page
---@field returned integer
---@field available? integer
---@field limit integer
---@field truncated boolean

---@class e2b.Sandbox
---@field sandboxId string
---@field templateId string
---@field status "running"|"paused"
---@field startedAt string
---@field endAt string
---@field metadata table<string, string>

---@class e2b.CreatedSandbox: e2b.Sandbox
---@field created boolean false: one with the key was there

---@class e2b.Changed
---@field sandboxId string
---@field status "running"|"paused"|"killed"
---@field changed boolean

---@class e2b.CommandResult
---@field sandboxId string
---@field exitCode integer -1 when a signal ended it
---@field stdout e2b.BoundedText
---@field stderr e2b.BoundedText
---@field signal? string such as SIGKILL

---@class e2b.CodeError
---@field name string
---@field value string
---@field traceback e2b.BoundedText

---@class e2b.Artifact
---@field index integer
---@field content e2b.BoundedBinary

---@class e2b.CodeResult
---@field sandboxId string
---@field executionCount? integer
---@field textResults e2b.BoundedText[]
---@field artifacts e2b.Artifact[]
---@field stdout e2b.BoundedText
---@field stderr e2b.BoundedText
---@field error? e2b.CodeError

---@class e2b.WrittenFile
---@field path string
---@field byteCount integer

---@class e2b.WrittenFiles
---@field sandboxId string
---@field files e2b.WrittenFile[]

---@class e2b.FileContent
---@field sandboxId string
---@field path string
---@field encoding "utf8"|"base64"
---@field content string
---@field byteCount integer
---@field returnedBytes integer
---@field maxBytes integer
---@field truncated boolean always false: whole or an error

---@class e2b.Entry
---@field name string
---@field path string
---@field type "file"|"directory"|"symlink"|"other"
---@field size integer

---@class e2b.Listing
---@field sandboxId string
---@field entries e2b.Entry[]
---@field page e2b.Page

---@class e2b.LogLine
---@field timestamp string
---@field level "debug"|"info"|"warn"|"error"
---@field message e2b.BoundedText
---@field logger? string

---@class e2b.Logs
---@field sandboxId string
---@field logs e2b.LogLine[]
---@field cursor? integer
---@field page e2b.Page

---@class e2b.Sample
---@field timestamp string
---@field cpuUsedPct number
---@field cpuCount integer
---@field memoryUsedBytes integer
---@field memoryTotalBytes integer
---@field diskUsedBytes integer
---@field diskTotalBytes integer

---@class e2b.Metrics
---@field sandboxId string
---@field metrics e2b.Sample[]
---@field page e2b.Page
