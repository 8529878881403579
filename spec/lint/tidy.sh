# SPDX-License-Identifier: MIT
# tidy.sh FILE: clang-tidy on one file, unless its text, the headers it
# includes, the flags and .clang-tidy are as they were when it was clean.
# Reads TIDY_ROOT, TIDY_BUILD and TIDY_FLAGS; run from the lint.
set -u
file=$1
stamp=$TIDY_BUILD/tidy/$file.key
case $stamp in /*) ;; *) stamp=$PWD/$stamp ;; esac
mkdir -p "$(dirname "$stamp")"
cd "$TIDY_ROOT" || exit 1

# shellcheck disable=SC2086
key=$({
    echo "$TIDY_FLAGS"
    clang-tidy --version
    cat .clang-tidy "$file"
    cc $TIDY_FLAGS -E "$file" 2>&1
} | sha256sum)
[ "$key" != "$(cat "$stamp" 2>/dev/null)" ] || exit 0

# xargs runs two of these at once: the output is printed in one piece. The
# warnings of the compiler are the build's business.
# shellcheck disable=SC2086
if out=$(timeout 300 clang-tidy --quiet "$file" -- $TIDY_FLAGS -w 2>&1); then
    echo "$key" >"$stamp"
else
    printf '%s\n' "$out" | grep -v 'warnings\{0,1\} generated\|^Suppressed'
    exit 1
fi
