#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD: what a task costs the client, in CPU and memory: ebb from C and
# from Lua beside a bare libcurl loop and the official SDKs, all against one
# fake E2B in one run, each figure with its goal. The SDKs are those of
# spec/peers; one that cannot be installed is skipped by name.
#
# BENCH_PIN says where they run. apart, the default: the server has one CPU and
# whichever client is measured another, as a server on another machine would
# leave it; each request then wakes another CPU, which all pay alike. same: one
# CPU for both, where waking costs next to nothing, so that what a client does
# itself weighs more. none: as the scheduler likes, now the one, now the other.
# The threads of an SDK share the one CPU, which is no handicap: CPU time is
# measured, not how soon it is over.
set -u
build=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/../../spec/peers/install.sh" "$build"

mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr , '\n' |
    while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done)
# The first and the last are seldom two halves of one core.
server_cpu=${cpus[0]} client_cpu=${cpus[-1]}
case ${BENCH_PIN:-apart} in
none) server_cpu=$(IFS=,; echo "${cpus[*]}") client_cpu=$server_cpu ;;
same) client_cpu=$server_cpu ;;
apart) ;;
*)
    echo "BENCH_PIN=$BENCH_PIN: none, apart or same" >&2
    exit 2
    ;;
esac
echo "server on CPU $server_cpu, clients on CPU $client_cpu"
[ ${#cpus[@]} -gt 1 ] || echo "there is only one CPU: they cannot be apart"

exec {port}< <(exec taskset -c "$server_cpu" "$build/bench/client/server")
server=$!
trap 'kill "$server"' EXIT
read -r number <&"$port"
export E2B_API_KEY=e2b_0000000000000000000000000000000000000000
export E2B_API_URL=http://127.0.0.1:$number
export E2B_SANDBOX_URL=$E2B_API_URL
ulimit -n 4096 2> /dev/null

clients=("bare libcurl=$build/bench/client/bare"
    "ebb from C=$build/bench/client/ebb"
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
taskset -c "$client_cpu" \
    lua5.4 "$here/compare.lua" "$build/bench/client/measure" "${clients[@]}"
