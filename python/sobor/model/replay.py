# SPDX-License-Identifier: BSD-3-Clause
"""Plays the calls of a program again on other ranks: each has its own clock, each node its link.

Between two calls a rank computes as long as the trace says, in proportion. What a call holds up is
what its messages do. A root hands its messages over and goes on, while its link is busy with them;
a receiver goes on when its message has come; only where everybody needs something of everybody do
all wait for the last. So computing and messages overlap as far as they do in the program, and what
counts is the longest way through all calls, not the sum of their times.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

#: Operations in which a root's bytes go out, and in which they come in.
FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ROOT = ("reduce", "gather", "gatherv")
#: Of these each message is as long as the parts of those it is for.
_IN_PARTS = ("scatter", "scatterv", "gather", "gatherv")
_LINEAR = ("letters", "linear")
_CHAINS = ("chain", "ring")
#: Calls that are played, times ranks.
_MOST = 4_000_000


@dataclass(frozen=True)
class Network:
    """What messages cost, in seconds."""

    latency: float = 0.0
    overhead: float = 0.0
    byte: float = 0.0
    eager: float = 0.0
    star: bool = False


@dataclass(frozen=True)
class Way:
    """How a call is served: what it takes where all enter at once, and by which schedule."""

    seconds: float
    schedule: str = ""
    segment: int = 0


@dataclass(frozen=True)
class Step:
    """A call of a program, with what each traced rank computed before it, in seconds."""

    collective: str
    size: int
    root: int
    gaps: tuple[float, ...]


@dataclass(frozen=True)
class Course:
    """All calls of a traced program in their order, and what each rank computed after them."""

    steps: list[Step] = field(default_factory=list)
    rest: tuple[float, ...] = (0.0,)

    @property
    def ranks(self) -> int:
        """How many were traced."""
        return len(self.rest)

    @property
    def computing(self) -> float:
        """Seconds of all ranks together."""
        return sum(self.rest) + sum(sum(step.gaps) for step in self.steps)

    def scaled(self, factor: float) -> "Course":
        """The same calls with so many times the computing."""
        steps = [replace(s, gaps=tuple(gap * factor for gap in s.gaps)) for s in self.steps]
        return Course(steps, tuple(gap * factor for gap in self.rest))


def roots(course: Course, ranks: int) -> list[int]:
    """Which rank is the root of each call where so many ranks share the work.

    A root that never changes stays. Where roots take turns call by call they do so among the new
    ranks; where each stays for some calls, its turn is divided among those that take its place.
    """
    found = [-1] * len(course.steps)
    rooted = [i for i, step in enumerate(course.steps) if step.root >= 0]
    turns = [list(turn) for _, turn in itertools.groupby(rooted, lambda i: course.steps[i].root)]
    by_turns = len(turns) > course.ranks and len(turns) == len(rooted)
    for number, i in enumerate(rooted if by_turns else ()):
        found[i] = number % ranks
    for turn in () if by_turns else turns:
        first = course.steps[turn[0]].root * ranks // course.ranks
        many = max(1, ranks // course.ranks) if len(turns) > 1 else 1
        for place, i in enumerate(turn):
            found[i] = min(ranks - 1, first + place * many // len(turn))
    return found


@cache
def tree(schedule: str, nodes: int) -> tuple[tuple[int, int, int], ...]:
    """Edges from the root 0 downwards: parent, child, and nodes below; longest ways first."""
    if schedule in _LINEAR:
        return tuple((0, child, 1) for child in range(1, nodes))
    if schedule in _CHAINS:
        return tuple((node, node + 1, nodes - node - 1) for node in range(nodes - 1))
    return tuple(_binomial(nodes))


def _binomial(nodes: int) -> Iterator[tuple[int, int, int]]:
    for place in range(nodes):
        rounds = ((place & -place) if place else 1 << (nodes - 1).bit_length()).bit_length() - 1
        for step in (1 << k for k in reversed(range(rounds))):
            if place + step < nodes:
                yield place, place + step, min(step, nodes - place - step)


class Links:
    """When the link of each node is free again; a star has one for all."""

    def __init__(self, network: Network, nodes: int):
        self.network = network
        self._out = [0.0] * (1 if network.star else nodes)
        self._in = [0.0] * (1 if network.star else nodes)

    def send(self, source: int, target: int, ready: float, size: float) -> tuple[float, float]:
        """A message that is ready then: when it has left, and when it has come."""
        net, star = self.network, self.network.star
        start = max(ready, self._out[0 if star else source])
        wire = size * net.byte
        left = self._out[0 if star else source] = start + wire
        if star:
            return left, left + net.latency + 2 * net.overhead
        begun = max(start + net.latency + 2 * net.overhead, self._in[target])
        self._in[target] = begun + wire
        return left, begun + wire

    def quiet(self) -> float:
        """When all that was sent has come."""
        return max(self._in + self._out)


@dataclass(frozen=True)
class Ranks:
    """So many ranks in blocks on nodes."""

    count: int
    per_node: int

    @property
    def nodes(self) -> int:
        """How many there are."""
        return -(-self.count // self.per_node)

    def of(self, node: int) -> range:
        """Those of a node."""
        return range(node * self.per_node, min(self.count, (node + 1) * self.per_node))


@dataclass(frozen=True)
class Call:
    """A call that is played."""

    collective: str
    size: int
    root: int
    way: Way


def _shift(node: int, root: int, ranks: Ranks) -> int:
    return (node + root // ranks.per_node) % ranks.nodes


def _leader(node: int, root: int, ranks: Ranks) -> int:
    """The rank that has the node's messages: the root on its own."""
    return root if root // ranks.per_node == node else node * ranks.per_node


