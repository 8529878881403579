-- SPDX-License-Identifier: MIT

-- Every request that was recorded from a real envd 0.6.13, under what becomes
-- of it here:
--   replayed  sent alone to one unsecured sandbox, and compared
--   groups    needs others or a set-up, and is compared in its place
--   deviates  is answered otherwise on purpose: why, and what is said
-- A step is a fixture, or { fixture, options } (see replay.py), or a verb.

local cases = {}

-- ---- verbs ----

local function sh(command) return { ["do"] = "shell", command = command } end
local function sleep(s) return { ["do"] = "sleep", s = s } end
local function begin(fixture, options)
  local step = options or {}
  step["do"], step.fixture = "begin", fixture
  return step
end
local function finish(fixture) return { ["do"] = "end", fixture = fixture } end
local function launch(pid, command)
  return { ["do"] = "launch", pid = pid, command = command }
end
local function restore(path, fixture)
  return { ["do"] = "restore", path = path, fixture = fixture }
end

-- What a launcher of the real one says to stderr is worded otherwise here.
local function worded(fixture) return { fixture, wording = { "stderr" } } end

-- ---- what is otherwise on this machine ----

local owners = { ["owner=4242"] = "user", ["group=4242"] = "user",
  ["owner=root"] = "user", ["group=root"] = "user" }
-- What belongs to the host's root is nobody's inside.
local hosts = { ["owner=root"] = "nobody", ["group=root"] = "nogroup" }
-- Homes are closed to the other sandboxes' uids.
local private = { ["permissions=drwxr-xr-x"] = "drwx------",
  ["mode=493"] = 448 }
-- The real one ran outside of its machine.
local inside = { ["E2B_SANDBOX=false"] = "true" }

-- ---- replayed ----

