# SPDX-License-Identifier: BSD-3-Clause
"""The command line of sobor simulate."""

import itertools
import json
from xml.etree import ElementTree

import pytest

from conftest import option
from sobor.simulate import run
from sobor.simulate.timeline import Record, draw, joined, round_step

KUNPENG = ("--machine", "kunpeng920-2s")
SVG = "{http://www.w3.org/2000/svg}"


def test_table(command, fake_native):
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "8", "--algorithm", "all")
    assert result.status == 0
    assert "barrier, 8 ranks on 2 x Kunpeng 920-6426" in result.out
    line = next(line for line in result.out.splitlines() if "tree" in line)
    assert line.split() == ["tree", "1.60", "1.44", "-", "1.76", "3.20"]
    assert "numbers of kunpeng920-2s are assumed" in result.out


def test_maps_side_by_side(command, fake_native, arguments):
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "10", "--map", "core,numa,socket")
    assert "flat" in result.out
    line = next(line for line in result.out.splitlines() if line.strip().startswith("flat"))
    assert line.split() == ["flat", "1.00", "2.00", "1.50", "33.3", "%"]
    assert [option(words, "--map") for words in arguments()] == ["core", "numa", "socket"]


def test_one_rank_for_each_core_of_a_node_is_the_default(command, fake_native, arguments):
    command("simulate", "barrier", "--machine", "cluster-16x8")
    assert option(arguments()[0], "--algorithm") == "auto"
    assert option(arguments()[0], "--ranks") == "2"  # as the fake sobor-query says


def test_several_nodes(command, fake_native, arguments):
    cluster = ("--machine", "cluster-16x8")
    result = command("simulate", "barrier", *cluster, "--nodes", "4", "--map", "node,core")
    assert result.status == 0, result.err
    assert [option(words, "--map") for words in arguments()] == ["node", "core"]
    assert all(option(words, "--nodes") == "4" for words in arguments())
    assert option(arguments()[0], "--ranks") == "8"  # two for each node, as the fake query says
    assert "--calls" not in arguments()[0]  # the simulator's own number goes by the ranks


def test_options_reach_the_simulator(command, fake_native, arguments):
    result = command(
        "simulate", "bcast", *KUNPENG, "--ranks", "4", "--bytes", "4K,1M", "--root", "rotate",
        "--calls", "7", "--warmup", "2", "--seed", "9", "--arrival", "uniform:500us", "--no-noise",
        "--cold", "--no-placement", "--algorithm", "ring,tree", "--set", "RING=1M",
    )  # fmt: skip
    assert result.status == 0, result.err
    words = arguments()[0]
    assert words[0] == "bcast"
    assert option(words, "--machine").endswith("share/sobor/machines/kunpeng920-2s.json")
    expected = {
        "--bytes": "4096,1048576", "--root": "rotate", "--calls": "7", "--warmup": "2",
        "--seed": "9", "--arrival": "uniform:500us", "--noise": "off", "--cold": "on",
        "--placement": "off", "--algorithm": "ring,tree", "--set": "SOBOR_RING=1M",
    }  # fmt: skip
    assert {name: option(words, name) for name in expected} == expected
    assert "--check" not in words


def test_json(command, fake_native, tmp_path):
    rows = command("simulate", "barrier", *KUNPENG, "--ranks", "2,4", "--json", "-").json
    assert [(row["ranks"], row["machine"]) for row in rows] == [
        (2, "kunpeng920-2s"),
        (4, "kunpeng920-2s"),
    ]
    assert {"collective", "algorithm", "map", "bytes", "root", "calls", "seed"} <= set(rows[0])
    assert rows[0]["median_us"] == pytest.approx(0.2)
    path = tmp_path / "rows.json"
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "2,4", "--json", str(path))
    assert json.loads(path.read_text()) == rows
    assert "flat" in result.out


def test_check_without_faults(command, fake_native, arguments):
    result = command(
        "simulate", "barrier", *KUNPENG, "--ranks", "3", "--check", "--schedules", "500"
    )
    assert result.status == 0
    line = next(line for line in result.out.splitlines() if line.strip().startswith("flat"))
    assert line.split() == ["flat", "core", "500", "0"]
    words = arguments()[0]
    assert (option(words, "--check"), option(words, "--mode")) == ("on", "random")


