# SPDX-License-Identifier: BSD-3-Clause
"""sobor study: every figure of every paper runs, with the published values beside ours."""

import csv
import json
import math
import os
from xml.etree import ElementTree

import pytest

from conftest import ROOT
from sobor.study.figure import Figure, Point
from sobor.study.papers import PAPERS
from sobor.study.place import trimmed
from sobor.study.published import beside, key, rank_correlation, summary
from sobor.study.vectors import tuned

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.usefixtures("figures_drawn_once")

LONG = os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")
FIGURES = [(paper, figure) for paper, figures in PAPERS.items() for figure in figures]


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
    ("arrival", "6", "n = 8", "0"): (None, 8),
    ("arrival", "6", "n = 8", "0.5"): (None, 8 * 0.5**7),
}

#: What the papers print, as the specification restates it; ranges are pairs.
BARRIERS = """
central 50.35 45.55 52.8 7.4
flat-counter 4.41 5.1 4.64 7.4
flat-gather-release 6.80 7.18 6.98 2.7
combining-tree 3.09 3.92 3.63 11.9
mcs 3.31 5.47 4.9 24.5
tournament 3.83 3.59 7.38 43.0
dissemination 4.37 3.45 3.85 11.9
hierarchical-numa+package 3.25 2.86 3.16 6.6
hierarchical-numa 2.98 2.68 3.03 6.5
hierarchical-package 3.69 3.34 3.16 7.9
"""
ON_ONE_PROCESSOR = """
p2p-linear 27.80
p2p-double-ring 75.50
p2p-recursive-doubling 7.89
p2p-bruck 6.32
p2p-tree 5.18
central 20.19
flat-counter 3.45
flat-gather-release 3.31
combining-tree 1.87
mcs 2.90
tournament 2.61
dissemination 3.18
"""


def columns(text, *places):
    """A table as the files have it: series, place, value."""
    rows = (line.split() for line in text.strip().splitlines())
    return {row[0]: dict(zip(places, map(float, row[1:]), strict=False)) for row in rows}


def at(places, value):
    """The same value at several places."""
    return dict.fromkeys(places.split(), value)


SAVED, OURS_SAVES, FASTER = "queued saves, %", "numa-pipelined saves, %", "host / CP"
PROGRAMS = {
    "asp": {"broadcast, cp / host": {"ratio": 0.82}, "broadcast, cp / p": {"ratio": 0.84}},
    "vcc": {
        "broadcast, cp / host": {"ratio": 0.76},
        "broadcast, cp / p": {"ratio": 0.83},
        "whole program, cp / host": {"ratio": 0.7},
    },
    "asp-arrival": {"width, µs": {"drawn": 300, "host": 300}},
    "vcc-arrival": {"width, µs": {"drawn": 200, "host": 200}},
}
PRINTED = {
    "barrier": {
        "4": columns(ON_ONE_PROCESSOR, "core"),
        "5": {"best of messages / best": at("core numa socket", [2.5, 2.8])},
        "6": columns(BARRIERS, "core"),
        "table": columns(BARRIERS, "core", "numa", "socket", "variation, %"),
    },
    "bcast-numa": {
        "4": {"best": {"f*, bytes": 14482, "s*": 290}},
        "5": {"best f, KiB": at("16K 32K 64K", [8, 12])},
        "7": {"saved at 16K, %": {"2": 30}, "saved at 32K, %": {"4": [40, 46]}},
        "10": {"place of the tree": at("binary chain", [1, 2])},
        "12": {OURS_SAVES: {"at least": 20, "on average": [20, 40], "at most": 40}},
        "13": {OURS_SAVES: {"at least": 20, "on average": [20, 60], "at most": 60}},
        "table 1": {"p = 8, s = 8": {"8192": 780}, "p = 64, s = 1024": {"8192": 384 * 1024}},
    },
    "vectors": {
        "2": {SAVED: {"at most": 60, "on average": 30}},
        "3": {SAVED: {"at most": 90, "on average": [20, 30]}},
        "4": {SAVED: {"on average": 70}},
        "5": {SAVED: {"on average": [30, 40]}},
    },
    "platform": {
        "1": {"through two points": {"1": 66.22, "t_s": 65.8, "t_w": 0.437}},
        "2": {"all / one": {"star": 1}},
        "5": {"bagds is ahead up to, elements": {"p = 16": [100, 1000]}},
        "6": {"each-with-each / bagds": {"1": [10, 100]}},
    },
    "arrival": {
        "18": {FASTER: at("64 1K 4K 8K", 1)},
        "19": {FASTER: {"64K": 1, "1M": 1, "2M": [1.7, 2.6], "4M": [1.7, 2.6]}},
        "22": PROGRAMS["asp-arrival"],
        "23": PROGRAMS["vcc-arrival"],
        "24": PROGRAMS["asp"],
        "25": PROGRAMS["vcc"],
    },
    "application": PROGRAMS,
}
#: The figures that show again what those of "application" do, which take longest of all.
SAME_AS_PROGRAMS = {("arrival", "24"), ("arrival", "25")}
#: Every figure and table with numbers.
NUMBERED = {
    "bcast-numa": [*map(str, range(4, 14)), "table 1"],
    "vectors": [*map(str, range(2, 7))],
    "barrier": ["4", "5", "6", "table"],
    "platform": ["1", "2", "5", "6"],
    "arrival": ["3", "4", "6", *map(str, range(12, 26))],
}