cases.replayed = {
  "000-health", { "006-envs", as = inside }, { "007-metrics", only = "keys" },
  "008-start-echo-json", "009-start-echo-proto", "010-start-exit3-json",
  "011-start-exit3-proto", "012-start-stderr-json", "013-start-stderr-proto",
  "014-start-no-output-json", "016-start-env-default-json",
  "017-start-cwd-relative-json", "018-start-self-signal-json",
  "019-start-cwd-missing-json", "020-start-cwd-missing-proto",
  "021-start-cwd-is-file-json", "022-start-unknown-user-json",
  "023-start-unknown-user-proto", "024-stat-unknown-user-json",
  "025-stat-unknown-user-proto", "026-health-unknown-user",
  "027-list-unknown-user-json", worded "028-start-command-not-found-json",
  worded "029-start-command-not-executable-json",
  worded "030-start-empty-cmd-json", worded "031-start-no-process-json",
  "032-start-timeout300-json", "033-start-timeout300-proto",
  "034-start-timeout300-output-json", "035-start-timeout-zero-json",
  "036-start-timeout-bad-json", "037-start-timeout-negative-json",
  "038-start-timeout-11digits-json", "039-list-timeout-bad-json",
  "040-start-keepalive1-json", "041-start-background-child-json",
  "042-start-background-child-detached-json", "043-list-empty-json",
  "044-list-empty-proto", "053-sendsignal-unknown-pid-json",
  "054-sendsignal-unknown-pid-proto", "055-sendsignal-unknown-tag-json",
  "056-sendsignal-no-selector-json", "072-connect-unknown-pid-json",
  "073-connect-unknown-pid-proto", "074-connect-no-selector-json",
  "093-streaminput-unknown-pid-json", "117-stat-tilde-other-json",
  "118-stat-missing-json", "119-stat-missing-proto",
  "127-listdir-missing-json", "128-listdir-missing-proto",
  "140-move-missing-json", "141-move-missing-proto",
  "146-remove-missing-json", "147-remove-missing-proto",
  "149-remove-proc-json", "189-files-head", "190-files-get-missing",
  "192-files-get-no-path", "193-files-get-unknown-user",
  "194-files-get-tilde-other", "195-files-get-bad-expiration",
  "197-files-put", "198-files-delete", "199-files-post-one",
  "200-files-post-two", "201-files-post-two-same-path-query",
  "202-files-post-other-field", "203-files-post-no-filename",
  "204-files-post-empty-multipart", "205-files-post-zero-body",
  "206-files-post-truncated-multipart", "207-files-post-no-boundary",
  "208-files-post-octet", "209-files-post-octet-empty",
  "210-files-post-octet-chunked", "211-files-post-octet-no-path",
  "212-files-post-octet-gzip", "213-files-get-after-gzip-post",
  "214-files-post-bad-gzip", "215-files-post-encoding-br",
  "216-files-post-metadata", "217-stat-metadata-json",
  "218-stat-metadata-proto", "219-files-post-metadata-bad",
  "220-files-post-json-content-type", "221-files-post-no-content-type",
  "224-files-post-unknown-user", "225-files-post-expect-100",
  "229-unknown-method-stream", "230-unknown-method-unary",
  "231-unknown-service", "232-unknown-path", "233-root-path",
  "234-health-post", "235-health-head", "236-rpc-get-stream",
  "237-rpc-get-unary", "238-wrong-ct-stream-gets-json",
  "239-wrong-ct-unary-gets-connect-json", "240-wrong-ct-text",
  "241-wrong-ct-none", "242-ct-json-charset-unary",
  "243-ct-uppercase-unary", "244-ct-connect-json-charset-stream",
  "245-no-protocol-version", "246-bad-protocol-version-unary",
  "247-bad-protocol-version-stream", "248-unary-empty-body-json",
  "249-unary-empty-body-proto", "250-unary-bad-json",
  "251-unary-unknown-field-json", "252-unary-wrong-type-json",
  "254-unary-bad-proto", "255-unary-bad-utf8-json",
  "256-unary-bad-utf8-proto", "257-stream-bad-json",
  "258-stream-bad-proto", "259-envelope-empty-body",
  "260-envelope-short-header", "261-envelope-short-payload",
  worded "264-envelope-zero-length-json",
  worded "265-envelope-zero-length-proto", "266-envelope-two-messages",
  "267-envelope-message-then-end", "268-envelope-trailing-garbage",
  "269-envelope-compressed-flag-no-encoding",
  "270-envelope-compressed-gzip",
  "271-envelope-compressed-unknown-encoding",
  "272-envelope-end-flag-only", "273-envelope-unknown-flag",
  "274-envelope-not-enveloped-json", "275-stream-request-chunked",
  { "276-stream-request-chunked-left-open", silent = true },
  "277-unary-accept-encoding-gzip-small",
  "279-unary-error-accept-encoding-gzip",
  { "280-unary-content-encoding-gzip", as = owners },
  "281-unary-content-encoding-br", "282-stream-accept-encoding-gzip-only",
  "283-stream-connect-accept-encoding-gzip", "284-cors-preflight",
  "285-cors-simple", "286-http10-unary", "287-http10-stream",
  "288-http11-connection-close-stream", "289-http11-pipelined-two",
  "295-http11-h2c-upgrade",
  "355-start-json-whitespace-unicode-escape-json",
  "356-start-duplicate-field-json", "357-start-null-fields-json",
  "358-sendinput-both-oneof-json", "359-sendsignal-pid-as-string-json",
  "360-sendsignal-pid-negative-json",
}

-- ---- groups ----

local function killed(start, signal)
  return { begin(start), signal, finish(start) }
end

local tree = sh [[
mkdir -p d/sub empty; cd d
printf 'hello\n' >a.txt; chmod 640 a.txt
printf x >sub/deep.txt; chmod 1777 sub
ln -s a.txt link; ln -s sub dlink; ln -s nowhere dangling; mkfifo fifo
printf 0123456789 >suid; chmod 4755 suid
cd; ln -s loopb loopa; ln -s loopa loopb
printf 1 >m1; printf 2 >m2; printf 3 >t1
]]
local old = "touch -d '2026-01-02 03:04:05 UTC' t.txt b.bin j.json noext"

