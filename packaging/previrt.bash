# shellcheck shell=bash
# Completion of previrt's command line for bash. Commands, options and guests come from previrt itself.

_previrt_options() {
    previrt "$@" --help 2>/dev/null | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

_previrt_commands() {
    previrt --help 2>/dev/null | sed -n '/^Subcommands:/,$s/^  \([a-z-]*\) .*/\1/p'
}

_previrt_guests() {
    previrt list 2>/dev/null | sed '1d;s/ .*//'
}

_previrt() {
    local word=${COMP_WORDS[COMP_CWORD]} words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words=$(_previrt_commands)
    elif [[ $word == -* ]]; then
        words=$(_previrt_options "${COMP_WORDS[1]}")
    elif [ "$COMP_CWORD" -eq 2 ] && [[ ${COMP_WORDS[1]} == @(console|exec|stop|top) ]]; then
        words=$(_previrt_guests)
    fi
    # Without a word of previrt's, a file's name is completed.
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _previrt previrt
