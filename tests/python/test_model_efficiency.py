# SPDX-License-Identifier: BSD-3-Clause
"""sobor model efficiency: the formulas, calls by hand and of a trace, and bad input."""

from xml.etree import ElementTree

import pytest

from sobor.model.efficiency import Call, Program, rows

WORDS = "--calls bcast:4Kx1000 --machine cluster-16x8 --per-node 8".split()


class Fixed:
    """A call takes 1 ms with Sobor, 2 ms with the host, for each doubling of ranks."""

    @staticmethod
    def of(_collective, _size, ranks, nodes):
        time = 1e-3 * (ranks.bit_length() - 1)
        return time, 2 * time if nodes > 1 else None


def test_formulas():
    program = Program(8.0, [Call("bcast", 8, 500), Call("barrier", 0, 500)], per_node=2)
    one, two, four = rows(program, [1, 2, 4], Fixed)
    assert (one["time_s"], one["speedup"], one["efficiency"]) == (8.0, 1.0, 1.0)
    assert (two["nodes"], two["t_comp_s"], two["t_comm_s"]) == (1, 4.0, 1.0)
    assert two["host_time_s"] is None and two["host_efficiency"] is None
    assert (four["time_s"], four["host_time_s"]) == (4.0, 6.0)
    assert (four["speedup"], four["efficiency"]) == (2.0, 0.5)
    assert four["host_efficiency"] == pytest.approx(8 / 6 / 4)


def test_by_hand(command, real_native):
    words = [*WORDS, "--operations", "2e9", "--flops", "1e9", "--ranks", "1,8,64,128"]
    result = command("model", "efficiency", *words, "--json", "-")
    assert result.status == 0, result.err
    alone, node, several, most = result.json
    assert alone["time_s"] == 2.0 and alone["t_comm_s"] == 0
    assert node["nodes"] == 1 and several["nodes"] == 8 and most["nodes"] == 16
    assert 0 < node["t_comm_s"] < several["t_comm_s"] <= most["t_comm_s"]
    assert several["host_t_comm_s"] > 0
    assert most["speedup"] == pytest.approx(2 / (2 / 128 + most["t_comm_s"]))
    shown = command("model", "efficiency", *words)
    assert "1000 bcast of 4096 bytes" in shown.out and "T_1 2.00 s" in shown.out


def test_plot(command, real_native, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "forecast.svg"
    words = [*WORDS, "--t1", "1s", "--ranks", "8,16", "--plot", str(file)]
    result = command("model", "efficiency", *words)
    assert result.status == 0, result.err
    text = " ".join(ElementTree.parse(file).getroot().itertext())
    assert "Forecast of speedup" in text and "with Sobor" in text


def test_many_calls_by_hand(command, real_native):
    """Longer than any name of a file."""
    words = ["--calls", ",".join(["bcast:4Kx1000"] * 30), "--t1", "1s", "--json", "-"]
    result = command("model", "efficiency", *words)
    assert result.status == 0, result.err


@pytest.mark.parametrize("setting", ["SOBOR_BCAST_ALGORITHM=host", "SOBOR_COLLECTIVES=none"])
def test_of_the_host_inside_a_node_nothing_is_known(command, real_native, monkeypatch, setting):
    monkeypatch.setenv(*setting.split("="))
    words = [
        "--calls",
        "bcast:4Kx1000",
        "--t1",
        "1s",
        "--ranks",
        "1,4",
        "--per-node",
        "4",
        "--json",
    ]
    result = command("model", "efficiency", *words, "--json")
    assert result.status == 0, result.err
    assert [row["t_comm_s"] for row in result.json] == [0, None]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--calls bcast:8x1", "the time of one rank is needed"),
        ("--calls nothing:8x1 --t1 1s", "--calls: expected a folder that sobor trace wrote"),
        ("--calls bcast --t1 1s", 'such as bcast:4Kx1024,barrier:0x10, found "bcast"'),
        ("--calls bcast:8x1 --t1 x", '--t1: expected a time such as 4us, found "x"'),
        ("--calls bcast:8x1 --t1 1s --ranks 0", "--ranks: expected numbers such as 2,4"),
        ("--calls bcast:8x1 --t1 1s --machine grace-2s", "expected one with a network"),
    ],
)
def test_errors(command, real_native, words, message):
    result = command("model", "efficiency", *words.split())
    assert result.status == 2
    assert message in " ".join(result.err.split())