cases.groups = {
  { name = "kills with SIGKILL", steps = killed("046-start-killed-sigkill-json",
    "045-sendsignal-sigkill-json") },
  { name = "ends with SIGTERM", steps = killed("048-start-killed-sigterm-json",
    "047-sendsignal-sigterm-json") },
  { name = "kills in binary", steps = killed("050-start-killed-sigkill-proto",
    "049-sendsignal-sigkill-proto") },
  { name = "ends in binary", steps = killed("052-start-killed-sigterm-proto",
    "051-sendsignal-sigterm-proto") },
  { name = "joins a running command and refuses it wrong input", steps = {
    begin "067-start-tagged-json", begin "068-connect-running-json",
    begin "069-connect-by-tag-proto", "057-sendsignal-unspecified-json",
    "058-sendsignal-bad-enum-json", "059-sendsignal-int-enum-json",
    "060-list-one-json", "061-list-one-proto",
    "062-sendinput-stdin-disabled-json",
    "063-closestdin-stdin-disabled-json",
    "064-sendinput-pty-to-pipe-json", "065-sendinput-no-input-json",
    "066-update-resize-non-pty-json", finish "067-start-tagged-json",
    finish "068-connect-running-json", finish "069-connect-by-tag-proto",
    "070-connect-just-exited-json", "071-sendsignal-just-exited-json",
  } },
  { name = "bounds a Connect without killing", steps = {
    launch(109, "sleep 5"), "075-connect-timeout200-json",
  } },
  { name = "writes to stdin", steps = {
    begin "081-start-cat-json", "076-sendinput-json",
    "077-sendinput-empty-json", "078-sendinput-base64url-json",
    "079-sendinput-bad-base64-json", "080-closestdin-json",
    finish "081-start-cat-json", "082-sendinput-after-exit-json",
  } },
  { name = "writes to stdin in binary", steps = {
    begin "085-start-cat-proto", "083-sendinput-proto",
    "084-closestdin-proto", finish "085-start-cat-proto",
    "086-sendinput-after-exit-proto",
  } },
  { name = "closes stdin twice", steps = {
    launch(112, "sleep 5"), "087-closestdin-running-json",
    "088-closestdin-twice-json", "089-sendinput-after-close-json",
  } },
  { name = "reports that a command has closed its stdin", steps = {
    launch(113, "exec <&-; sleep 5"), sleep(0.3),
    "090-sendinput-peer-closed-json",
  } },
  { name = "streams input", steps = {
    begin "092-start-cat-for-streaminput-json", "091-streaminput-json",
    { ["do"] = "call", path = "/process.Process/CloseStdin",
      message = { process = { pid = 115 } } },
    finish "092-start-cat-for-streaminput-json",
  } },
  { name = "tells of files and changes them", steps = {
    tree, "104-stat-file-json", "105-stat-file-proto", "106-stat-dir-json",
    "107-stat-dir-proto", "108-stat-symlink-json",
    "109-stat-symlink-dir-json", "110-stat-dangling-json",
    { "111-stat-symlink-loop-json", as = owners }, "112-stat-fifo-json",
    { "113-stat-setuid-unknown-owner-json", as = owners },
    { "114-stat-device-json", as = hosts },
    { "115-stat-root-json", as = hosts },
    { "116-stat-empty-path-json", as = private },
    "120-stat-under-file-json", "121-listdir-empty-json",
    "122-listdir-empty-proto", { "123-listdir-json", as = owners },
    { "124-listdir-proto", as = owners },
    { "125-listdir-depth2-json", as = owners },
    "126-listdir-via-symlink-json", "129-listdir-file-json",
    "130-listdir-loop-json",
    { "278-unary-accept-encoding-gzip-listdir", as = owners },
    "131-makedir-new-json", "132-makedir-new-proto",
    "133-makedir-existing-json", "134-makedir-existing-proto",
    "135-makedir-over-file-json", "136-makedir-under-file-json",
    "137-move-file-json", "138-move-file-proto",
    "139-move-overwrite-json", "142-move-file-onto-dir-json",
    "143-move-dir-into-itself-json", "144-remove-file-json",
    "145-remove-file-proto", "148-remove-tree-json",
  } },
  { name = "downloads", steps = {
    restore("t.txt", "170-files-get-text"),
    restore("b.bin", "177-files-get-binary"),
    restore("j.json", "179-files-get-json"),
    restore("noext", "180-files-get-noext"),
    restore("empty.txt", "182-files-get-empty"),
    restore("a b.txt", "184-files-get-space-name"),
    restore("ü.txt", "185-files-get-utf8-name"),
    restore("r4k", "366-files-get-identity-of-gzip-pair"),
    sh("mkdir d; " .. old), "170-files-get-text",
    "171-files-get-text-relative", "172-files-get-text-gzip",
    "173-files-get-text-gzip-deflate", "174-files-get-text-identity",
    "175-files-get-text-star", "176-files-get-gzip-q0",
    "177-files-get-binary", "178-files-get-binary-gzip",
    "179-files-get-json", "180-files-get-noext",
    { "181-files-get-noext-gzip", ignore = { "content-type" } },
    "182-files-get-empty", "183-files-get-empty-gzip",
    "184-files-get-space-name", "185-files-get-utf8-name",
    "186-files-get-range", "187-files-get-range-unsatisfiable",
    "188-files-get-if-modified-since", "191-files-get-directory",
    "222-files-post-to-directory", "223-files-post-parent-is-file",
    "365-files-get-4k-gzip-chunked", "366-files-get-identity-of-gzip-pair",
  } },
  { name = "echoes paths as they were given", steps = {
    sh "mkdir -p p/q; echo x >p/q/f", "345-stat-trailing-slash-json",
    "346-stat-dotdot-json", "347-listdir-trailing-slash-json",
    { "348-stat-home-tilde-json", as = private }, "352-makedir-relative-json",
    "353-move-onto-self-json", "354-move-dir-json",
  } },
  { name = "sends output and listings longer than a buffer", steps = {
    sh "seq 1000 >seq.txt; mkdir twenty; cd twenty; touch $(seq -f f%02.f 20)",
    "362-start-3893-bytes-json", "363-start-3893-bytes-proto",
    "364-listdir-20-files-chunked-json",
  } },
  { name = "ends a stream whose client half-closes", steps = {
    begin("344-start-client-half-close-json", { half_close = 0.3 }),
    finish "344-start-client-half-close-json",
  } },
  { name = "remembers an exit for 30 seconds", steps = {
    "338-start-exit7-tagged-json", "339-connect-retained-by-tag-json",
    sleep(31), "361-connect-after-retention-json",
  } },
  { name = "checks the token, then the user, then the path", secure = true,
    envs = { STALE = "1" }, steps = {
    restore("t.txt", "170-files-get-text"), sh("mkdir d; " .. old),
    "297-auth-health-no-token", "298-auth-start-no-token-json",
    "299-auth-start-no-token-proto", "300-auth-start-wrong-token-json",
    "301-auth-list-no-token-json", "302-auth-list-no-token-proto",
    "303-auth-stat-wrong-user-no-token", "304-auth-metrics-no-token",
    "305-auth-envs-no-token", "306-auth-unknown-path-no-token",
    "307-auth-cors-preflight-no-token", "308-auth-start-with-token-json",
    "309-auth-files-get-no-signature", "310-auth-files-get-wrong-token",
    "311-auth-files-get-with-token", "312-auth-files-get-signed",
    "313-auth-files-get-signed-user", "314-auth-files-get-signed-expiry",
    "315-auth-files-get-signed-expired", "316-auth-files-get-bad-signature",
    "317-auth-files-get-write-signature", "318-auth-files-post-signed",
    "319-auth-files-post-no-signature", "320-auth-files-compose-no-token",
    { "326-auth-envs-after-timestamp", as = inside },
    { "328-auth-envs-after-stale-timestamp", as = inside },
    "329-start-bearer-auth-ignored-json", "330-start-utf8-args-json",
    "331-start-invalid-utf8-output-json",
    { "332-start-env-bad-name-json", sort = true },
    "333-start-nul-in-arg-json", "334-start-tilde-cwd-json",
    "335-start-tilde-other-cwd-json",
  } },
  { name = "shows the sandbox's variables", secure = true,
    envs = { ONLY = "1" }, steps = {
    { "324-auth-envs-with-token", as = inside } } },
}

