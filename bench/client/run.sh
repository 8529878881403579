#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what a task costs the client, in CPU and memory: ebb from C and
# from Lua beside a bare libcurl loop and the official SDKs, all against one
# fake E2B in one run, each figure with its goal. "its result" and "its JSON"
# are no clients: they are what parts of ebb from C cost by themselves, which a
# loop that only counts bytes does not have: to make the result of values, and
# to parse the answer. The SDKs are those of spec/peers; one that cannot be
# installed is skipped by name.
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/../../spec/peers/install.sh" "$build"

exec {port}< <(exec "$build/bench/client/server")
server=$!
trap 'kill "$server"' EXIT
read -r number <&"$port"
export E2B_API_KEY=e2b_0000000000000000000000000000000000000000
export E2B_API_URL=http://127.0.0.1:$number
export E2B_SANDBOX_URL=$E2B_API_URL
ulimit -n 4096 2> /dev/null

clients=("bare libcurl=$build/bench/client/bare"
    "ebb from C=$build/bench/client/ebb"
    "its result=$build/bench/client/ebb result"
    "its JSON=$build/bench/client/ebb json"
    "ebb run=$build/ebb run $here/ebb.lua")
if find_node && node_packages; then
    cp "$here/sdk.mjs" "$peers/js/bench.mjs"
    clients+=("SDK for Node=node $peers/js/bench.mjs")
else
    echo "SDK for Node: skipped, it could not be installed here"
fi
if python_environment; then
    clients+=("SDK for Python=$peers/py/bin/python $here/sdk.py")
else
    echo "SDK for Python: skipped, it could not be installed here"
fi
lua5.4 "$here/compare.lua" "$build/bench/client/measure" "${clients[@]}"
