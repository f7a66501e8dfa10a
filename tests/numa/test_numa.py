# SPDX-License-Identifier: BSD-3-Clause
"""Where memory is, and what Sobor sees, on an emulated machine of 4 NUMA nodes in 2 packages."""

from __future__ import annotations

import json
import re

import machine
import pytest
import scenario
from machine import CORES, NODES, PACKAGES, node_of

BARRIERS, BROADCASTS = 6, 18


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each job wrote; all run in one start of the machine."""
    reason = machine.missing()
    if reason is not None:
        pytest.skip(f"no emulated NUMA machine: {reason}")
    archive = machine.base_archive()
    scenario.add_files(archive)
    return machine.run(archive, scenario.jobs(), tmp_path_factory.mktemp("numa"))


@pytest.fixture
def ask(answers):
    """What sobor-query answered in a job."""

    def answer(name: str):
        result = answers[name]
        assert result.status == 0, result.tail()
        return json.loads(result.stdout)

    return answer


@pytest.fixture
def finished(answers):
    """What became of a run of the program; skips where there is none."""

    def find(name: str) -> machine.Result:
        reason = scenario.RUNS[name].missing()
        if reason is not None:
            pytest.skip(reason)
        return answers[name]

    return find


def cpu_of(rank: int, mapping: str) -> int:
    """The core that a rank is dealt."""
    units = {"core": 1, "numa": NODES, "socket": PACKAGES}[mapping]
    return rank % units * (CORES // units) + rank // units


def test_a_machine_that_does_not_come_up_is_started_again(tmp_path, monkeypatch):
    """One that says nothing is ended; the next one's answers count."""
    if (reason := machine.missing()) is not None:
        pytest.skip(reason)

    def command(_files, answers):
        seen = tmp_path / "seen"
        said = "printf '@@sobor 1 stdout\\nyes\\n@@sobor 1 stderr\\n\\n@@sobor 1 end 0 1 2\\n'"
        return ["sh", "-c", f"[ -e {seen} ] || {{ : >{seen}; exec sleep 60; }}; {said} >{answers}"]

    monkeypatch.setattr(machine, "_command", command)
    monkeypatch.setattr(machine, "START_SECONDS", 1)
    assert machine.run(machine.Archive(), {"1": "echo yes"}, tmp_path)["1"].stdout == "yes"
    monkeypatch.setattr(machine, "STARTS", 1)
    (tmp_path / "seen").unlink()
    (tmp_path / "again").mkdir()
    with pytest.raises(RuntimeError, match="gave no answer to 1"):
        machine.run(machine.Archive(), {"1": "echo yes"}, tmp_path / "again")


