#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD SECONDS: runs each target under libFuzzer for SECONDS, two at a
# time, from its corpus. What it newly reaches is kept in BUILD/corpus; an
# input that fails is left in BUILD/found, to go to spec/fuzz/corpus.
set -u
build=$1
limit=$2
export UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/found"

one() {
    local target=$1 log=$build/$1.log new=$build/corpus/$1
    mkdir -p "$new"
    if "$build/fuzz/$target" -max_total_time="$limit" -timeout=10 \
        -rss_limit_mb=1024 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$build/found/$target-" \
        "$new" "spec/fuzz/corpus/$target" > "$log" 2>&1; then
        echo "ok - $target: $(sed -n \
            's/^stat::number_of_executed_units: *//p' "$log") executions"
    else
        echo "not ok - $target: see $log and $build/found"
        return 1
    fi
}

failed=0
for fuzzer in "$build"/fuzz/*; do
    target=$(basename "$fuzzer")
    [[ -z ${FILTER:-} || $target =~ $FILTER ]] || continue
    one "$target" &
    if [ "$(jobs -rp | wc -l)" -ge 2 ]; then
        wait -n || failed=1
    fi
done
while [ "$(jobs -p | wc -l)" -gt 0 ]; do
    wait -n || failed=1
done
exit "$failed"
