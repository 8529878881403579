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
reports=$(mktemp -d)
trap 'rm -rf "$tally" "$reports"' EXIT

# Specs start programs whose end nobody sees, as a service's: what sanitizers
# have to say goes to files, also of programs under another uid.
chmod 1777 "$reports"
export ASAN_OPTIONS="log_path=$reports/asan:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="log_path=$reports/ubsan:print_stacktrace=1"

# Each test after which there are reports has failed once more.
count_reports() {
    [ -n "$(ls -A "$reports")" ] || return 0
    cat "$reports"/*
    rm -f "$reports"/*
    echo "count $1:sanitizers 0 1 0" >> "$tally"
}

# tap NAME COMMAND…: one program that speaks TAP on its standard output.
tap() {
    local name=$1 status
    shift
    "$@" < /dev/null | lua5.4 spec/support/tally.lua "$name" "$tally"
    status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then
        echo "exit $name $status" >> "$tally"
    fi
    count_reports "$name"
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
        matches "$file" || continue
        tap "$file" lua5.4 "$(command -v busted)" -o TAP "$file"
    done < <(find spec/soak -name '*_spec.lua' 2>/dev/null | sort)
    matches peers/matrix || return 0
    tap peers/matrix bash spec/peers/matrix/run.sh "$build"
}

for part in "$@"; do
    "$part"
done
count_reports end
lua5.4 spec/support/tally.lua --sum "$tally"
