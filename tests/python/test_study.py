# SPDX-License-Identifier: BSD-3-Clause
"""sobor bench --study."""

import csv
import itertools
import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from conftest import option
from sobor.bench.experiments import KIB, studies_of
from sobor.bench.place import make_folder
from sobor.bench.request import COUNTS
from sobor.errors import SoborError
from sobor.study.vectors import FIGURES

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.usefixtures("figures_drawn_once")

KUNPENG = ("--machine", "kunpeng920-2s")
SVG = "{http://www.w3.org/2000/svg}"


def settings(words):
    return dict(w.split("=") for before, w in itertools.pairwise(words) if before == "--set")


ALL = [(c, n) for c in ("bcast", "scatterv", "allreduce") for n in studies_of(c)]


@pytest.mark.parametrize(("collective", "name"), ALL)
def test_simulated(command, fake_native, arguments, tmp_path, collective, name):
    study = studies_of(collective)[name]
    words = ["bench", collective, "--study", name, *KUNPENG, "--ranks", "8", "--sizes", "4K,64K"]
    result = command(*words, "--out", str(tmp_path / "new" / name))
    assert result.status == 0, result.err
    assert study.title in result.out
    called = arguments()
    assert len(called) > 1
    assert {each[0] for each in called} == {collective}
    assert {option(each, "--bytes") for each in called} == {"4096,65536"}
    with (tmp_path / "new" / name / f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(called)
    assert {row["machine"] for row in rows} == {"kunpeng920-2s"}
    assert {row["collective"] for row in rows} == {collective}
    assert {row["algorithm"] for row in rows} == {option(each, "--algorithm") for each in called}
    assert all(float(row["time_us"]) > 0 for row in rows)
    picture = ElementTree.parse(tmp_path / "new" / name / f"{name}.svg").getroot()
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert {row["curve"] for row in rows if row["x"]} <= set(texts)
    assert {f"{row['label']}, {row['curve']}" for row in rows if not row["x"]} <= set(texts)
    assert "time, µs" in texts
    assert any("simulated kunpeng920-2s" in (text or "") for text in texts)


def test_what_the_configurations_differ_in(command, fake_native, arguments, tmp_path):
    for name in ("slots", "fragment", "tree", "placement", "root-shift"):
        words = ["bench", "bcast", "--study", name, *KUNPENG, "--sizes", "64K"]
        command(*words, "--out", str(tmp_path))
    called = arguments()
    assert {option(each, "--algorithm") for each in called} == {"numa-pipelined"}
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


def test_queues_and_what_they_are_compared_with(command, fake_native, arguments, tmp_path):
    for name in ("slots", "fragment", "sets"):
        words = ["bench", "scatterv", "--study", name, *KUNPENG, "--sizes", "64K"]
        command(*words, "--counts", "half-zero", "--out", str(tmp_path))
    called = arguments()
    names = [option(words, "--algorithm") for words in called]
    assert names == [*["queued"] * 6, "direct", "p2p"] * 2 + [*["queued"] * 4, "direct", "p2p"]
    assert {option(words, "--counts") for words in called} == {"half"}
    queued = [settings(words) for words in called if "queued" in words]
    slots, fragments, sets = (
        [int(each[f"SOBOR_QUEUE_{name}"]) for each in queued]
        for name in ("SLOTS", "FRAGMENT", "SETS")
    )
    assert slots[:6] == [2, 4, 8, 16, 32, 64] and set(fragments[:6]) == {8 * KIB}
    assert {s * f for s, f in zip(slots[6:12], fragments[6:12], strict=True)} == {64 * KIB}
    assert sets[12:] == [1, 2, 4, 8]


def test_patterns_of_counts(command, fake_native, arguments, openmpi, tmp_path):
    words = ["bench", "gatherv", "--study", "counts", "--ranks", "2", "--sizes", "1K"]
    answer = command(*words, "--out", str(tmp_path), "--json", "-").json
    points = [(p["x"], p["label"], p["algorithm"]) for p in answer["points"]]
    kinds = ("direct", "queued", "p2p")
    assert points == [(x, name, kind) for x, name in enumerate(COUNTS) for kind in kinds]
    assert {p["curve"] for p in answer["points"]} == {f"{kind}, 1K" for kind in kinds}
    table = command(*words, "--out", str(tmp_path)).out
    assert all(name in table for name in COUNTS)


@pytest.mark.parametrize("name", ["half", "half-zero"])
def test_a_pattern_of_counts_has_one_meaning(
    command, fake_native, arguments, openmpi, tmp_path, name
):
    """In the simulator and under a launcher, whose programs have a name each."""
    parts = ["--counts", name, "--json", "-"]
    for words in (
        ["bench", "gatherv", "--ranks", "2", "--sizes", "8"],
        ["bench", "gatherv", *KUNPENG, "--ranks", "2", "--study", "sets", "--out", str(tmp_path)],
        ["simulate", "gatherv", *KUNPENG, "--ranks", "2", "--bytes", "8"],
    ):
        result = command(*words, *parts)
        assert result.status == 0, result.err
    assert {option(words, "--counts") for words in arguments()} == {"half-zero", "half"}
    assert option(arguments()[0], "--counts") == "half-zero"
    assert option(arguments()[-1], "--counts") == "half"
    (counts,) = (setting for setting in FIGURES[0].settings if setting.name == "counts")
    assert counts.parse(name, "counts") == "half-zero"
    wrong = command("simulate", "gatherv", *KUNPENG, "--counts", "halves")
    assert wrong.status == 2 and "found halves" in wrong.err


def test_here_with_sobor_off(command, fake_native, openmpi, tmp_path, monkeypatch):
    monkeypatch.setenv("SOBOR", "off")
    words = ["bench", "gatherv", "--study", "counts", "--ranks", "2", "--sizes", "1K"]
    refused = command(*words, "--out", str(tmp_path))
    assert refused.status == 2 and "SOBOR is set to off" in refused.err


def test_strict_order(command, fake_native, arguments, tmp_path):
    words = ["bench", "allreduce", "--study", "order", *KUNPENG, "--sizes", "64"]
    command(*words, "--out", str(tmp_path))
    found = [(option(each, "--algorithm"), settings(each)) for each in arguments()]
    assert found == [
        ("auto", {"SOBOR_REPRODUCIBLE": "auto"}),
        ("auto", {"SOBOR_REPRODUCIBLE": "strict"}),
    ]


def test_window(command, fake_native, arguments, tmp_path):
    words = ["bench", "reduce", "--study", "window", *KUNPENG, "--sizes", "64K"]
    out = command(*words, "--out", str(tmp_path)).out
    found = [settings(each).get("SOBOR_FRAGMENT") for each in arguments()]
    assert found == [str(4 * KIB << shift) for shift in range(7)] + [None]
    assert "chosen by itself" in out


def test_json(command, fake_native, tmp_path):
    words = ["bench", "bcast", "--study", "root-shift", *KUNPENG, "--ranks", "4"]
    answer = command(*words, "--sizes", "1K", "--out", str(tmp_path), "--json", "-").json
    head = [answer[name] for name in ("study", "collective", "machine", "ranks")]
    assert head == ["root-shift", "bcast", "kunpeng920-2s", 4]
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


def test_uneven_arrival_simulated(command, fake_native, arguments, tmp_path):
    words = ["bench", "bcast", "--study", "arrival", "--machine", "cluster-16x8", "--nodes", "4"]
    words += ["--ranks", "16", "--sizes", "64,4K", "--widths", "0us,0.5ms", "--out", str(tmp_path)]
    answer = command(*words, "--json", "-").json
    assert [option(each, "--arrival") for each in arguments()] == ["uniform:0us", "uniform:500us"]
    assert {option(each, "--nodes") for each in arguments()} == {"4"}
    assert {option(each, "--algorithm") for each in arguments()} == {"all"}
    found = [(p["curve"], p["width_us"], p["bytes"]) for p in answer["points"]]
    assert found[:3] == [("flat", 0, 64), ("tree", 0, 64), ("flat", 0, 4096)]
    assert len(found) == 8 and found[4:] == [(c, 500, size) for c, _, size in found[:4]]
    assert all(point["mean_us"] * 1.5 == point["max_us"] for point in answer["points"])
    with (tmp_path / "arrival.csv").open() as file:
        assert [float(row["max_us"]) for row in csv.DictReader(file)] == [
            point["max_us"] for point in answer["points"]
        ]
    picture = " ".join(ElementTree.parse(tmp_path / "arrival.svg").getroot().itertext())
    assert "width 0 µs" in picture and "width 500 µs" in picture
    assert command(words[0], "Bcast", *words[2:]).status == 0
    assert arguments()[-1][0] == "bcast"
    command(*words, "--sizes", "4K", "--algorithms", "bcast:tree")
    assert option(arguments()[-1], "--algorithm") == "tree"
    picture = " ".join(ElementTree.parse(tmp_path / "arrival.svg").getroot().itertext())
    assert "4K bytes" in picture and "width, µs" in picture


def test_uneven_arrival_here(command, fake_native, arguments, openmpi, tmp_path):
    words = ["bench", "barrier", "--study", "arrival", "--ranks", "2", "--widths", "0us,1ms"]
    result = command(*words, "--out", str(tmp_path), "--json", "-")
    assert result.status == 0, result.err
    assert [(p["curve"], p["width_us"]) for p in result.json["points"]] == [
        (curve, width) for width in (0, 1000) for curve in ("host", "auto")
    ]
    even, late = arguments()
    assert "--arrival" not in even and option(late, "--arrival") == "0.001"
    assert {option(each, "--method") for each in (even, late)} == {"single"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bcast,barrier", "--study", "arrival"], "--study is of one collective: found bcast,bar"),
        (["bcast", "--study", "arrival", "--widths", "5"], "--widths: expected a time such as 4us"),
        (
            ["bcast", "--study", "arrival", *KUNPENG, "--algorithms", "barrier:tree"],
            "--algorithms: expected COLLECTIVE:NAME with a collective that is measured (bcast)",
        ),
        (["bcast", "--widths", "5us"], "--widths goes with --study"),
        (["bcast", "--study", "colour"], "--study: bcast has slots, fragment, tree, placement, ro"),
        (["barrier", "--study", "slots"], "--study is of one collective out of bcast, scatterv"),
        (["scatterv", "--study", "tree"], "--study: scatterv has algorithms, slots"),
        (["scatterv,gatherv", "--study", "slots", *KUNPENG], "--study is of one collective"),
        (["scatterv", "--study", "slots", *KUNPENG, "--counts", "odd"], "--counts: expected one"),
        (["bcast", "--study", "slots", "--machine", "cray"], "no machine cray"),
        (["bcast", "--study", "slots", *KUNPENG, "--ranks", "2,4"], "--ranks: a study needs one"),
        (["bcast", "--study", "slots", *KUNPENG, "--ranks", "1"], "--ranks: a study needs one"),
        (["bcast", "--study", "slots", *KUNPENG, "--out", "/dev/null/a"], "--out: /dev/null/a"),
        (["bcast", "--machine", "kunpeng920-2s"], "--machine goes with --study"),
        (["bcast", "--out", "a"], "--out goes with --study"),
        (["bcast", "--study", "slots", "--host-only"], "--host-only does not go with --study"),
        (["bcast", "--study", "slots", "--rounds", "3"], "--rounds does not go with --study"),
        (["bcast", "--study", "slots", "--peers", "mpirun"], "--peers does not go with --study"),
        (["bcast", "--study", "slots", "--variants", "hot"], "--variants does not go with --study"),
        (["bcast", "--study", "slots", "--buffers", "aligned"], "--buffers does not go with"),
        (["bcast", "--study", "slots", "--nodes", "2"], "--nodes goes with --study arrival"),
        (
            ["bcast", "--study", "slots", "--algorithms", "ring"],
            "--algorithms goes with",
        ),
        (["bcast", "--study", "arrival", "--nodes", "2"], "--nodes goes with --machine"),
        (["scatterv", "--study", "arrival", "--counts", "heavy"], "--counts does not go with"),
    ],
)
def test_wrong_use(command, fake_native, words, expected):
    result = command("bench", *words)
    assert result.status == 2
    assert expected in result.err


