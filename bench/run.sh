#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every bench, each with a local service and a state of its own.
set -eu
build=$1
state=$(mktemp -d)
export EBB_STATE=$state EBB_LINGER_S=5 EBB_LIBEXEC=$PWD/$build/libexec
finish() {
    "$build/ebb" serve --stop 2> /dev/null || true
    rm -rf "$state"
}
trap finish EXIT
"$build/bench/sandbox"
TMPDIR=$state "$build/bench/journal"
bash bench/client/run.sh "$build"
EBB_JOURNAL=$state/journal.db "$build/ebb" run --id pairs bench/pairs.lua
bash bench/durable/run.sh "$build"
