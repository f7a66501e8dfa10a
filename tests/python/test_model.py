# SPDX-License-Identifier: BSD-3-Clause
"""sobor model, with the real native parts: the published reference points, and bad input."""

import json
import math
import random
from xml.etree import ElementTree

import pytest

PUBLISHED = "--t 1ns --tw 50ns --two 100ns --ta 10ns".split()


@pytest.fixture
def model(command, real_native):
    """Runs sobor model bcast and returns its JSON."""
    if not real_native.model_tool.is_file():
        pytest.skip(f"no {real_native.model_tool}")

    def run(*arguments):
        result = command("model", "bcast", *arguments, "--json", "-")
        assert result.status == 0, result.err
        return result.json

    return run


def test_published_optimum(model):
    answer = model("--bytes", "16MiB", "--ring", "4MiB", "--sets", "1", *PUBLISHED)
    assert abs(answer["f_opt_bytes"] - 14482) <= 1
    assert abs(answer["s_opt"] - 290) <= 1
    assert answer["regime"] == "many-rings"
    fragment = math.sqrt(50 * 2**22)
    expected = 4 * (100 + 10 + fragment) + math.ceil(2**24 / fragment) * 50 + 2**24
    assert answer["t_s_buffers_us"] == pytest.approx(expected / 1000, rel=1e-9)


def test_published_segment(model):
    words = "--bytes 1MiB --ranks 8 --slots 8 --fragment 8KiB --sets 2 --page 4096".split()
    assert model(*words)["segment_bytes"] == 780 * 1024


def test_published_ring_sizes(model):
    rows = model("--table")["table"]
    assert [row["fragment_bytes"] for row in rows] == list(range(4096, 65537, 4096))
    for row in rows:
        rings = {ring["divisor"]: ring for ring in row["rings"]}
        assert list(rings) == [2, 4, 8, 16, 32, 64, 128, 256, 512]
        for divisor, ring in rings.items():
            assert ring["slots"] == row["fragment_bytes"] // divisor
            assert ring["ring_bytes"] == row["fragment_bytes"] ** 2 // divisor
    assert rows[0]["rings"][0]["ring_bytes"] == 8 << 20


