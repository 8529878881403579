#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh BUILD [LANGUAGE [RELEASE]]: the steps of peer.py and peer.mjs, by the
# official SDK releases of releases.txt, each as it comes. Speaks TAP, one test
# a step, and ends with the matrix as comments: steps that passed, failed, and
# that the release does not have.
#
# Releases before 2.8 know a domain and no URL: to them the service is
# https://api.ebb.test, with TLS in front of it and names that lead to loopback.
set -u
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC1091
. "$here/../install.sh" "$1"
# shellcheck disable=SC1091
. "$here/../service.sh" "$1"
STEPS_S=300

start_front() {
    local i
    python3 -B "$here/front.py" "$peers_state" "${E2B_API_URL##*:}" \
        > "$peers_state/front" 2> "$peers_state/front.log" &
    peers_pids+=($!)
    for i in $(seq 100); do
        [ -s "$peers_state/front" ] && break
        sleep 0.1
    done
    export E2B_DOMAIN="ebb.test:$(cat "$peers_state/front")"
    export SSL_CERT_FILE=$peers_state/ca.pem
    export NODE_EXTRA_CA_CERTS=$peers_state/ca.pem
    [ -s "$peers_state/front" ]
}

# Each installs E2B and its code interpreter once, kept under build/peers.
install_py() {
    [ -e "$1/.done" ] && return
    rm -rf "$1"
    "$(PATH=/usr/bin:$PATH command -v python3)" -m venv "$1" &&
        "$1/bin/pip" install -q "e2b==$2" "e2b-code-interpreter==$3" >&2 &&
        touch "$1/.done"
}
install_js() {
    [ -e "$1/.done" ] && return
    rm -rf "$1" && mkdir -p "$1" &&
        echo '{"private": true, "type": "module"}' > "$1/package.json" &&
        (cd "$1" && npm install --silent --no-audit --no-fund "e2b@$2" \
            "@e2b/code-interpreter@$3" >&2) &&
        touch "$1/.done"
}
run_py() {
    PYTHONPATH=$here/names timeout "$STEPS_S" "$1/bin/python" -B \
        "$here/../peer.py" --any-release
}
run_js() {
    cp "$here/../peer.mjs" "$1/peer.mjs"
    timeout "$STEPS_S" node --import "$here/names/names.mjs" "$1/peer.mjs" \
        --any-release
}

# Turns what known.txt tells of a release into what it is.
judge() {
    awk -v "name=$1" -v "list=$here/known.txt" '
BEGIN {
    while ((getline line < list) > 0) {
        split(line, part, / [|] /)
        if (part[1] == name) reason[part[2]] = part[3]
    }
}
{
    title = $0
    sub(/^(not )?ok - the [A-Za-z]* SDK /, "", title)
    sub(/ - the [A-Za-z]* SDK /, " - D05: " name " ")
    if (/^#/) {
        if (!expected) print
        next
    }
    expected = /^not/ && title in reason
    if (!(title in reason)) print
    else if (expected) print substr($0, 5) " # SKIP known: " reason[title]
    else print "not " $0 ", which known.txt denies"
}'
}
count() { grep -c "$1" "$peers_state/steps"; }

# one LANGUAGE QUARTER E2B CODE_INTERPRETER
one() {
    local name="$1 $3" dir=$peers/matrix/$1-$3 all
    if ! "install_$1" "$dir" "$3" "$4"; then
        echo "ok - D05: $name # SKIP it could not be installed here"
        return
    fi
    "run_$1" "$dir" 2> "$peers_state/words" |
        judge "$name" > "$peers_state/steps"
    cat "$peers_state/steps"
    sed 's/^/# /' "$peers_state/words"
    all=$(count '^\(not \)\?ok')
    if [ "$all" -eq 0 ]; then
        echo "not ok - D05: $name says anything"
    fi
    printf '# | %s | %s | %s | %s | %d | %d | %d |\n' "$1" "$2" "$3" "$4" \
        $((all - $(count '# SKIP') - $(count '^not ok'))) \
        $(($(count '^not ok') + $(count '# SKIP known'))) \
        $(($(count '# SKIP') - $(count '# SKIP known'))) \
        >> "$peers_state/table"
}

start_service && start_front || exit 1
find_node || install_js() { false; }
while read -r language quarter e2b interpreter; do
    [ "${2:-$language}" = "$language" ] && [ "${3:-$e2b}" = "$e2b" ] &&
        one "$language" "$quarter" "$e2b" "$interpreter"
done < <(grep -v '^#' "$here/releases.txt")
echo "# | SDK | quarter | e2b | code interpreter | pass | fail | lacks |"
cat "$peers_state/table"
