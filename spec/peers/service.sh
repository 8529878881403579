# SPDX-License-Identifier: MIT
# Sourced, with BUILD: a service of its own for the SDKs, ended on exit.
# shellcheck shell=bash
peers_build=$(realpath "$1")
peers_state=$(mktemp -d)
peers_pids=()

finish() {
    local pid
    for pid in "${peers_pids[@]}"; do
        kill "$pid" 2> /dev/null
        wait "$pid"
    done
    rm -rf "$peers_state"
}
trap finish EXIT

# Sets E2B_API_KEY, E2B_API_URL and E2B_SANDBOX_URL.
start_service() {
    local i
    EBB_STATE=$peers_state/s "$peers_build/ebb" serve --listen 127.0.0.1:0 \
        > "$peers_state/exports" 2> "$peers_state/log" &
    peers_pids+=($!)
    for i in $(seq 100); do
        grep -q E2B_SANDBOX_URL "$peers_state/exports" && break
        sleep 0.1
    done
    # shellcheck disable=SC1091
    . "$peers_state/exports"
    [ -n "${E2B_API_KEY:-}" ] && return
    echo "not ok - the service starts"
    sed 's/^/# /' "$peers_state/log"
    return 1
}
