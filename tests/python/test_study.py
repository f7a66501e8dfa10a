# SPDX-License-Identifier: BSD-3-Clause
"""sobor bench bcast --study."""

import csv
import itertools
import json
from xml.etree import ElementTree

import pytest

from sobor.bench.experiments import KIB, STUDIES

pytest.importorskip("matplotlib")

KUNPENG = ("--machine", "kunpeng920-2s")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    """What the fakes were called with."""
    path = tmp_path / "arguments"
    monkeypatch.setenv("FAKE_ARGUMENTS", str(path))
    return lambda: [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def openmpi(make_launcher, launcher_folder):
    """An Open MPI on the PATH."""
    library = launcher_folder.parent / "lib" / "libmpi.so.40"
    library.parent.mkdir(exist_ok=True)
    library.touch()
    return make_launcher("mpirun", "openmpi4")


def option(words, name):
    return words[words.index(name) + 1]


def settings(words):
    return dict(w.split("=") for before, w in itertools.pairwise(words) if before == "--set")


@pytest.mark.parametrize("name", STUDIES)
def test_simulated(command, fake_native, arguments, tmp_path, name):
    words = ["bench", "bcast", "--study", name, *KUNPENG, "--ranks", "8", "--sizes", "4K,64K"]
    result = command(*words, "--out", str(tmp_path / "new" / name))
    assert result.status == 0, result.err
    assert STUDIES[name].title in result.out
    called = arguments()
    assert len(called) == len(STUDIES[name].configurations)
    assert {option(each, "--algorithm") for each in called} == {"numa-pipelined"}
    assert {option(each, "--bytes") for each in called} == {"4096,65536"}
    with (tmp_path / "new" / name / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(called)
    assert {row["machine"] for row in rows} == {"kunpeng920-2s"}
    assert all(float(row["time_us"]) > 0 for row in rows)
    picture = ElementTree.parse(tmp_path / "new" / name / f"{name}.svg").getroot()
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert {row["curve"] for row in rows} <= set(texts)
    assert "time, µs" in texts


def test_what_the_configurations_differ_in(command, fake_native, arguments, tmp_path):
    for name in STUDIES:
        words = ["bench", "bcast", "--study", name, *KUNPENG, "--sizes", "64K"]
        command(*words, "--out", str(tmp_path))
    called = arguments()
    slots = [settings(words).get("SOBOR_BCAST_SLOTS") for words in called]
    assert slots[:8] == ["1", "2", "4", "8", "16", "32", "64", "128"]
    rings = {
        int(found["SOBOR_FRAGMENT"]) * int(found["SOBOR_BCAST_SLOTS"]) // KIB
        for found in map(settings, called[8:18])
    }
    assert max(rings) == 4096 and min(rings) > 4000
    trees = [settings(words)["SOBOR_BCAST_TREE"] for words in called[18:24]]
    assert trees == ["flat", "chain", "kary", "kary", "knomial", "knomial"]
    assert [option(words, "--placement") for words in called[24:26]] == ["on", "off"]
    assert [option(words, "--root") for words in called[26:]] == ["0", "rotate"]


def test_json(command, fake_native, tmp_path):
    words = ["bench", "bcast", "--study", "root-shift", *KUNPENG, "--ranks", "4"]
    answer = command(*words, "--sizes", "1K", "--out", str(tmp_path), "--json", "-").json
    assert (answer["study"], answer["machine"], answer["ranks"]) == (
        "root-shift",
        "kunpeng920-2s",
        4,
    )
    assert [(p["curve"], p["root"], p["bytes"]) for p in answer["points"]] == [
        ("root 0", "0", 1024),
        ("rotating root", "rotate", 1024),
    ]
    file = tmp_path / "study.json"
    command(*words, "--sizes", "1K", "--out", str(tmp_path), "--json", str(file))
    assert json.loads(file.read_text()) == answer


def test_on_this_machine(command, fake_native, openmpi, tmp_path):
    words = ["bench", "bcast", "--study", "placement", "--ranks", "2", "--sizes", "1K,4K"]
    result = command(*words, "--out", str(tmp_path), "--json", "-")
    assert result.status == 0, result.err
    assert result.json["machine"] == "this machine"
    assert [point["time_us"] for point in result.json["points"]] == [2.0] * 4


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bcast", "--study", "colour"], "--study: expected slots, fragment, tree, placement, ro"),
        (["barrier", "--study", "slots"], "--study is of the broadcast"),
        (["bcast", "--study", "slots", "--machine", "cray"], "no machine cray"),
        (["bcast", "--study", "slots", *KUNPENG, "--ranks", "2,4"], "--ranks: a study needs one"),
        (["bcast", "--study", "slots", *KUNPENG, "--ranks", "1"], "--ranks: a study needs one"),
        (["bcast", "--study", "slots", *KUNPENG, "--out", "/dev/null/a"], "--out: /dev/null/a"),
        (["bcast", "--machine", "kunpeng920-2s"], "--machine goes with --study"),
        (["bcast", "--out", "a"], "--out goes with --study"),
    ],
)
def test_wrong_use(command, fake_native, words, expected):
    result = command("bench", *words)
    assert result.status == 2
    assert expected in result.err


def test_slots_in_the_simulator(command, real_native, tmp_path):
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    words = ["bench", "bcast", "--study", "slots", "--machine", "xeon-e5620-2s", "--sizes", "64K"]
    answer = command(*words, "--out", str(tmp_path), "--json", "-").json
    times = {point["x"]: point["time_us"] for point in answer["points"]}
    assert answer["ranks"] == 8
    assert times[4] < 0.8 * times[1]
    assert len(times) == 8