def test_exploration_options(command, fake_native, arguments):
    command("simulate", "barrier", *KUNPENG, "--ranks", "2", "--mode", "exhaustive", "--relaxed")
    command("simulate", "barrier", *KUNPENG, "--ranks", "2", "--replay", "0,1,0")
    explored, replayed = arguments()
    assert (option(explored, "--mode"), option(explored, "--relaxed")) == ("exhaustive", "on")
    assert option(explored, "--schedules") == "1000"
    assert option(replayed, "--replay") == "0,1,0"
    assert "--schedules" not in replayed


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (["race at src/a.c:3"], "race at src/a.c:3"),
        ([{"text": "deadlock\nrank 0 waits"}], "rank 0 waits"),
        ([{"kind": "race", "seed": 3}], "kind: race; seed: 3"),
        (1, "race between rank 0 and rank 1"),
    ],
)
def test_faults_are_shown(command, fake_native, monkeypatch, found, words):
    monkeypatch.setenv("FAKE_VIOLATIONS", json.dumps(found))
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "2", "--check")
    assert result.status == 1
    assert words in result.out


def test_histogram(command, fake_native, arguments):
    out = command("simulate", "barrier", *KUNPENG, "--ranks", "2", "--histogram", "lines").out
    assert option(arguments()[0], "--lines") == "on"
    lines = [line.split() for line in out.splitlines()]
    assert ["algorithm", "map", "l3", "numa", "package", "machine"] in lines
    assert ["flat", "core", "9.0", "0.3", "0.2", "0.1", "█" * 30] in lines


def test_errors_of_the_simulator(command, fake_native):
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "2", "--set", "SOBOR_X=1")
    assert result.err == "sobor: --set: expected a variable of Sobor, found SOBOR_X\n"
    assert result.status == 2


def test_simulator_that_is_not_there(command, fake_native):
    fake_native.simulator.unlink()
    result = command("simulate", "barrier", *KUNPENG)
    assert result.status == 2
    assert "sobor-simulate is missing" in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected the collective to simulate, one of barrier, bcast, scatter"),
        (["ibcast", *KUNPENG], "found ibcast"),
        (["barrier"], "--machine is needed"),
        (["barrier", "--machine", "cray"], "--machine: no machine cray; known:"),
        (["barrier", *KUNPENG, "--ranks", "x"], "--ranks: expected numbers"),
        (["barrier", *KUNPENG, "--map", "core,ring"], "--map: expected core, node, numa, socket"),
        (["barrier", *KUNPENG, "--bytes", "8"], "--bytes: a barrier has none"),
        (["barrier", *KUNPENG, "--root", "1"], "--root: a barrier has none"),
        (["bcast", *KUNPENG, "--bytes", "x"], "--bytes: expected a size"),
        (["bcast", *KUNPENG, "--mode", "x"], "--mode: expected timed, random"),
        (["bcast", *KUNPENG, "--histogram", "x"], "--histogram: expected lines, found x"),
        (["bcast", *KUNPENG, "--arrival", "late"], "--arrival: expected one of none, uniform"),
        (["bcast", *KUNPENG, "--schedules", "5"], "--schedules goes with --check"),
        (["bcast", *KUNPENG, "--replay", "1", "--schedules", "5"], "--replay runs one schedule"),
        (["bcast", *KUNPENG, "--mode", "timed", "--relaxed"], "--relaxed explores"),
        (["bcast", *KUNPENG, "--timeline", "a.svg", "--map", "core,numa"], "found several"),
        (["bcast", *KUNPENG, "--timeline", "a.svg", "--algorithm", "all"], "found several"),
        (["bcast", *KUNPENG, "--timeline", "a.svg", "--check"], "--timeline draws what happens"),
        (["bcast", *KUNPENG, "--json", "/nowhere/a.json"], "--json: /nowhere/a.json: expected"),
        (["bcast", *KUNPENG, "--timeline", "/"], "--timeline: /: expected a file"),
        (["--list", "cray"], "--list: no machine cray"),
        (["barrier", "--machine", "cluster-16x8", "--nodes", "17"], "--nodes: expected at most 16"),
        (["barrier", "--machine", "cluster-16x8", "--nodes", "2", "--check"], "--mode timed"),
        (["--calibrate", "here"], "--calibrate: expected a file name that ends in .json"),
    ],
)
def test_bad_options(command, fake_native, arguments, words):
    result = command("simulate", *arguments)
    assert result.status == 2
    assert words in result.err


def test_list(command):
    out = command("simulate", "--list").out
    assert "kunpeng920-2s" in out
    assert "cluster-128x8" in out
    machines = command("simulate", "--list", "--json", "-").json
    assert {machine["name"]: machine["nodes"] for machine in machines}["cluster-16x8"] == 16


def test_list_one(command):
    out = command("simulate", "--list", "kunpeng920-2s").out
    assert "read_package = 82 ns" in out and "l3_bytes = 33554432 bytes" in out
    assert "core-to-core: Kunpeng 920-6426, between the two dies" in out
    full = command("simulate", "--list", "kunpeng920-2s", "--json", "-").json
    assert full["parameters"]["read_package"]["value"] == 82
    assert "read_machine" in full["assumed"]


