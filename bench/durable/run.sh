#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what a durable step costs: ebb from C and from Lua, beside
# commits of bare SQLite and beside DBOS for Python with SQLite, in one run and
# on one disk. DBOS is skipped by name where it cannot be installed.
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/../../spec/peers/install.sh" "$build"
work=$(mktemp -d "${EBB_STATE:-/tmp}/durable.XXXXXX")
trap 'rm -rf "$work"' EXIT
export EBB_JOURNAL=$work/script.db

"$build/bench/durable/ebb" "$work" > "$work/c" || exit
"$build/ebb" run --id steps "$here/ebb.lua" steps > "$work/lua" || exit
(EBB_CRASH=run-end:1 "$build/ebb" run --id long "$here/ebb.lua" long || true) \
    2> /dev/null
from=$(date +%s%N)
"$build/ebb" run --id long "$here/ebb.lua" long || exit
echo "replay_ms $((($(date +%s%N) - from) / 1000000))" >> "$work/lua"
echo "replay_steps 50000" >> "$work/lua"

if python_environment dbos "$here/requirements.txt"; then
    python=$peers/dbos/bin/python
    # It kills itself, which nobody needs to hear of.
    { ("$python" "$here/peer.py" "$work" fresh 2>&3 || true) 2> /dev/null; } \
        > "$work/dbos" 3>&2
    "$python" "$here/peer.py" "$work" again >> "$work/dbos"
else
    echo "DBOS: skipped, it could not be installed here (see above)"
fi
lua5.4 "$here/compare.lua" "$work" "$(cat "$here/requirements.txt")"