def _bytes(call: Call, below: int, ranks: Ranks) -> float:
    return call.size * (below * ranks.per_node if call.collective in _IN_PARTS else 1)


def _outwards(
    call: Call, entered: list[float], ranks: Ranks, links: Links, inside: float
) -> list[float]:
    """A root's bytes go down a tree of nodes; a segment is sent on as soon as it has come."""
    net, left = links.network, list(entered)
    home = call.root // ranks.per_node
    here = {home: (entered[call.root], entered[call.root])}  # its first bytes, and all of them
    for parent, child, below in tree(call.way.schedule, ranks.nodes):
        source, target = (_shift(place, call.root, ranks) for place in (parent, child))
        sender, receiver = (_leader(node, call.root, ranks) for node in (source, target))
        size = _bytes(call, below, ranks)
        piece = min(size, call.way.segment or size)
        first, whole = here[source]
        if piece > net.eager:  # goes when its receiver is there
            first = max(first, entered[receiver] + net.latency)
        gone, came = links.send(source, target, max(first, entered[sender]), size)
        behind = (size - piece) * net.byte
        came = max(came, whole + piece * net.byte + net.latency + 2 * net.overhead)
        here[target] = (came - behind, came)
        left[sender] = max(left[sender] + net.overhead, gone if piece > net.eager else 0.0)
    for node, (_, whole) in here.items():
        for rank in ranks.of(node):
            left[rank] = max(left[rank], whole + inside) if rank != call.root else left[rank]
    return left


def _inwards(
    call: Call, entered: list[float], ranks: Ranks, links: Links, inside: float
) -> list[float]:
    """Bytes come up a tree: a node sends when its own ranks and those below are there."""
    net, left = links.network, [time + links.network.overhead for time in entered]
    ready = {node: max(entered[rank] for rank in ranks.of(node)) for node in range(ranks.nodes)}
    for parent, child, below in reversed(tree(call.way.schedule, ranks.nodes)):
        source, target = (_shift(place, call.root, ranks) for place in (child, parent))
        sender, receiver = (_leader(node, call.root, ranks) for node in (source, target))
        size, start = _bytes(call, below, ranks), ready[source]
        if size > net.eager:
            start = max(start, entered[receiver] + net.latency)
        gone, came = links.send(source, target, start, size)
        left[sender] = max(left[sender], gone if size > net.eager else start + net.overhead)
        ready[target] = max(ready[target], came)
    left[call.root] = max(left[call.root], ready[call.root // ranks.per_node] + inside)
    return left


_SIDES = {**dict.fromkeys(FROM_ROOT, _outwards), **dict.fromkeys(TO_ROOT, _inwards)}


class Player:
    """Clocks of all ranks."""

    def __init__(self, ranks: Ranks, network: Network):
        self.ranks = ranks
        self.clocks = [0.0] * ranks.count
        self._links = Links(network, ranks.nodes)
        self._inside = cache(self._beside_messages)

    def compute(self, seconds: list[float]) -> None:
        """Each rank for itself."""
        self.clocks = [clock + more for clock, more in zip(self.clocks, seconds, strict=True)]

    def call(self, call: Call) -> None:
        """All ranks call."""
        side = _SIDES.get(call.collective)
        if side is None or call.root < 0 or self.ranks.nodes == 1:
            self.clocks = self._together(call)
            return
        inside = self._inside(call.collective, call.size, call.way)
        self.clocks = side(call, self.clocks, self.ranks, self._links, inside)

    def _together(self, call: Call) -> list[float]:
        """Those who need something of all leave a call's time after the last has come."""
        if call.collective in FROM_ROOT and call.root >= 0:  # inside a node
            done = self.clocks[call.root] + call.way.seconds
            return [max(clock, done) for clock in self.clocks]
        done = max(*self.clocks, self._links.quiet(), 0.0) + call.way.seconds
        if call.collective in TO_ROOT and call.root >= 0:
            left = [clock + call.way.seconds for clock in self.clocks]
            left[call.root] = done
            return left
        return [done] * self.ranks.count

    def _beside_messages(self, collective: str, size: int, way: Way) -> float:
        """What a call takes beside its messages between nodes, where all enter at once."""
        call = Call(collective, size, 0, way)
        quiet = Links(self._links.network, self.ranks.nodes)
        left = _SIDES[collective](call, [0.0] * self.ranks.count, self.ranks, quiet, 0.0)
        return max(0.0, way.seconds - max(left))


def shared(values: tuple[float, ...], ranks: int) -> list[float]:
    """What traced ranks had, dealt out to so many in their order: the sum stays."""
    share, dealt = len(values) / ranks, []
    for rank in range(ranks):
        begin, end = rank * share, (rank + 1) * share
        places = range(int(begin), min(len(values), math.ceil(end - 1e-9)))
        parts = ((min(end, i + 1) - max(begin, i)) * values[i] for i in places)
        dealt.append(sum(parts))
    return dealt


def play(
    course: Course, ranks: Ranks, network: Network, way_of: Callable[[str, int], Way]
) -> float:
    """Seconds until the last rank has ended. Of very many calls the later ones are added up."""
    most = max(1, _MOST // ranks.count)
    player = Player(ranks, network)
    for step, root in zip(course.steps[:most], roots(course, ranks.count), strict=False):
        player.compute(shared(step.gaps, ranks.count))
        player.call(Call(step.collective, step.size, root, way_of(step.collective, step.size)))
    player.compute(shared(course.rest, ranks.count))
    later = course.steps[most:]
    computing = sum(sum(step.gaps) for step in later) / ranks.count
    return max(player.clocks) + computing + sum(way_of(s.collective, s.size).seconds for s in later)
