# SPDX-License-Identifier: BSD-3-Clause
"""Telling a launcher's options from the programs it starts."""

import pytest

from sobor.launchers.options import (
    join_programs,
    options_of,
    program_index,
    split_programs,
)
from sobor.launchers.recognition import Family

OMPI, HYDRA, SRUN = Family.OPENMPI, Family.HYDRA, Family.SRUN


@pytest.mark.parametrize(
    ("family", "line", "program"),
    [
        (OMPI, "-n 4 app -x LD_PRELOAD", "app"),
        (OMPI, "-np 4 --mca btl self,vader app", "app"),
        (OMPI, "--bind-to core --oversubscribe app", "app"),
        (OMPI, "-x A=1 -x B app", "app"),
        (OMPI, "--some-new-option 5 sh -c true", "sh"),
        (OMPI, "--some-new-flag sh -c true", "sh"),
        (OMPI, "--some-new-option=5 app", "app"),
        (OMPI, "-n 4", None),
        (OMPI, "-x", None),
        (HYDRA, "-n 2 -genv A 1 app", "app"),
        (HYDRA, "-genv A=1 -n 2 app", "app"),
        (HYDRA, "-l -env A 1 app", "app"),
        (HYDRA, "-bind-to core:2 -ppn 2 app", "app"),
        (HYDRA, "-bootstrap sh -bootstrap-exec sh -n 2 app", "app"),
        (SRUN, "-n 2 --export NONE app", "app"),
        (SRUN, "-n2 -N1 sh -c true", "sh"),
        (SRUN, "--export=ALL --mem-bind=local app", "app"),
        (SRUN, "", None),
    ],
)
def test_program(family, line, program):
    words = line.split()
    index = program_index(words, family)
    assert (words[index] if index < len(words) else None) == program


def test_options_end_at_the_program():
    words = ["-x", "A=1", "-n", "2", "app", "-x", "B=2"]
    assert list(options_of(words, OMPI)) == [(0, "x"), (2, "n")]


def test_mpmd_is_split_and_joined():
    words = ["-n", "1", "a", ":", "-n", "2", "b", "x:y", ":", "c"]
    parts = split_programs(words)
    assert parts == [["-n", "1", "a"], ["-n", "2", "b", "x:y"], ["c"]]
    assert join_programs(parts) == words
