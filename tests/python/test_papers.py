# SPDX-License-Identifier: BSD-3-Clause
"""sobor study: every figure of every paper runs, with the published values beside ours."""

import csv
import json
import math
import os
from xml.etree import ElementTree

import pytest

from conftest import ROOT
from sobor.study.figure import HERE, Figure, Point
from sobor.study.papers import PAPERS
from sobor.study.place import trimmed
from sobor.study.published import beside, key, rank_correlation, summary

pytest.importorskip("matplotlib")

LONG = os.environ.get("SOBOR_TEST_LONG") == "1"
FIGURES = [(paper, figure) for paper, figures in PAPERS.items() for figure in figures]
#: Not those of a real run alone.
SIMULATED = [
    (paper, figure)
    for paper, figure in FIGURES
    if all(each.default != HERE for each in figure.settings)
]


#: What is published, and what the published formulas give: paper, figure, series and place.
KNOWN = {
    ("platform", "1", "through two points", "1"): (66.22, 66.22),
    ("platform", "1", "through two points", "t_s"): (65.8, 65.8),
    ("platform", "1", "through two points", "t_w"): (0.437, 0.437),
    ("platform", "2", "all / one", "star"): (1, 1),
    ("platform", "2", "all / one", "crossbar"): (None, 8),
    ("platform", "5", "each-with-each", "1"): (None, 14900),
    ("platform", "5", "bagds", "1"): (None, 4315),
    ("platform", "5", "bagds is ahead up to, elements", "p = 16"): ([100, 1000], 1616),
    ("platform", "6", "bagds", "1"): (None, 270),
    ("platform", "6", "ring", "1"): (None, 993),
    ("platform", "6", "each-with-each / bagds", "1"): ([10, 100], 55),
}


def printed(paper):
    path = ROOT / "share" / "sobor" / "published" / f"{paper}.json"
    return json.loads(path.read_text(encoding="utf-8"))["figures"]


@pytest.mark.parametrize(
    ("paper", "figure"), SIMULATED, ids=lambda each: getattr(each, "name", each)
)
def test_figure(command, real_native, tmp_path, paper, figure):
    words = ["study", paper, figure.name, "--out", str(tmp_path), "--json", "-"]
    result = command(*words, *([] if LONG else ["--short"]))
    assert result.status == 0, result.err
    rows = result.json
    assert rows
    for row in rows:
        assert list(row) == ["paper", "figure", "series", "x", "ours", "published"]
        assert (row["paper"], row["figure"]) == (paper, figure.name)
        assert math.isfinite(row["ours"])
        known = printed(paper).get(figure.name, {}).get(row["series"], {}).get(key(row["x"]))
        assert row["published"] == known
        place = (paper, figure.name, row["series"], key(row["x"]))
        if place in KNOWN:
            published, ours = KNOWN[place]
            assert row["published"] == published
            assert ours is None or row["ours"] == pytest.approx(ours, rel=0.01)
    met_places = {(paper, figure.name, row["series"], key(row["x"])) for row in rows}
    assert {place for place in KNOWN if place[:2] == (paper, figure.name)} <= met_places
    if LONG:
        met = {(row["series"], key(row["x"])) for row in rows}
        values = printed(paper).get(figure.name, {})
        assert {(name, x) for name, places in values.items() for x in places} <= met
    stem = f"{paper}-{figure.name}".replace(" ", "-")
    with (tmp_path / f"{stem}.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert ElementTree.parse(tmp_path / f"{stem}.svg").getroot().tag.endswith("svg")


def test_platform_simulated(command, real_native, tmp_path):
    """On a machine of the simulator instead of the formulas: fewer stages, less time."""
    words = ["study", "platform", "6", "--with", "machine=cluster-16x8", "--with", "elements=1"]
    found = command(*words, "--out", str(tmp_path), "--json", "-").json
    ours = {row["series"]: row["ours"] for row in found}
    assert ours["bagds"] < ours["host"] / 2


@pytest.mark.parametrize("paper", PAPERS)
def test_values_belong_to_figures(paper):
    assert set(printed(paper)) <= {figure.name for figure in PAPERS[paper]}


def test_list(command, real_native):
    result = command("study", "--list", "--json", "-")
    assert [(each["paper"], each["figure"]) for each in result.json] == [
        (paper, figure.name) for paper, figure in FIGURES
    ]
    assert all(each["settings"] for each in result.json)
    shown = command("study", "--list", "barrier", "6").out
    assert "ranks=128" in shown
    assert "64 processes" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "expected a paper and a figure"),
        (["bagels", "1"], "expected a paper, one of bcast-numa"),
        (["barrier", "77"], "barrier: expected one of 4, 5, 6, table, found 77"),
        (["barrier", "6", "--with", "tree=flat"], "--with: expected machine"),
        (["barrier", "6", "--with", "ranks"], "--with: expected machine"),
        (["barrier", "6", "--with", "ranks=few"], "ranks: expected a number of at least 2"),
        (["barrier", "6", "--with", "map=hat"], "map: expected core, numa, socket, found hat"),
        (["barrier", "6", "--with", "machine=nix"], "no machine nix"),
        (["barrier", "6", "--out", "/proc/nothing"], "--out: "),
    ],
)
def test_wrong_words(command, real_native, words, message):
    result = command("study", *words)
    assert result.status == 2
    assert message in result.err


def test_table_for_people(command, real_native, tmp_path):
    small = ["--short", "--with", "algorithms=mcs,tournament,central", "--out", str(tmp_path)]
    out = command("study", "barrier", "6", *small).out
    assert "(3.31)" in out
    assert "core: rank correlation" in out
    assert "within 1.5" in out


def test_comparison():
    figure = Figure("6", "", "", "", (), lambda run: [])
    points = [Point("mcs", "core", 6.62), Point("central", "core", 50.35), Point("new", "core", 1)]
    rows = beside("barrier", figure, points)
    assert [row.published for row in rows] == [3.31, 50.35, None]
    assert summary(figure, rows) == ["ours / published: 1.00 to 2.00, 1 of 2 within 1.5"]
    assert summary(figure, rows[2:]) == ["no values are printed for it"]
    assert rank_correlation([1, 2, 3], [10, 20, 15]) == pytest.approx(0.5)
    assert math.isnan(rank_correlation([1, 1], [1, 2]))
    assert trimmed([9, 1, 2, 3, 0]) == 2
    assert trimmed([1, 2]) == 1.5