#: Series and place of what is printed and has nothing beside it before a program runs here.
MEASURED_ALONE = {("width, µs", "host")}


def printed(paper):
    path = ROOT / "share" / "sobor" / "published" / f"{paper}.json"
    return json.loads(path.read_text(encoding="utf-8"))["figures"]


#: What is timed so often may be timed this often: every place of a figure is met all the same.
ENOUGH = {"calls": 2, "sample": 10}


def fewer(figure):
    """The settings of a figure with fewer calls for each place."""
    few = [
        f"{setting.name}={ENOUGH[setting.name]}"
        for setting in figure.settings
        if setting.name in ENOUGH and int(setting.default) > ENOUGH[setting.name]
    ]
    return [word for each in few for word in ("--with", each)]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=lambda each: getattr(each, "name", each))
def test_figure(command, real_native, tmp_path, paper, figure):
    again = (paper, figure.name) in SAME_AS_PROGRAMS
    if not LONG and again:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    whole = LONG and not again
    words = ["study", paper, figure.name, "--out", str(tmp_path), "--json", "-"]
    result = command(*words, *(fewer(figure) if whole else ["--short"]))
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
    if whole:
        met = {(row["series"], key(row["x"])) for row in rows}
        values = printed(paper).get(figure.name, {})
        expected = {(name, x) for name, places in values.items() for x in places}
        assert expected - MEASURED_ALONE <= met
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
def test_published_values_are_those_of_the_papers(paper):
    assert printed(paper) == PRINTED[paper]
    assert set(printed(paper)) <= {figure.name for figure in PAPERS[paper]}


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_figure_with_numbers_is_there(paper):
    assert [figure.name for figure in PAPERS[paper]] == NUMBERED[paper]


def test_times_of_the_impact_model(command, real_native, tmp_path):
    """128 nodes of 8, 64 bytes, 500 us: 264 and 61 us are what the formulas give for the root."""
    words = ["study", "arrival", "4", "--with", "bytes=64", "--out", str(tmp_path), "--json", "-"]
    ours = {row["series"]: row["ours"] for row in command(*words).json}
    assert ours["P-BT, k = 500 µs"] == pytest.approx(264, abs=1)
    assert ours["CP-BT, k = 500 µs"] == pytest.approx(61, abs=1)
    assert ours["BT, k = 0 µs"] == pytest.approx(10 * (4 + 0.64))


def test_the_base_of_vectors(command, real_native, tmp_path):
    """Long messages wait for their receivers, so a queue is ahead of a root that sends in turn."""
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    words = ["--with", "bytes=2K,4K", "--with", "runs=1", "--out", str(tmp_path), "--json", "-"]
    answer = command("study", "vectors", "2", *words).json
    ours = {(point["series"], point["x"]): point["ours"] for point in answer}
    assert ours["coll/tuned", 4096] > 3 * ours["coll/tuned", 2048]
    assert ours["coll/tuned", 4096] > 1.5 * ours["queued", 4096]


def test_what_coll_tuned_takes():
    taken = {(p, m): tuned("allgatherv", p, m) for p in (4, 8, 16) for m in (64, 1024, 256 << 10)}
    assert [taken[8, m] for m in (64, 1024, 256 << 10)] == [
        "p2p-gather-bcast", "p2p-bruck", "p2p-bruck",
    ]  # fmt: skip
    assert [taken[16, m] for m in (64, 1024, 256 << 10)] == [
        "p2p-gather-bcast", "p2p-bruck", "p2p-ring",
    ]  # fmt: skip
    assert {taken[4, m] for m in (64, 1024, 256 << 10)} == {"p2p-ring"}
    assert {tuned(each, 16, 64) for each in ("scatterv", "gatherv")} == {"p2p-linear"}


def test_placement_in_one_segment(command, real_native, tmp_path):
    """Readahead puts pages of one rank on the node of the rank before; owners alone do not."""
    words = ["study", "bcast-numa", "11", "--short"]
    found = command(*words, "--out", str(tmp_path), "--json", "-").json
    ours = {row["series"]: row["ours"] for row in found}
    assert ours["one segment, no readahead"] == pytest.approx(ours["a region of each"], rel=0.02)
    assert ours["one segment, readahead"] > ours["one segment, no readahead"]


def test_list(command, real_native, tmp_path):
    result = command("study", "--list", "--json", "-")
    assert [(each["paper"], each["figure"]) for each in result.json] == [
        (paper, figure.name) for paper, figure in FIGURES
    ]
    assert all(each["settings"] for each in result.json)
    file = tmp_path / "figures.json"
    assert str(file) in command("study", "--list", "--json", str(file)).err
    assert json.loads(file.read_text()) == result.json
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
        (
            ["barrier", "6", "--with", "algorithms="],
            "algorithms: expected names of algorithms",
        ),
        (["barrier", "table", "--with", "machine=here"], "map: with machine=here ranks are where"),
        (["bcast-numa", "9", "--with", "step=256K"], "most: expected at least a step, 256K"),
    ],
)
def test_wrong_words(command, real_native, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command("study", *words)
    assert result.status == 2
    assert message in result.err


def test_barriers_without_those_of_messages(command, real_native, tmp_path):
    """There is nothing that the best of them could be compared with."""
    words = ["--short", "--with", "algorithms=central", "--with", "ranks=2", "--with", "map=core"]
    rows = command("study", "barrier", "5", *words, "--out", str(tmp_path), "--json", "-").json
    assert [row["series"] for row in rows] == ["central"]


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
