# SPDX-License-Identifier: BSD-3-Clause
"""sobor model allgather: the published platform, the study, the advice, and bad input."""

import json
from xml.etree import ElementTree

import pytest

#: p: stages, exchanges, sum over stages of the largest block.
TABLE = {
    **{3: (3, 3, 4), 4: (2, 4, 3), 5: (5, 8, 9), 6: (4, 9, 9), 7: (4, 12, 10), 8: (3, 12, 7)},
    **{10: (6, 21, 19), 12: (5, 24, 19), 16: (4, 32, 15), 20: (7, 52, 39), 31: (6, 90, 46)},
    **{32: (5, 80, 31), 100: (10, 428, 167), 128: (7, 448, 127)},
}
PAPER = "--latency 65.8us --element-time 0.437us --element 4".split()
GIGABIT = "--latency 53.8us --element-time 43.7ns".split()


@pytest.fixture
def model(command, real_native):
    """Runs sobor model allgather and returns its JSON."""

    def run(*words):
        result = command("model", "allgather", *words, "--json", "-")
        assert result.status == 0, result.err
        return result.json

    return run


def times(answers):
    """Microseconds by method, switch and elements."""
    return {(row["method"], row["switch"], row["elements"]): row["time_us"] for row in answers}


def test_published_times(model):
    words = "--ranks 16 --elements 1,1000 --switch star,crossbar".split()
    found = times(model(*PAPER, *words))
    assert len(found) == 20
    for method, switch, expected in (
        ("each-with-each", "star", 14903),
        ("each-with-each", "crossbar", 14903),
        ("bagds", "star", 4316),
        ("bagds", "crossbar", 269.8),
        ("ring", "crossbar", 993.6),
    ):
        assert found[method, switch, 1] == pytest.approx(expected, rel=1e-3)


def test_shape_of_bagds(model):
    answers = model(
        "--ranks",
        ",".join(map(str, TABLE)),
        "--latency",
        "0us",
        "--element-time=1us",
        "--elements",
        "1",
        "--switch",
        "crossbar",
    )
    rows = {row["ranks"]: row for row in answers if row["method"] == "bagds"}
    for ranks, (stages, exchanges, blocks) in TABLE.items():
        assert (rows[ranks]["stages"], rows[ranks]["exchanges"]) == (stages, exchanges)
        assert rows[ranks]["time_us"] == pytest.approx(blocks)


@pytest.mark.parametrize(("ranks", "limit"), [(16, 1616), (8, 538)])
def test_published_crossing(model, ranks, limit):
    """By the formulas; the paper reads about a thousand from its picture, a hundred in its text."""
    (row,) = (
        row
        for row in model(*PAPER, "--ranks", str(ranks), "--study")
        if row["ranks"] == ranks and row["latency_us"] == pytest.approx(65.8)
    )
    assert row["crossing_elements"] == pytest.approx(limit, rel=0.01)
    below, above = int(limit * 0.98), int(limit * 1.02)
    words = f"--ranks {ranks} --elements {below},{above} --switch star".split()
    found = times(model(*PAPER, *words))
    assert found["bagds", "star", below] < found["each-with-each", "star", below]
    assert found["bagds", "star", above] > found["each-with-each", "star", above]


def test_zone_moves(model):
    """It grows with latency and with ranks, and is larger on Gigabit Ethernet."""
    rows = model(*PAPER, "--study")
    limit = {(row["ranks"], round(row["latency_us"], 2)): row["crossing_elements"] for row in rows}
    assert limit[16, 65.8] < limit[16, 131.6] and limit[8, 65.8] < limit[16, 65.8]
    other = {
        row["ranks"]: row["crossing_elements"]
        for row in model(*GIGABIT, "--study")
        if row["latency_us"] == pytest.approx(53.8)
    }
    assert other[16] > 5 * limit[16, 65.8]


@pytest.mark.parametrize("network", [PAPER, GIGABIT])
def test_advice(command, real_native, network):
    result = command("model", "allgather", *network, "--ranks", "16", "--elements", "1")
    text = " ".join(result.out.split())
    limit = "1616" if network is PAPER else "13214"
    assert f"Below {limit} elements a rank take it, above exchange each with each" in text
    assert "crossbar: BAGDS beats each-with-each 5" in text
    readings = "about a thousand elements from its picture, and about a hundred in its text"
    assert (readings in text) == (network is PAPER)
    odd = " ".join(command("model", "allgather", *network, "--ranks", "12").out.split())
    assert "BAGDS needs 5 stages where Bruck's needs 4" in odd and "Take Bruck's" in odd


def test_of_a_measured_platform(model, command, tmp_path):
    file = tmp_path / "mine.json"
    names = {"ts_us": 20, "tw_us": 0.5, "switch": "star"}
    file.write_text(json.dumps({name: {"value": value} for name, value in names.items()}))
    words = "--ranks 8 --elements 1".split()
    answers = model(*words, "--platform", str(file))
    assert {row["switch"] for row in answers} == {"star"}
    assert answers == model(*words, "--latency=20us", "--element-time=0.5us", "--switch", "star")
    double = model(*words, "--platform", str(file), "--element", "8")
    assert double == model(*words, "--latency=20us", "--element-time=1us", "--switch", "star")


def test_plot(command, real_native, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "zones.svg"
    result = command("model", "allgather", *PAPER, "--elements", "1", "--plot", str(file))
    assert result.status == 0, result.err
    text = " ".join(ElementTree.parse(file).getroot().itertext())
    for words in ("Allgather of 16 ranks, star", "crossbar", "BAGDS is ahead below", "bagds"):
        assert words in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--ranks 1", "--ranks: expected numbers from 2 to 1024, found 1"),
        ("--switch hub", '--switch: expected star or crossbar, found "hub"'),
        ("--latency 4", '--latency: expected a time such as 4us, found "4"'),
        ("--element-time 0us", "--element-time: expected a time such as 4us"),
        ("--elements x", '--elements: expected numbers such as 2,4, found "x"'),
        ("--platform /none", "--platform: /none: No such file or directory remedy: sobor platform"),
        ("--platform FILE", "/x.json: tw_us: expected an object, found 3 remedy: sobor platform"),
    ],
)
def test_errors(command, real_native, tmp_path, words, message):
    file = tmp_path / "x.json"
    file.write_text('{"ts_us": {"value": 1}, "tw_us": 3}')
    result = command("model", "allgather", *words.replace("FILE", str(file)).split())
    assert result.status == 2
    assert message in " ".join(result.err.split())
