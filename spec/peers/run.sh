#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: the official SDKs drive our service; speaks TAP. They are
# installed by install.sh and used as they come.
set -u
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/install.sh" "$1"
# shellcheck disable=SC1091
. "$here/service.sh" "$1"

skip() {
    echo "ok - $1 # SKIP $2"
}

start_service || exit 1
echo "ok - the service prints what an SDK needs"

if python_environment; then
    timeout 300 "$peers/py/bin/python" -B "$here/peer.py"
else
    skip "Python SDK" "it could not be installed here"
fi
if find_node && node_packages; then
    cp "$here/peer.mjs" "$peers/js/peer.mjs"
    timeout 300 node "$peers/js/peer.mjs"
else
    skip "JavaScript SDK" "it could not be installed here"
fi
