# SPDX-License-Identifier: MIT
# The bash kernel of a sandbox: what the service types first into
#   bash --norc --noprofile --noediting -i
# whose commands come from a pipe. Interactive, because only then does SIGINT
# end whatever runs and nothing else. After __ebb_nonce=NONCE and this text, a
# run is the one list
#   __ebb_go ID; K='v' eval '<the code>' </dev/null; __ebb_say
# The end is said on both streams, framed as in service/kernel.h, with the
# status of the last command; after an interrupt it is said before the prompt.
HISTFILE=
set +o history +H
history -c
exec {__ebb_out}>&1 {__ebb_err}>&2
__ebb_go() {
    __ebb_run=$1 PS1='' PS2='' PROMPT_COMMAND=__ebb_say
}
__ebb_frame() {
    printf '\x1e%s%04x%s\n' "$__ebb_nonce" $((${#1} + 1)) "$1"
}
__ebb_say() {
    local status=$? end
    [ -n "${__ebb_run-}" ] || return "$status"
    end='{"type":"end","id":'$__ebb_run',"status":'$status'}'
    __ebb_run=
    __ebb_frame "$end" >&"$__ebb_out"
    __ebb_frame "$end" >&"$__ebb_err"
    return "$status"
}
__ebb_go ''
__ebb_frame '{"type":"ready"}' >&"$__ebb_out"
