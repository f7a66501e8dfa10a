# SPDX-License-Identifier: BSD-3-Clause
"""The impact model of uneven arrival: published values, and a Monte Carlo check of the formulas."""

from xml.etree import ElementTree

import numpy as np
import pytest

from sobor.model.arrival import Job, arrival_density, impact, rows, steps

PUBLISHED = {
    ("bt", 128, 8): (0.167, 2.84, 22.9, 49.8),
    ("p-bt", 128, 8): (0.167, 2.84, 21.3, 45.2),
    ("cp-bt", 512, 2): (0.083, 1.52, 13.8, 30.6),
    ("cp-bt", 128, 8): (0.0111, 0.158, 1.90, 4.69),
}


@pytest.mark.parametrize(("method", "nodes", "per_node"), PUBLISHED)
def test_published_impact(method, nodes, per_node):
    found = [Job(nodes, per_node).gamma(method, degree) for degree in (1, 10, 50, 100)]
    assert found == pytest.approx(PUBLISHED[method, nodes, per_node], rel=0.01)


def arrivals(drawn, rivals, count):
    """Of the first of so many ranks, as shares of the width."""
    return drawn.uniform(size=(count, rivals)).min(axis=1)


@pytest.mark.parametrize("rivals", [1, 2, 8])
@pytest.mark.parametrize("gone", [0.0, 0.3, 0.6])
def test_waiting_for_one_child(rivals, gone):
    """The term of the formula, where it is known what went before."""
    drawn = np.random.default_rng(7)
    count = 400_000
    wait = np.clip(arrivals(drawn, rivals, count) - drawn.uniform(size=count) - gone, 0, None)
    expected = (1 - gone) ** (rivals + 2) / ((rivals + 1) * (rivals + 2))
    assert abs(wait.mean() - expected) < 4 * wait.std() / count**0.5


def simulated_impact(degree, ranks, rivals):
    """The root's waiting for its children, without a mean in the place of what it took before."""
    drawn = np.random.default_rng(11)
    count = 100_000
    now = degree * drawn.uniform(size=count)
    waited = np.zeros(count)
    for _ in range(steps(ranks)):
        wait = np.clip(degree * arrivals(drawn, rivals, count) - now, 0, None)
        waited += wait
        now = now + wait + 1
    return waited.mean()


@pytest.mark.parametrize("rivals", [1, 2, 8])
def test_whole_tree(rivals):
    """With one child to wait for nothing is put in the place of anything; later it is coarse."""
    assert impact(1, 128, rivals) == pytest.approx(simulated_impact(1, 2, rivals), rel=0.02)
    for degree, much in ((2, 0.02), (10, 0.15), (50, 0.4)):
        exact = simulated_impact(degree, 128, rivals)
        assert impact(degree, 128, rivals) == pytest.approx(exact, rel=much)


@pytest.mark.parametrize("rivals", [1, 2, 8])
def test_density_of_a_leaders_arrival(rivals):
    drawn = np.random.default_rng(13)
    found, edges = np.histogram(arrivals(drawn, rivals, 200_000), 20, (0, 1), density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    expected = [arrival_density(share, rivals) for share in middle]
    assert found == pytest.approx(expected, abs=0.15)


def test_rows():
    table = {row["method"]: row for row in rows(Job(128, 8), 500.0, 404.0)}
    assert list(table) == ["bt", "p-bt", "cp-bt"]
    for method, transfers in (("bt", 10), ("p-bt", 8), ("cp-bt", 8)):
        row = table[method]
        assert row["psi"] == pytest.approx(500 / 404)
        assert row["ew_us"] == pytest.approx(404 * row["gamma"])
        assert row["time_us"] == pytest.approx(row["ew_us"] + transfers * 404)
        assert (row["nodes"], row["ranks_per_node"]) == (128, 8)


def test_one_rank_has_nobody_to_wait_for():
    assert steps(1) == 0 and impact(5, 1) == 0
    assert Job(1, 1).time("bt", 10.0, 1.0) == 0


@pytest.mark.parametrize(
    ("width", "published"),
    [("1us", (0.167, 0.167, 0.0111)), ("100us", (49.8, 45.2, 4.69))],
)
def test_command(command, width, published):
    words = ["--width", width, "--transfer", "1us", "--nodes", "128", "--ranks", "1024"]
    result = command("model", "arrival", *words, "--json", "-")
    assert result.status == 0, result.err
    keys = ["method", "nodes", "ranks_per_node", "psi", "ew_us", "gamma", "time_us"]
    assert all(list(row) == keys for row in result.json)
    assert [row["method"] for row in result.json] == ["bt", "p-bt", "cp-bt"]
    assert [row["gamma"] for row in result.json] == pytest.approx(published, rel=0.01)
    assert all(row["ew_us"] == row["gamma"] for row in result.json)


def test_transfer_of_the_machine(command):
    """At the published reference point: alpha 4 us, beta 0.01 us a byte."""
    result = command("model", "arrival", "--width", "0us", "--bytes", "40000", "--json", "-")
    assert result.status == 0, result.err
    assert [row["time_us"] for row in result.json] == pytest.approx([4040, 3232, 3232])
    assert all(row["gamma"] == 0 for row in result.json)


def test_pictures(command, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "arrival.svg"
    result = command("model", "arrival", "--bytes", "40000", "--plot", str(file))
    assert result.status == 0, result.err
    assert "cp-bt" in result.out and "over the first of each node" in result.out
    text = " ".join(ElementTree.parse(file).getroot().itertext())
    for words in ("BT, p = 1024", "P-BT, 128 nodes", "CP-BT, 512 nodes, n = 2", "n = 8"):
        assert words in text
    for words in ("P-BT, balanced", "CP-BT, width 500 µs", "density × k"):
        assert words in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "the time of a transfer is needed"),
        ("--bytes 1K --width 5", '--width: expected a time such as 4us, found "5"'),
        ("--transfer 0us", '--transfer: expected a time such as 4us, found "0us"'),
        ("--transfer 1us --ranks 100", "--ranks: expected a multiple of --nodes, 128, found 100"),
        ("--bytes 1K --machine grace-2s", "--machine: grace-2s has no network: net_latency"),
        ("--bytes x", '--bytes: expected a size such as 8, 1K or 64KiB, found "x"'),
        ("--bytes 1K --plot a.png", "expected a file name that ends in .svg, found a.png"),
    ],
)
def test_errors(command, words, message):
    result = command("model", "arrival", *words.split())
    assert result.status == 2
    assert message in result.err


def test_a_folder_is_no_trace(command, real_native, tmp_path):
    words = ("--machine", "xeon-e5620-2s", "--ranks", "2", "--arrival", f"trace:{tmp_path}")
    result = command("simulate", "bcast", *words)
    assert result.status == 2 and f"trace:{tmp_path}: Is a directory" in result.err