def test_topology(ask):
    """The library sees the machine that was asked for."""
    seen = ask("topology")
    assert (seen["numa_nodes"], seen["packages"], seen["cores"]) == (NODES, PACKAGES, CORES)
    levels = {level["name"]: (level["count"], level["cores_per_unit"]) for level in seen["levels"]}
    assert levels["numa"] == (NODES, CORES // NODES)
    assert levels["package"] == (PACKAGES, CORES // PACKAGES)
    assert seen["binding"] == f"0-{CORES - 1}"


@pytest.mark.parametrize("mapping", scenario.MAPPINGS)
def test_groups(ask, mapping):
    """Ranks of one node form a group, their leaders one in each package, and so on up."""
    seen = ask(f"groups-{mapping}")
    cpus = [cpu_of(rank, mapping) for rank in range(CORES)]
    assert [rank["cpus"] for rank in seen["ranks"]] == [str(cpu) for cpu in cpus]
    assert [rank["node"] for rank in seen["ranks"]] == [node_of(cpu) for cpu in cpus]
    levels = {level["level"]: level["groups"] for level in seen["levels"]}
    together = [[r for r in range(CORES) if node_of(cpus[r]) == node] for node in range(NODES)]
    assert sorted(levels["numa"]) == sorted(together)
    assert not seen["oversubscribed"]


def check_own_nodes(ranks: list[dict], mapping: str):
    """All memory of each rank is on the node of the core it is dealt."""
    assert len(ranks) == CORES
    for number, rank in enumerate(ranks):
        node = node_of(cpu_of(number, mapping))
        assert rank["error"] is None and rank["node"] == node, rank
        assert list(rank["pages"]) == [str(node)] and rank["pages"][str(node)] > 0, rank
        assert rank["wrong"] == rank["elsewhere"] == 0, rank


@pytest.mark.parametrize("mapping", scenario.MAPPINGS)
def test_placement(ask, mapping):
    """The memory of each rank is on the rank's own node, all of it."""
    check_own_nodes(ask(f"placement-{mapping}")["ranks"], mapping)


def test_placement_against_policy(ask):
    """A policy of the user's that would spread memory over all nodes does not spread this."""
    check_own_nodes(ask("placement-interleaved")["ranks"], "core")


HUGE_PAGE = 2 << 20


@pytest.mark.parametrize("name", scenario.HUGE)
def test_huge_pages(ask, name):
    """Each whole one that a rank's memory holds is huge where it may be, and on the rank's node."""
    system, setting = scenario.HUGE[name]
    seen = ask(name)
    check_own_nodes(seen["ranks"], "core")
    assert (seen["huge_pages"], seen["huge_pages_setting"]) == (system, setting)
    for rank in seen["ranks"]:
        owned = sum(rank["pages"].values()) * 4096
        whole = owned // HUGE_PAGE * HUGE_PAGE
        wanted = system != "never" and setting == "auto"
        assert whole >= 4 << 20 and rank["huge_bytes"] == (whole if wanted else 0), rank


@pytest.mark.parametrize("system", scenario.REGIONS)
def test_huge_pages_as_needed(answers, system):
    """A region takes its huge pages one by one."""
    result = answers[f"regions-{system}"]
    for name in scenario.REGION_TESTS:
        assert f"[       OK ] {name}" in result.stdout, result.tail()


def test_placement_off(ask):
    """Without placement all is on the first node, is found there, and the check above fails."""
    seen = ask("placement-off")
    with pytest.raises(AssertionError):
        check_own_nodes(seen["ranks"], "core")
    own = seen["ranks"][0]["pages"]["0"]
    strangers = CORES - CORES // NODES
    assert seen["placement"] == "off"
    assert [node["pages"] for node in seen["nodes"]] == [CORES * own] + [0] * (NODES - 1)
    assert [node["wrong"] for node in seen["nodes"]] == [strangers * own] + [0] * (NODES - 1)


def test_pages_of_nodes(ask):
    """With placement each node holds what its ranks own."""
    seen = ask("placement-core")
    own = seen["ranks"][0]["pages"]["0"]
    assert seen["placement"] == "on" and own * 4096 >= seen["bytes"]
    assert [node["pages"] for node in seen["nodes"]] == [CORES // NODES * own] * NODES
    assert [node["wrong"] for node in seen["nodes"]] == [0] * NODES


def test_placement_defeated(ask):
    """Where the system gives memory of node 0 only, the pages are found there, and called wrong."""
    for rank in ask("placement-defeated")["ranks"]:
        assert rank["error"] is None and rank["elsewhere"] == 0, rank
        assert list(rank["pages"]) == ["0"] and rank["pages"]["0"] > 0, rank
        assert rank["wrong"] == (0 if rank["node"] == 0 else rank["pages"]["0"]), rank


PART_PAGES, PARTS_OF_A_HUGE_PAGE = 128, 4
#: The node that the pages of each rank's part of one segment are on. Shared memory is not read
#: ahead: only huge pages bring parts of others to the node of the first who touches one.
PARTS = {
    "segment-random": node_of,
    "segment-normal": node_of,
    "segment-huge": lambda rank: node_of(rank // PARTS_OF_A_HUGE_PAGE * PARTS_OF_A_HUGE_PAGE),
    "segment-one": lambda rank: 0,
}


@pytest.mark.parametrize("name", scenario.SEGMENTS)
def test_one_segment(answers, name):
    """Figure 11 of the paper on NUMA nodes: where the slots of one segment for all come to be."""
    result = answers[name]
    expected = [f"part {rank} {PARTS[name](rank)}:{PART_PAGES}" for rank in range(CORES)]
    assert result.status == 0 and result.stdout.split("\n")[:CORES] == expected, result.tail()


def places_of(result) -> list[tuple[set[int], dict[int, int]]]:
    """By rank: the nodes it may run on, and its pages by node."""
    line = r"^place rank=(\d+) cpus=(\S+)(?: pages=(\S+))? absent=0$"
    found = sorted(re.findall(line, result.stdout, re.MULTILINE), key=lambda x: int(x[0]))
    assert [int(rank) for rank, _, _ in found] == list(range(CORES)), result.tail()
    return [
        (
            {node_of(int(cpu)) for cpu in cpus.split(",")},
            {
                int(node): int(count)
                for node, count in (word.split(":") for word in pages.split(",") if word)
            },
        )
        for _, cpus, pages in found
    ]


def check_served(result):
    """The program found all data right, and all its calls went through shared memory."""
    assert result.status == 0, result.tail()
    assert "PASS " in result.stdout, result.tail()
    line = re.search(r"^sobor: comm (name=MPI_COMM_WORLD .*)$", result.stderr, re.MULTILINE)
    assert line is not None, result.tail()
    report = dict(word.split("=", 1) for word in line.group(1).split())
    calls = [report[name] for name in ("where", "size", "barrier", "bcast", "host", "reason")]
    assert calls == ["shm", str(CORES), str(BARRIERS), str(BROADCASTS), "0", "-"], result.tail()


@pytest.mark.parametrize("name", scenario.RUNS)
def test_collectives(finished, name):
    """Right results from shared memory, however ranks are bound and wherever memory is."""
    check_served(finished(name))


def groups_by(ranks: list[int], unit_of) -> list[list[int]]:
    """Those that share a unit, in the order of their leaders; who is alone is in no group."""
    together: dict[int, list[int]] = {}
    for rank in ranks:
        together.setdefault(unit_of(rank), []).append(rank)
    return [group for group in together.values() if len(group) > 1]


def expected_stages(nodes: list[int], levels: list[str]) -> list[tuple[str, list[list[int]]]]:
    """Groups of ranks on these nodes, level by level, and one that joins the leaders."""
    units = {"numa": lambda rank: nodes[rank], "package": lambda rank: nodes[rank] // PACKAGES}
    stages, left = [], list(range(len(nodes)))
    for level in levels:
        groups = groups_by(left, units[level])
        followers = {rank for group in groups for rank in group[1:]}
        left = [rank for rank in left if rank not in followers]
        stages.append((level, groups))
    return [*stages, ("top", [left])]


def described_team(result, barrier: str) -> str:
    """What was said of the groups of the team that uses this barrier."""
    line = (
        rf"^sobor: team of {CORES} ranks: .*, barrier {barrier}, (.*), control blocks of \d+ bytes$"
    )
    found = re.findall(line, result.stderr, re.MULTILINE)
    assert len(found) == 1, result.tail()
    return found[0]


def stages_of(text: str) -> list[tuple[str, list[list[int]]]]:
    """The stages that a description names: "groups numa {0,1} {2,3}, top {0,2}"."""
    return [
        (name, [[int(rank) for rank in group.split(",")] for group in re.findall(r"{(.*?)}", all_)])
        for name, all_ in re.findall(r"([a-z0-9]+)((?: {[\d,]+})+)", text)
    ]


def ran(result, first: int) -> str:
    """The barrier that served all calls of the communicator that begins with this rank."""
    line = rf"^sobor: comm name=from_{first} .* algorithms=(\S+) reason=-$"
    found = re.findall(line, result.stderr, re.MULTILINE)
    assert len(found) == 1, result.tail()
    name = re.fullmatch(rf"barrier:([a-z-]+)={scenario.ROUNDS}", found[0])
    assert name is not None, result.tail()
    return name.group(1)


#: The levels that each of the barriers goes by on this machine, from the lowest up.
LEVELS_OF = {
    "hierarchical-numa": ["numa"],
    "hierarchical-auto": ["numa", "package"],
    "exchange": ["numa"],
}
BOUND = ["mpich-core", "mpich-numa", "openmpi-core", "openmpi-numa"]
UNBOUND = ["mpich-none", "openmpi-none"]


@pytest.mark.parametrize("first", range(1, len(scenario.BARRIERS) + 1))
@pytest.mark.parametrize("name", BOUND)
def test_groups_of_bound_ranks(finished, name, first):
    """The ranks of a job agree on the groups that follow from where its launcher has bound them."""
    result, barrier = finished(name), scenario.BARRIERS[first - 1]
    assert ran(result, first) == barrier
    node = [next(iter(allowed)) for allowed, _ in places_of(result)]
    nodes = [node[(first + rank) % CORES] for rank in range(CORES)]
    stages = stages_of(described_team(result, barrier))
    assert stages == expected_stages(nodes, LEVELS_OF[barrier]), result.tail()


@pytest.mark.parametrize("name", UNBOUND)
def test_groups_of_unbound_ranks(finished, name):
    """What goes by levels is refused, with the reason; the other makes groups side by side."""
    result = finished(name)
    assert [ran(result, first) for first in (1, 2, 3)] == ["flat", "flat", "exchange"]
    refused = "barrier flat, no groups by levels (the ranks are not bound to processors)"
    assert result.stderr.count(refused) == 3, result.tail()
    said = described_team(result, "exchange")
    assert stages_of(said) == [("top", [list(range(CORES))])], said


def check_bound_ranks(result):
    """The rings and controls of each rank are on its own node, and all nodes are used."""
    nodes = set()
    for allowed, pages in places_of(result):
        assert len(allowed) == 1 and set(pages) == allowed, result.tail()
        nodes |= allowed
    assert nodes == set(range(NODES)), result.tail()


@pytest.mark.parametrize(
    "name",
    [
        "mpich-core",
        "mpich-numa",
        "mpich-pipelined",
        "openmpi-core",
        "openmpi-numa",
    ],
)
def test_memory_of_bound_ranks(finished, name):
    """A rank bound within one node owns memory of that node only, whatever the user's policy."""
    check_bound_ranks(finished(name))


@pytest.mark.parametrize("name", ["mpich-none", "openmpi-none"])
def test_memory_of_unbound_ranks(finished, name):
    """A rank that may run anywhere has no wish; the user's policy holds if there is one."""
    result = finished(name)
    for allowed, pages in places_of(result):
        assert allowed == set(range(NODES)), result.tail()
        assert pages and set(pages) <= allowed, result.tail()
        if scenario.RUNS[name].policy == scenario.INTERLEAVE:
            assert set(pages) == allowed, result.tail()


def test_memory_without_placement(finished):
    """Without placement the check of bound ranks fails, and who asks is told."""
    result = finished("mpich-off")
    with pytest.raises(AssertionError):
        check_bound_ranks(result)
    assert all(set(pages) == {0} for _, pages in places_of(result)), result.tail()
    assert "pages of shared memory are not on NUMA node 3 of their rank" in result.stderr


def test_memory_defeated(finished):
    """Where a rank's node gives no memory, other memory serves, and who asks is told."""
    result = finished("mpich-defeated")
    places = places_of(result)
    assert all(set(pages) == {0} for _, pages in places), result.tail()
    assert {node for allowed, _ in places for node in allowed} == set(range(NODES)), result.tail()
    assert "memory could not be bound to NUMA node" in result.stderr, result.tail()
