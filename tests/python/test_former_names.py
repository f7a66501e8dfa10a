# SPDX-License-Identifier: BSD-3-Clause
"""Names that algorithms had once: whoever wrote one down still gets the algorithm by it.

The table is written here a second time, since a name that the code has forgotten is none that it
could tell of.
"""

import json
import os

import pytest

from sobor.bench.request import parse_algorithms
from sobor.variables import check_settings

REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
#: The collective, the name in its time, and today's. A line is never taken out.
NAMES = [
    *((collective, "blocks", "k-ary-tree") for collective in REDUCTIONS),
    *((collective, "slices", "reduce-scatter-allgather") for collective in REDUCTIONS),
    ("allreduce", "whole", "rings"),
]
each = pytest.mark.parametrize(("collective", "former", "name"), NAMES)


def chosen(native, collective, **variables):
    """The algorithm of a small call between two ranks."""
    words = ("--collective", collective, "--ranks", "2", "--bytes", "64")
    return native.query("choice", *words, environ={**os.environ, **variables})


def test_no_other_name_has_changed(real_native):
    told = {
        (algorithm["collective"], former, algorithm["name"])
        for algorithm in real_native.query("algorithms")
        for former in algorithm["former"]
    }
    assert told == set(NAMES)


@each
def test_variables(real_native, collective, former, name):
    variable = f"SOBOR_{collective.upper()}_ALGORITHM"
    for word in (name, former):
        choice = chosen(real_native, collective, **{variable: word})
        assert (choice["algorithm"], choice["reason"]) == (name, "asked for by name")
    check_settings(real_native, {variable: former}, os.environ)
    shown = real_native.query("variables", environ={**os.environ, variable: former})
    (told,) = [each for each in shown if each["name"] == variable]
    assert (told["value"], told["error"]) == (name, None)


@each
def test_tuning_files(real_native, tmp_path, collective, former, name):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [{"collective": collective, "algorithm": former}]}))
    choice = chosen(real_native, collective, SOBOR_TUNING=str(path))
    assert (choice["algorithm"], choice["reason"]) == (name, f"rule 1 of {path}")
    shown = real_native.query("tuning", environ={**os.environ, "SOBOR_TUNING": str(path)})
    assert shown["rules"][0]["sets"] == {"algorithm": name}


@each
def test_bench(real_native, collective, former, name):
    word = f"{collective}:{former}"
    assert parse_algorithms(word, ["barrier", collective], real_native) == {collective: [name]}


@pytest.mark.parametrize("collective", REDUCTIONS)
def test_simulate(command, real_native, collective):
    names = {former: name for of, former, name in NAMES if of == collective}
    machine = ("--machine", "kunpeng920-2s", "--ranks", "2", "--bytes", "64", "--calls", "2")
    result = command(
        "simulate", collective, *machine, "--algorithm", ",".join(names), "--json", "-"
    )
    assert result.status == 0, result.err
    assert [row["algorithm"] for row in result.json] == list(names.values())