-- ---- deviates ----

cases.deviates = {}

local function deviates(why, status, code, fixtures)
  for _, fixture in ipairs(fixtures) do
    cases.deviates[fixture] = { why = why,
      expect = status and { status = status, code = code } }
  end
end

deviates("inside there is no root: both users are uid 1000, with one home",
  200, "ok", { "001-start-before-init-default-user-root",
    "015-start-env-user-cwd-json", "343-remove-root-only-as-user-json" })
deviates("there is no /root to look into", 404, "not_found",
  { "340-listdir-root-only-dir-as-user-json" })
deviates("there is no /root to look into", 404, 404,
  { "341-files-get-root-only-as-user" })
deviates("nobody may write outside of home and /tmp", 403, 403,
  { "342-files-post-root-only-as-user" })
deviates("/init is the service's own: refused to clients", 404, 404, {
  "002-init-empty-object", "003-init-empty-body", "004-init-bad-json",
  "005-init-env-default-user", "296-init-access-token",
  "321-auth-init-wrong-token", "322-auth-init-no-token",
  "323-auth-init-same-token", "325-auth-init-timestamp",
  "327-auth-init-stale-timestamp" })
deviates("no pty yet: refused before it starts", 200, "unimplemented", {
  "099-start-pty-json", "100-start-pty-proto",
  "101-start-pty-missing-size-json",
  "102-start-pty-command-not-found-json", "103-start-pty-killed-json" })
