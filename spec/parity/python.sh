#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# python.sh BUILD: prints a Python that has the published pack, which needs
# Python 3.12 or later; prints nothing where there is none.
set -u
peers=$1/peers
pack=render-lab-tasks-e2b==0.1.0

if [ -x "$peers/pack/bin/done" ]; then
    echo "$peers/pack/bin/python"
    exit 0
fi
for python in python3.13 python3.12 python3 \
    "$HOME"/.pyenv/versions/3.1[23]*/bin/python; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' \
        2> /dev/null || continue
    rm -rf "$peers/pack"
    mkdir -p "$peers"
    "$python" -m venv "$peers/pack" > /dev/null 2>&1 || continue
    "$peers/pack/bin/pip" install -q "$pack" > /dev/null 2>&1 || continue
    cp /bin/true "$peers/pack/bin/done"
    echo "$peers/pack/bin/python"
    exit 0
done
