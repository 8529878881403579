#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: the official SDKs drive our service; speaks TAP. They are
# installed by install.sh and used as they come.
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/install.sh" "$build"

skip() {
    echo "ok - $1 # SKIP $2"
}

state=$(mktemp -d)
service=
finish() {
    if [ -n "$service" ]; then
        kill "$service" 2> /dev/null
        wait "$service"
    fi
    rm -rf "$state"
}
trap finish EXIT

start_service() {
    local i
    EBB_STATE=$state/s "$build/ebb" serve --listen 127.0.0.1:0 \
        > "$state/exports" 2> "$state/log" &
    service=$!
    for i in $(seq 100); do
        grep -q E2B_SANDBOX_URL "$state/exports" && break
        sleep 0.1
    done
    # shellcheck disable=SC1091
    . "$state/exports"
    [ -n "${E2B_API_KEY:-}" ]
}

if ! start_service; then
    echo "not ok - the service starts"
    sed 's/^/# /' "$state/log"
    exit 1
fi
echo "ok - the service prints what an SDK needs"

if python_environment; then
    timeout 300 "$peers/py/bin/python" "$here/peer.py"
else
    skip "Python SDK" "it could not be installed here"
fi
if find_node && node_packages; then
    cp "$here/peer.mjs" "$peers/js/peer.mjs"
    timeout 300 node "$peers/js/peer.mjs"
else
    skip "JavaScript SDK" "it could not be installed here"
fi
