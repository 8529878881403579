#!/bin/sh
# SPDX-License-Identifier: MIT
# until_done.sh DIR ID FLAG SCRIPT ARGUMENT CRASH…: executes a run again and
# again until its process is not killed, first with each EBB_CRASH, then with
# none. Prints its status and how often it was killed; DIR/out and DIR/err have
# the last end, DIR/show the run, DIR/boxes the sandboxes that are left.
dir=$1 id=$2 flag=$3 script=$4 argument=$5
shift 5
RECOVERIES_MAX=12

ebb() { timeout 60 "${EBB_BUILD:-build}/ebb" $flag --json "$@" </dev/null; }

killed=0
while :; do
    EBB_CRASH=${1:-}
    export EBB_CRASH
    ebb run --id "$id" "$script" "$argument" >"$dir/out" 2>"$dir/err"
    status=$?
    [ $status -eq 137 ] && [ $killed -lt $RECOVERIES_MAX ] || break
    killed=$((killed + 1))
    [ $# -eq 0 ] || shift
done
unset EBB_CRASH
ebb runs show "$id" >"$dir/show" 2>>"$dir/err"
ebb sandbox list >"$dir/boxes" 2>>"$dir/err"
echo "$status $killed"