@pytest.mark.parametrize("name", studies_of("gatherv"))
def test_queues_in_the_simulator(command, real_native, tmp_path, name):
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    words = ["bench", "gatherv", "--study", name, "--machine", "xeon-e5620-2s", "--sizes", "16K"]
    answer = command(*words, "--out", str(tmp_path), "--json", "-").json
    times: dict[str, list[float]] = {}
    for point in answer["points"]:
        times.setdefault(point["algorithm"], []).append(point["time_us"])
    assert set(times) == {"direct", "queued", "p2p-linear"}
    assert max(times["direct"]) < min(times["queued"])


@pytest.mark.parametrize("name", studies_of("reduce"))
def test_reductions_in_the_simulator(command, real_native, tmp_path, name):
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    words = ["bench", "reduce", "--study", name, "--machine", "xeon-e5620-2s", "--sizes", "64,64K"]
    answer = command(*words, "--out", str(tmp_path), "--json", "-").json
    assert {point["bytes"] for point in answer["points"]} == {64, 64 * KIB}


def test_slots_in_the_simulator(command, real_native, tmp_path):
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    words = ["bench", "bcast", "--study", "slots", "--machine", "xeon-e5620-2s", "--sizes", "64K"]
    answer = command(*words, "--out", str(tmp_path), "--json", "-").json
    times = {point["x"]: point["time_us"] for point in answer["points"]}
    assert answer["ranks"] == 8
    assert times[4] < 0.8 * times[1]
    assert len(times) == 8


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "taken"
    file.touch()
    with pytest.raises(SoborError, match=f"--out: expected a folder, found {file}"):
        make_folder(SimpleNamespace(out=str(file), json_file=None), "--study")
