# SPDX-License-Identifier: BSD-3-Clause
# Completion of the sobor command for bash.

_sobor() {
    local line=${COMP_LINE:0:COMP_POINT} words last i IFS=$' \t\n'
    read -ra words <<<"$line"
    [[ $line != *[[:blank:]] ]] || words+=("")
    # What comes after -- is another command.
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]] && declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
            return
        fi
    done
    last=${words[-1]}
    IFS=$'\n'
    # shellcheck disable=SC2207 # one name a line
    COMPREPLY=($(COMP_WORDS=$line COMP_CWORD=$((${#words[@]} - 1)) _SOBOR_COMPLETE=complete_bash \
        "$1" 2>/dev/null))
    # bash keeps what stands before the last = or : as it is.
    COMPREPLY=("${COMPREPLY[@]#"${last%"${last##*[=:]}"}"}")
    [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
}
complete -o default -F _sobor sobor
