#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh BUILD: what `make demo` shows once everything is built. It uses your
# own local service, as `ebb --local` does, and leaves no sandbox behind.
set -eu
cd "$(dirname "$0")/.."
ebb=$1/ebb

echo "\$ $ebb --local run scripts/report.lua" >&2
# A service that this starts ends itself a second after the last sandbox.
EBB_LINGER_S=${EBB_LINGER_S:-1} "$ebb" --local run scripts/report.lua

cat >&2 <<END

The rows went into a sandbox on this machine, Python worked on them there, the
report came back, and the sandbox is gone. Try next:

  $ebb --local run scripts/fanout.lua  # twenty sandboxes
  $ebb --local repl          # the prompt; type e2b. and Tab
  $ebb tasks e2b.runCode     # a task and its fields
  $ebb doctor                # what is here, what is missing
  make test                        # everything there is to test

With E2B_API_KEY set, the same scripts run on E2B's cloud: leave out --local.
END
