# SPDX-License-Identifier: BSD-3-Clause
"""Reads a launcher's command line just far enough to know its options from its programs.

A launcher has more options than anyone lists. Those that take values and are in common use are in
the tables; of any other option the next word is taken to be its value, unless that word is an
option too or a program that can be run.
"""

import os
import shlex
import shutil
from collections.abc import Iterator

from sobor.errors import SoborError
from sobor.launchers.recognition import Family

_OPENMPI = {
    **dict.fromkeys(
        """app am bind-to c cpu-list cpu-set cpus-per-proc cpus-per-rank default-hostfile H host
        hostfile launch-agent machinefile map-by max-restarts n N np npernode npersocket
        output output-filename path personality ppr prefix preload-files rank-by rankfile rf
        runtime-options report-uri stdin timeout tune wd wdir x xterm""".split(),
        1,
    ),
    **dict.fromkeys("gmca gpmixmca gprtemca mca omca pmixmca prtemca".split(), 2),
    **dict.fromkeys(
        """allow-run-as-root d debug-daemons display-allocation display-map do-not-launch
        nolocal nooversubscribe oversubscribe pernode q quiet report-bindings s tag-output
        timestamp-output use-hwthread-cpus v verbose xml""".split(),
        0,
    ),
}
_HYDRA = {
    **dict.fromkeys(
        """bind-to bootstrap bootstrap-exec configfile demux envlist errfile-pattern f genvlist grr
        host hostfile hosts iface launcher launcher-exec localhost machine machinefile map-by
        membind n nameserver np outfile-pattern path perhost ppn prepend-pattern rmk topolib umask
        usize wdir""".split(),
        1,
    ),
    **dict.fromkeys("env genv".split(), 2),
    **dict.fromkeys("envall envnone genvall genvnone l prepend-rank v verbose".split(), 0),
}
# Hydra takes both -genv NAME VALUE and -genv NAME=VALUE.
_NAME_VALUE_OPTIONS = frozenset({"env", "genv"})
_SRUN = {
    **dict.fromkeys(
        """A account accel-bind acctg-freq b B bb bbf bcast-exclude begin c C chdir cluster
        cluster-constraint clusters comment constraint container container-id core-spec
        cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task d D deadline delay-boot
        dependency distribution e epilog error exclude export extra extra-node-info F G gid gpu-bind
        gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint i
        input J job-name jobid L licenses m M mail-type mail-user mcs-label mem mem-bind mem-per-cpu
        mem-per-gpu mincpus mpi msg-timeout n N network nodefile nodelist nodes ntasks
        ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres o open-mode
        output p partition power prefer priority profile prolog q qos r relative reservation S
        segment signal slurmd-debug sockets-per-node switches t T task-epilog task-prolog
        thread-spec threads threads-per-core time time-min tmp tree-width treewidth tres-bind
        tres-per-task uid w W wait wckey x""".split(),
        1,
    ),
    # Values of some of them follow a = only.
    **dict.fromkeys(
        """bcast compress contiguous disable-status E exact exclusive H hold I immediate K k
        kill-on-bad-exit l label multi-prog nice no-allocate no-kill O overcommit overlap
        oversubscribe preserve-env propagate pty Q quiet quit-on-interrupt reboot resv-ports s
        send-libs spread-job test-only u unbuffered use-min-nodes v verbose X x11 Z""".split(),
        0,
    ),
}
_TABLES = {Family.OPENMPI: _OPENMPI, Family.HYDRA: _HYDRA, Family.SRUN: _SRUN, Family.PLAIN: {}}

SEPARATOR = ":"


def split_words(text: str, option: str) -> list[str]:
    """The words of a command that is the value of an option, quotes taken as a shell takes them."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SoborError(f"{option}: {text}: {str(error).lower()}") from None


def split_programs(arguments: list[str]) -> list[list[str]]:
    """The parts of a command line that starts several programs, cut at each lone colon."""
    parts: list[list[str]] = [[]]
    for argument in arguments:
        if argument == SEPARATOR:
            parts.append([])
        else:
            parts[-1].append(argument)
    return parts


def join_programs(parts: list[list[str]]) -> list[str]:
    """The reverse of split_programs."""
    joined = list(parts[0])
    for part in parts[1:]:
        joined += [SEPARATOR, *part]
    return joined


def program_index(arguments: list[str], family: Family) -> int:
    """Where the program's name stands among the arguments; their number if it is not there."""
    table = _TABLES[family]
    index = 0
    while index < len(arguments) and _is_option(arguments[index]):
        index += 1 + _values_after(arguments, index, table)
    return min(index, len(arguments))


def named_program(arguments: list[str], family: Family) -> str | None:
    """The program among the arguments, unless it may be the value of an option nobody lists."""
    index = program_index(arguments, family)
    if index == len(arguments):
        return None
    before = arguments[index - 1] if index else ""
    open_end = _is_option(before) and "=" not in before and bare(before) not in _TABLES[family]
    return None if open_end else arguments[index]


def options_of(arguments: list[str], family: Family) -> Iterator[tuple[int, str]]:
    """The launcher's own options: position and name without dashes."""
    table = _TABLES[family]
    end = program_index(arguments, family)
    index = 0
    while index < end:
        yield index, bare(arguments[index])
        index += 1 + _values_after(arguments, index, table)


def _values_after(arguments: list[str], index: int, table: dict[str, int]) -> int:
    word = arguments[index]
    name = bare(word)
    following = arguments[index + 1] if index + 1 < len(arguments) else ""
    if "=" in word or not following:
        return 0
    if name in table:
        is_one_word = name in _NAME_VALUE_OPTIONS and "=" in following
        return 1 if is_one_word else table[name]
    return 0 if _is_option(following) or is_program(following) else 1


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def bare(word: str) -> str:
    """An option's name without its dashes, and without a value behind =."""
    return word.lstrip("-").partition("=")[0]


def is_program(word: str) -> bool:
    """Whether a word is the name or the path of a program that can be run, or of a file."""
    return shutil.which(word) is not None or (os.sep in word and os.path.isfile(word))
