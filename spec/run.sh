#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs parts of the tests and counts them: run.sh BUILD PART…
# Every part speaks TAP; the tally prints what failed, and one line in all:
# "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.."
build=$1
shift
export EBB_BUILD=$PWD/$build FILTER=${FILTER:-}
export LUA_PATH="./spec/?.lua;./?.lua;;"
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT

# tap NAME COMMAND…: one program that speaks TAP on its standard output.
tap() {
    local name=$1 status
    shift
    "$@" < /dev/null | lua5.4 spec/support/tally.lua "$name" "$tally"
    status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then
        echo "exit $name $status" >> "$tally"
    fi
}
matches() { [ -z "$FILTER" ] || [[ $1 =~ $FILTER ]]; }

lint() {
    tap lint lua5.4 spec/lint/run.lua "$build"
}
unit() {
    local test
    for test in "$build"/spec/test_*; do
        [ -x "$test" ] && [ ! -d "$test" ] || continue
        matches "$test" || continue
        CMOCKA_MESSAGE_OUTPUT=TAP tap "$(basename "$test")" \
            timeout 300 "$test"
    done
}
spec() {
    local file
    while read -r file; do
        matches "$file" || continue
        tap "$file" timeout 600 lua5.4 "$(command -v busted)" -o TAP "$file"
    done < <(find spec -name '*_spec.lua' \
        -not -path 'spec/soak/*' | sort)
}
peers() {
    matches peers || return 0
    tap peers bash spec/peers/run.sh "$build"
}
soak() {
    local file
    while read -r file; do
        tap "$file" lua5.4 "$(command -v busted)" -o TAP "$file"
    done < <(find spec/soak -name '*_spec.lua' 2>/dev/null | sort)
}

for part in "$@"; do
    "$part"
done
exec lua5.4 spec/support/tally.lua --sum "$tally"
