# SPDX-License-Identifier: BSD-3-Clause
# Completion of the sobor command for fish.

complete -c sobor -n "_SOBOR_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=is-args _TYPER_COMPLETE_ARGS=(commandline -cp) sobor" -f -a "(_SOBOR_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args _TYPER_COMPLETE_ARGS=(commandline -cp) sobor)"
