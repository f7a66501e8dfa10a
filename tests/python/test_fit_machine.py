# SPDX-License-Identifier: BSD-3-Clause
"""scripts/fit_machine.py: one machine file stands for both tables of the barrier paper."""

import importlib.util
import json
import math
import sys

import pytest

from conftest import ROOT
from sobor.machines import find_machine
from sobor.study.barrier import MACHINE
from sobor.study.published import rank_correlation

#: What is asked of the file: order of each table, and times within a factor of 1.5, of 37.
CORRELATION = 0.8
WITHIN = 30


@pytest.fixture(scope="module")
def fit():
    """The script as a module."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("fit_machine", ROOT / "scripts/fit_machine.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_machine"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture
def machine():
    """What the file says."""
    return json.loads(find_machine(MACHINE).path.read_text(encoding="utf-8"))


@pytest.fixture
def simulator(real_native):
    """The native parts with the simulator, or the test is skipped."""
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    return real_native


@pytest.fixture(scope="module")
def kept():
    """What several tests look at, once it is found."""
    return {}


@pytest.fixture
def compared(fit, machine, simulator, kept):
    """What the script finds of the file as it is."""
    if not kept:
        kept.update(fit.compare(machine))
    return kept


def test_both_tables_have_the_published_order(fit, compared):
    assert {name: len(pairs) for name, pairs in compared.items()} == {
        "64 by core": 7, "128 by core": 10, "128 by numa": 10, "128 by socket": 10,
    }  # fmt: skip
    correlations = {name: fit.correlation_of(pairs) for name, pairs in compared.items()}
    assert min(correlations.values()) >= CORRELATION, correlations
    everything = [pair for pairs in compared.values() for pair in pairs]
    within = sum(2 / 3 <= ours / theirs <= 1.5 for theirs, ours in everything)
    assert within >= WITHIN, everything


def test_barriers_of_messages_have_their_places(simulator, command, tmp_path):
    """All twelve of the figure, those made of messages among them."""
    rows = command("study", "barrier", "4", "--out", str(tmp_path), "--json", "-").json
    pairs = [(row["published"], row["ours"]) for row in rows if row["x"] == "core"]
    assert len(pairs) == 12
    theirs, ours = zip(*pairs, strict=True)
    assert rank_correlation(theirs, ours) >= CORRELATION, rows


def test_it_compares_what_the_study_reports(fit, compared, command, tmp_path):
    """The same times and published values, though all algorithms run in one simulator."""
    name = "tournament"
    words = ["--with", f"algorithms={name}", "--out", str(tmp_path), "--json", "-"]
    rows = {
        **{("4", row["x"]): row for row in command("study", "barrier", "4", *words).json},
        **{("table", row["x"]): row for row in command("study", "barrier", "table", *words).json},
    }
    for table in fit.TABLES:
        row = rows[table.figure, table.mapping]
        pair = compared[table.name][table.algorithms.index(name)]
        assert pair == pytest.approx((row["published"], row["ours"]))


def test_near_times_share_their_places(fit):
    """So a search sees a change before two algorithms change places."""
    apart, near = fit.soft_places([1, 2, 4]), fit.soft_places([1, 1, 4])
    assert apart == pytest.approx([1, 2, 3])
    assert near == pytest.approx([1.5, 1.5, 3])
    pairs = [(1, 10), (2, 20), (4, 30)]
    assert fit.soft_correlation(pairs) == pytest.approx(1) == fit.correlation_of(pairs)
    assert math.isclose(fit.soft_correlation([(1, 30), (2, 20), (4, 10)]), -1)


def test_numbers_stay_within_their_bounds(fit, machine):
    for name, (least, greatest) in fit.BOUNDS.items():
        assert least <= machine["parameters"][name]["value"] <= greatest, name
    changed = fit.applied(machine, {"read_machine": 200.0})["parameters"]
    tied = {name: changed[name]["value"] for name in fit.TIED["read_machine"]}
    assert tied == {name: 200 + more for name, more in fit.TIED["read_machine"].items()}
