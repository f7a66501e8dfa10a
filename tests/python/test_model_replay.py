# SPDX-License-Identifier: BSD-3-Clause
"""A program played again: what overlaps, what waits, and who is the root of what."""

import pytest

from sobor.model.replay import Course, Network, Ranks, Step, Way, play, roots, shared, tree

#: 10 us, and 100 MB/s; short messages wait for nobody.
WIRE = Network(latency=10e-6, overhead=0.0, byte=1e-8, eager=1 << 20)
SIZE = 4000
MESSAGE = 40e-6


def course(count, computing, root_of, ranks=2, collective="bcast"):
    """So many calls, each after as much computing of every rank."""
    steps = [Step(collective, SIZE, root_of(i), (computing,) * ranks) for i in range(count)]
    return Course(steps, (0.0,) * ranks)


def binomial(_collective, _size):
    return Way(2 * (10e-6 + MESSAGE), "binomial", 0)


def test_tree():
    assert tree("binomial", 4) == ((0, 2, 2), (0, 1, 1), (2, 3, 1))
    assert tree("binomial", 6) == ((0, 4, 2), (0, 2, 2), (0, 1, 1), (2, 3, 1), (4, 5, 1))
    assert tree("chain", 4) == ((0, 1, 3), (1, 2, 2), (2, 3, 1))
    assert tree("linear", 3) == ((0, 1, 1), (0, 2, 1))


@pytest.mark.parametrize("nodes", range(2, 40))
@pytest.mark.parametrize("schedule", ["binomial", "chain", "letters"])
def test_trees_are_whole(nodes, schedule):
    """Every node has one parent, which is there before it; and those below are counted."""
    edges = tree(schedule, nodes)
    assert sorted(child for _, child, _ in edges) == list(range(1, nodes))
    seen = {0}
    for parent, child, below in edges:
        assert parent in seen
        seen.add(child)
        assert below == 1 + sum(b for p, _, b in edges if p == child)


@pytest.mark.parametrize("collective", ["bcast", "reduce"])
def test_one_call_takes_what_it_is_priced(collective):
    one = course(1, 0.0, lambda _: 0, collective=collective)
    assert play(one, Ranks(4, 1), WIRE, binomial) == pytest.approx(2 * (10e-6 + MESSAGE))


def test_broadcasts_overlap_with_computing():
    """A root with more to compute than its link has to send does not wait for what it sends."""
    computing = 100e-6
    many = course(1000, 2 * computing, lambda i: i // 500)
    time = play(many, Ranks(4, 1), WIRE, binomial)
    assert 1000 * computing <= time < 1000 * computing * 1.02


def test_a_link_holds_up_its_root():
    """Two children of 40 us each a step: the link, not the 10 us of computing, counts."""
    many = course(1000, 20e-6, lambda i: i // 500)
    time = play(many, Ranks(4, 1), WIRE, binomial)
    assert time == pytest.approx(1000 * 2 * MESSAGE, rel=0.02)
    star = Network(WIRE.latency, WIRE.overhead, WIRE.byte, WIRE.eager, star=True)
    assert play(many, Ranks(4, 1), star, binomial) == pytest.approx(3000 * MESSAGE, rel=0.02)


def test_what_all_need_does_not_overlap():
    many = course(100, 2 * 100e-6, lambda _: -1, collective="allreduce")
    time = play(many, Ranks(4, 1), WIRE, lambda *_: Way(50e-6))
    assert time == pytest.approx(100 * 150e-6)


def test_the_late_rank_counts():
    """All wait for the traced rank that computes more, and nobody for the others."""
    steps = [Step("barrier", 0, -1, (1e-3, 3e-3))] * 10
    assert play(Course(steps, (0.0, 0.0)), Ranks(2, 1), WIRE, lambda *_: Way(0.0)) == (
        pytest.approx(30e-3)
    )


def test_long_messages_wait_for_their_receiver():
    """Within the eager limit a root goes on at once, else when the message is gone."""
    steps = [Step("bcast", SIZE, 0, (0.0, 5e-3)), Step("bcast", SIZE, 1, (0.0, 0.0))]
    whole = Course([*steps, Step("bcast", SIZE, 0, (5e-3, 0.0))], (0.0, 0.0))

    def one(*_):
        return Way(10e-6 + MESSAGE, "binomial", 0)

    late = Network(WIRE.latency, 0.0, WIRE.byte, eager=100)
    assert play(whole, Ranks(2, 1), late, one) > play(whole, Ranks(2, 1), WIRE, one)


def test_inside_of_nodes():
    """What a call takes beside its messages delays all ranks but the root."""
    one = course(1, 0.0, lambda _: 0)
    way = Way(10e-6 + MESSAGE + 7e-6, "binomial", 0)
    assert play(one, Ranks(4, 2), WIRE, lambda *_: way) == pytest.approx(way.seconds)


@pytest.mark.parametrize(
    ("given", "ranks", "expected"),
    [
        ([0, 0, 0, 0], 4, [0, 0, 0, 0]),
        ([0, 0, 0, 0, 1, 1, 1, 1], 4, [0, 0, 1, 1, 2, 2, 3, 3]),
        ([0, 1, 0, 1, 0, 1], 4, [0, 1, 2, 3, 0, 1]),
        ([0, 0, 1, 1], 1, [0, 0, 0, 0]),
        ([1, 1, 1], 4, [2, 2, 2]),
        ([0, -1, 0, 1, -1, 1], 4, [0, -1, 1, 2, -1, 3]),
    ],
)
def test_roots(given, ranks, expected):
    steps = [Step("bcast", 8, root, (0.0, 0.0)) for root in given]
    assert roots(Course(steps, (0.0, 0.0)), ranks) == expected


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_computing_is_shared(ranks):
    dealt = shared((3.0, 1.0, 2.0), ranks)
    assert len(dealt) == ranks and sum(dealt) == pytest.approx(6.0)
    assert ranks != 3 or dealt == pytest.approx([3.0, 1.0, 2.0])