deviates("no pty yet: there is no such process", 404, "not_found", {
  "094-sendinput-pty-json", "095-update-resize-json",
  "096-closestdin-pty-json", "097-sendinput-stdin-to-pty-json" })
deviates("no pty yet: there is nothing to list", 200, "ok",
  { "098-list-pty-json" })
deviates("no watching yet", 200, "unimplemented", {
  "150-watchdir-one-create-json", "151-watchdir-one-create-proto",
  "152-watchdir-include-entry-ops-json", "153-watchdir-missing-json",
  "154-watchdir-missing-proto", "155-watchdir-file-json",
  "156-watchdir-keepalive-json", "157-watchdir-dir-removed-json",
  "253-stream-snake-case-json", "336-watchdir-keepalive-zero-json",
  "351-watchdir-invalid-utf8-name-json" })
deviates("no watching yet", 501, "unimplemented", {
  "158-createwatcher-json", "159-getwatcherevents-empty-json",
  "160-getwatcherevents-json", "161-removewatcher-json",
  "162-getwatcherevents-unknown-json", "163-createwatcher-proto",
  "164-getwatcherevents-empty-proto", "165-getwatcherevents-proto",
  "166-removewatcher-proto", "167-getwatcherevents-unknown-proto",
  "168-removewatcher-unknown-json", "169-createwatcher-missing-json" })
deviates("files are served from a disk only, never from /proc", 500, 500,
  { "196-files-get-proc", "228-files-get-proc-gzip" })
deviates("no composing yet", 501, 501,
  { "226-files-compose", "227-files-compose-missing" })
deviates("a message has a limit, also a promised one", 200,
  "resource_exhausted",
  { "262-envelope-oversized-4g", "263-envelope-oversized-2g" })
deviates("gRPC is not offered", 415, "ok",
  { "292-grpc-over-http11", "293-grpc-web-list" })
deviates("HTTP/2 is not offered", 505, "ok",
  { "294-http2-prior-knowledge" })
deviates("a request without Host names no sandbox: the control plane's",
  nil, nil, { "290-http11-no-host" })
deviates("the HTTP library closes the connection", nil, nil,
  { "291-http11-bad-request-line" })
deviates("an interval of 0 is taken for the shortest, and nothing dies", 200,
  "ok", { "337-start-keepalive-zero-json" })
deviates("a name that is not UTF-8 does not lose the listing", 200, "ok", {
  "349-listdir-invalid-utf8-name-json",
  "350-listdir-invalid-utf8-name-proto" })
cases.deviating_set_up = sh [[mkdir bad; touch bad/$(printf 'a\377b') bad/c]]

return cases