def times(m, f, s, q, t, tw, two, ta):
    """The formulas of the paper, in nanoseconds."""
    b = f * s
    one = -(-m // f) * (two + ta + tw) + 2 * m * t
    sets = q * -(-m // b) * (two + ta) + f * t + -(-m // f) * tw + m * t
    if m <= f:
        return "one-fragment", one, two + ta + tw + 2 * m * t, sets
    if m <= b:
        return "one-ring", one, two + ta + f * t + -(-m // f) * tw + m * t, sets
    return "many-rings", one, -(-m // b) * (two + ta + f * t) + -(-m // f) * tw + m * t, sets


@pytest.mark.parametrize("regime", ["one-fragment", "one-ring", "many-rings"])
@pytest.mark.parametrize("seed", range(8))
def test_three_regimes(model, regime, seed):
    drawn = random.Random(f"{regime}-{seed}")
    f, s = drawn.randint(1, 65536), drawn.randint(2, 512)
    low, high = {
        "one-fragment": (1, f),
        "one-ring": (f + 1, f * s),
        "many-rings": (f * s + 1, f * s * 40),
    }[regime]
    m, q = drawn.choice([low, high, drawn.randint(low, high)]), drawn.randint(1, s)
    prices = [round(drawn.uniform(0.01, 300), 3) for _ in range(4)]
    words = ["--bytes", str(m), "--fragment", str(f), "--slots", str(s), "--sets", str(q)]
    for option, price in zip(("--t", "--tw", "--two", "--ta"), prices, strict=True):
        words += [option, f"{price}ns"]
    answer = model(*words)
    expected = times(m, f, s, q, *prices)
    assert answer["regime"] == expected[0] == regime
    found = (answer[key] * 1000 for key in ("t_one_buffer_us", "t_s_buffers_us", "t_sets_us"))
    assert list(found) == pytest.approx(expected[1:], rel=1e-9)


@pytest.mark.parametrize(
    ("words", "fragment", "slots"),
    [
        ("--choose message --bytes 1MiB --page 4096", 4096, 256),
        ("--choose message --bytes 20000000 --page 4096", 8192, 2442),
        ("--choose fragment --fragment 5000 --bytes 1MiB", 5000, 210),
        ("--choose slots --slots 6 --bytes 20000000 --page 4096", 8192, 6),
        ("--choose budget --ring 4MiB --page 4096", 4096, 1024),
        ("--choose budget --ring 4MiB --page 4096 --t 1ns --tw 50ns", 16384, 256),
    ],
)
def test_four_ways(model, words, fragment, slots):
    choice = model(*words.split())["choice"]
    assert (choice["fragment_bytes"], choice["slots"]) == (fragment, slots)
    assert choice["by"] == words.split()[1]


def test_default_budget_is_what_a_rank_may_own(model, monkeypatch):
    monkeypatch.setenv("SOBOR_MEMORY", "8MiB")
    assert model("--choose", "budget", "--page", "4096")["bytes"] == 8 << 20


def test_units_of_time(model):
    words = "--bytes 1MiB --fragment 8KiB --slots 8".split()
    one = model(*words, "--t", "0.5ns", "--tw", "1us")
    other = model(*words, "--t", "500ps", "--tw", "0.001ms")
    assert one == other and one["prices"]["tw_ns"] == 1000


def test_measured_prices(model):
    measured = model("--measure", "--ranks", "2")["measured"]
    assert measured["ranks"] == 2
    assert all(0 < price < 1e9 for price in measured["prices"].values())
    assert model("--measure", "--bytes", "1MiB")["prices"].keys() == measured["prices"].keys()


def steps(tree, ranks):
    """Steps until the last rank is told, with children found by the trees' definitions."""
    told = {0: 0}
    for rank in range(ranks):
        if tree in ("binomial", "4-nomial"):
            k = 2 if tree == "binomial" else 4
            span = 1
            while span < ranks if rank == 0 else rank % (span * k) == 0:
                span *= k
            powers = [k**i for i in range(20) if k**i < span][::-1]
            below = [rank + digit * power for power in powers for digit in range(1, k)]
        else:
            k = {"flat": ranks, "chain": 1, "binary": 2, "4-ary": 4}[tree]
            below = [rank * k + i + 1 for i in range(k)]
        for number, child in enumerate(child for child in below if child < ranks):
            told[child] = told[rank] + number + 1
    assert set(told) == set(range(ranks))
    return max(told.values())


@pytest.mark.parametrize("tree", ["flat", "chain", "binary", "4-ary", "binomial", "4-nomial"])
def test_trees(model, tree):
    """t_W is paid for each step down the tree; t_WO until the last rank has left."""
    for ranks in (2, 3, 8, 16, 21, 64):
        words = ["--bytes", "1M", "--ring", "4M", "--ranks", str(ranks), *PUBLISHED]
        answer = model(*words, "--tree", tree)
        length = steps(tree, ranks)
        assert answer["tree"] == {"name": tree, "steps": length}
        prices = answer["prices"]
        assert (prices["tw_ns"], prices["two_ns"]) == (50 * length, 100 + 50 * (length - 1))
    assert model("--bytes", "1M", "--ring", "4M")["tree"] is None


def test_trees_in_order(model):
    """O(p) for flat and chain, O(log p) for the others."""
    assert steps("flat", 64) == steps("chain", 64) == 63
    assert steps("binomial", 64) == 6
    assert steps("binary", 64) <= 2 * 6


def test_measured_trees(model):
    answer = model("--measure", "--ranks", "4", "--bytes", "1M", "--tree", "binomial")
    trees = {row["tree"]: row for row in answer["measured"]["trees"]}
    assert list(trees) == ["flat", "chain", "binary", "4-ary", "binomial", "4-nomial"]
    assert trees["chain"]["steps"] == 3 and trees["binomial"]["steps"] == 2
    assert all(0 < row["tw_ns"] <= row["two_ns"] for row in trees.values())
    assert answer["prices"]["tw_ns"] == trees["binomial"]["tw_ns"]
    assert answer["prices"]["two_ns"] == trees["binomial"]["two_ns"]


def test_plot(command, real_native, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "model.svg"
    words = [
        "model",
        "bcast",
        "--bytes",
        "16MiB",
        "--ring",
        "4MiB",
        "--plot",
        str(file),
        "--json",
        "-",
    ]
    result = command(*words)
    assert result.status == 0, result.err
    assert "curves" not in result.json
    text = " ".join(ElementTree.parse(file).getroot().itertext())
    for words in (
        "notifications",
        "openings and copies",
        "T(f) in a ring of 4 MiB",
        "T(f) with s = 290 buffers",
        "T(s)",
        "f* = 14482",
    ):
        assert words in text


def test_for_people_and_a_file(command, real_native, tmp_path):
    file = tmp_path / "model.json"
    result = command(
        "model", "bcast", "--bytes", "16MiB", "--ring", "4MiB", "--table", "--json", str(file)
    )
    assert result.status == 0, result.err
    assert "14482 bytes" in result.out and "16893.532 us" in result.out
    assert "s = f/512" in result.out
    assert "green: to 10 MB" in result.out
    assert json.loads(file.read_text())["f_opt_bytes"] == 14482


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gather", "No such command 'gather'"),
        ("bcast", "--bytes: expected a value, found nothing"),
        ("bcast --bytes 0", "--bytes: expected a size such as 4096 or 4KiB, at least 1 byte"),
        ("bcast --bytes x", 'found "x"'),
        ("bcast --bytes 1M --t 0", "--t: expected a time such as 50ns, more than 0"),
        ("bcast --bytes 1M --t nan", "--t: expected a time such as 50ns, more than 0"),
        ("bcast --bytes 1M --tw 5h", '--tw: expected a time such as 50ns, 0 or more, found "5h"'),
        ("bcast --bytes 1M --tree oak", "--tree: expected flat, chain, binary, 4-ary, binomial"),
        ("bcast --bytes 1M --tree flat --ranks 1", "--ranks: expected 2 to 65536 with --tree"),
        ("bcast --bytes 1M --sets 0", "--sets: expected a number from 1"),
        ("bcast --bytes 1M --slots 2 --sets 3", "--sets: expected at most as many as slots, 2"),
        ("bcast --bytes 1M --ring 4K --fragment 8K", "--fragment: expected at most the ring, 4096"),
        ("bcast --bytes 1M --ring 4K --fragment 1K --slots 3", "--ring: expected --fragment times"),
        ("bcast --choose best", "--choose: expected budget, message, fragment, slots, found best"),
        ("bcast --choose slots --bytes 1M", "--slots: expected a value, found nothing"),
        ("bcast --choose fragment --bytes 1M", "--fragment: expected a value, found nothing"),
        ("bcast --plot x.svg", "--plot needs the size of the message"),
        ("bcast --bytes 1M --plot x.png", "expected a file name that ends in .svg, found x.png"),
        (
            "bcast --bytes 1M --json /no/where",
            "--json: /no/where: expected a file that can be written",
        ),
    ],
)
def test_errors(command, real_native, words, message):
    result = command("model", *words.split())
    assert result.status == 2
    assert message in result.err