def test_ranks_that_take_turns_are_marked(command, fake_native):
    words = ["simulate", "barrier", *KUNPENG, "--ranks", "2,4"]
    two, four = command(*words).out.split("4 ranks on")
    assert "take turns" not in two and "4 NUMA nodes: ranks take turns" in four
    rows = command(*words, "--json", "-").json
    assert [row["oversubscribed"] for row in rows] == [False, True]


def test_timeline(command, fake_native, arguments, tmp_path):
    path = tmp_path / "picture.svg"
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "4", "--timeline", str(path))
    assert result.status == 0, result.err
    assert option(arguments()[0], "--calls") == "3"
    root = ElementTree.parse(path).getroot()
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles.count("rank 3, copying: 1.000 to 1.700 µs") == 1
    texts = [text.text for text in root.iter(f"{SVG}text")]
    machine = "2 x Kunpeng 920-6426: 128 cores, 4 NUMA nodes"
    title = f"simulated barrier flat, 4 ranks by core on {machine}: ranks take turns"
    assert title in texts  # The stand-in for the topology has two cores.
    assert {"waiting", "copying", "notifying", "time, µs"} <= set(texts)


def test_timeline_of_a_run_that_a_fault_ended(command, fake_native, monkeypatch, tmp_path):
    """There are no records of it: the fault is shown, not that they are missing."""
    fault = {"collective": "barrier", "algorithm": "flat", "ranks": 2, "map": "core"}

    def ended(_native, words, _timeline):
        assert words[words.index("--mode") + 1] == "timed"
        return [{**fault, "violations": ["rank 0 waits for ever"]}]

    monkeypatch.setattr(run, "run_engine", ended)
    words = ["--check", "--mode", "timed", "--timeline", str(tmp_path / "picture.svg")]
    result = command("simulate", "barrier", *KUNPENG, "--ranks", "2", *words)
    assert result.status == 1 and "rank 0 waits for ever" in result.out
    assert "written" not in result.err and not list(tmp_path.glob("*.svg"))


def boxes(svg, name):
    root = ElementTree.fromstring(svg)
    found = []
    for box in root.iter(f"{SVG}rect"):
        title = box.find(f"{SVG}title")
        if title is not None and name in title.text:
            found.append({key: float(box.get(key)) for key in ("x", "y", "width", "height")})
    return root, found


@pytest.mark.parametrize("ranks", [2, 16, 128])
def test_picture_is_readable(ranks):
    records = [
        record
        for rank in range(ranks)
        for record in (
            Record(rank, "wait", 0, 5 + 0.01 * rank),
            Record(rank, "copy", 5 + 0.01 * rank, 9),
            Record(rank, "notify", 9, 9.001),
        )
    ]
    root, copies = boxes(draw(records, ranks, [rank // 8 for rank in range(ranks)], "t"), "copying")
    width, height = float(root.get("width")), float(root.get("height"))
    assert len(copies) == ranks
    assert height <= 1200
    assert min(box["height"] for box in copies) >= 5
    for box in copies:
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
        assert box["y"] >= 0 and box["y"] + box["height"] <= height
    assert all(a["y"] + a["height"] <= b["y"] + 0.011 for a, b in itertools.pairwise(copies))
    _, notes = boxes(draw(records, ranks, [], "t"), "notifying")
    assert len(notes) == ranks
    assert min(box["width"] for box in notes) >= 0.5
    # No two labels of ranks touch each other.
    ranked = sorted(
        float(t.get("y"))
        for t in root.iter(f"{SVG}text")
        if t.get("text-anchor") == "end" and t.text.isdecimal()
    )
    assert len(ranked) > 1
    assert all(b - a >= 11 for a, b in itertools.pairwise(ranked))


def test_near_records_are_joined():
    records = [Record(0, "copy", 10 * i, 10 * i + 9) for i in range(1000)]
    assert joined(records, 2) == [Record(0, "copy", 0, 9999)]
    assert len(joined(records, 0.5)) == 1000
    mixed = [Record(0, "copy", 0, 5), Record(0, "wait", 5, 6), Record(0, "copy", 6, 9)]
    assert joined(mixed, 2) == mixed


@pytest.mark.parametrize(
    ("least", "step"), [(0.9, 1), (1, 1), (1.1, 2), (2.2, 5), (7, 10), (0.013, 0.02), (130, 200)]
)
def test_round_steps(least, step):
    assert round_step(least) == pytest.approx(step)
