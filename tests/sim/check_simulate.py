# SPDX-License-Identifier: BSD-3-Clause
"""sobor-simulate from outside: all algorithms get their data right, the same words give the same
bytes, costs follow the machine, and wrong use is told.

usage: check_simulate.py SOBOR-SIMULATE PART   (PART: checked, data, same, effects,
large, reductions, nodes, wrong)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SMALL = HERE / "small.json"
MACHINES = HERE.parents[1] / "share/sobor/machines"
TOPOLOGIES = HERE.parent / "unit/topologies"
CLUSTER = MACHINES / "cluster-128x8.json"
GIB = 1 << 30
COLLECTIVES = (
    "barrier bcast reduce allreduce reduce_scatter reduce_scatter_block scan exscan gather gatherv "
    "scatter scatterv allgather allgatherv alltoall alltoallv alltoallw"
).split()


def call(*words: object, machine: Path = SMALL) -> subprocess.CompletedProcess:
    command = [sys.argv[1], *map(str, words), "--machine", str(machine)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def simulate(*words: object, machine: Path = SMALL) -> list[dict]:
    done = call(*words, machine=machine)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def by_algorithm(results: list[dict]) -> dict[str, dict]:
    return {result["algorithm"]: result for result in results}


def check_data() -> None:
    """The tool itself ends with an error if a byte is wrong or a barrier lets a rank through."""
    for ranks in (2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 33):
        late = ("--noise", "on", "--arrival", "uniform:3us", "--seed", ranks)
        results = simulate("barrier", "--ranks", ranks, "--calls", 20, *late)
        assert len(results) >= 4 and all(result["median_us"] > 0 for result in results)
        for ring in ("16KiB", "512KiB"):
            sizes = "1,8,48,49,240,241,4096,16384,70001"
            results = simulate(
                "bcast",
                "--ranks",
                ranks,
                "--calls",
                6,
                "--root",
                "rotate",
                "--bytes",
                sizes,
                "--set",
                f"SOBOR_RING={ring}",
                *late,
            )
            assert len(results) >= 3 * len(sizes.split(","))
    for wait in ("spin", "yield", "sleep"):
        for ranks in (5, 20):
            words = (
                "--ranks",
                ranks,
                "--calls",
                10,
                "--set",
                f"SOBOR_WAIT={wait}",
                "--arrival",
                "exponential:30us",
            )
            simulate("barrier", *words)
            simulate("bcast", "--bytes", "8,20000", "--root", "rotate", *words)


def check_same() -> None:
    words = (
        "--ranks",
        19,
        "--calls",
        8,
        "--noise",
        "on",
        "--arrival",
        "normal:5us",
        "--lines",
        "on",
    )
    for collective in ("barrier", "bcast"):
        one, two = (call(collective, *words, "--seed", 5).stdout for _ in range(2))
        assert one == two and len(one) > 100
        other = call(collective, *words, "--seed", 6).stdout
        assert json.loads(one) != json.loads(other)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("one", "two")]
        for file in files:
            simulate(
                "bcast",
                "--ranks",
                4,
                "--bytes",
                50000,
                "--algorithm",
                "ring",
                "--calls",
                2,
                "--timeline",
                file,
            )
        assert files[0].read_bytes() == files[1].read_bytes()
        records = json.loads(files[0].read_text())["records"]
        assert {record["kind"] for record in records} == {"copy", "wait", "notify", "host"}
        assert {record["rank"] for record in records} == {0, 1, 2, 3}


def check_effects() -> None:
    """What the model must show, as order of times and not as numbers."""
    barriers = by_algorithm(simulate("barrier", "--ranks", 16, "--lines", "on"))
    # Additions to one line come one after another; a tree spreads them.
    assert barriers["counter"]["median_us"] > 2 * barriers["tree"]["median_us"]
    # The same tree costs more where neighbours in rank are far from each other.
    spread = by_algorithm(simulate("barrier", "--ranks", 16, "--map", "socket", "--lines", "on"))
    far, near = spread["combining-tree"], barriers["combining-tree"]
    assert far["lines"]["machine"] > 2 * near["lines"]["machine"]
    assert far["median_us"] > near["median_us"]
    # Ranks that share cores pay for switching.
    crowded = by_algorithm(simulate("barrier", "--ranks", 32))
    assert crowded["flat"]["median_us"] > barriers["flat"]["median_us"] + 1
    check_straggler()
    check_chain()
    check_late_after_barrier()
    check_counted_from_the_beginning()
    check_hybrid()
    check_cold()
    check_single_copy()
    check_past_caches()
    check_late()
    check_late_by_seconds()
    check_learned()
    check_rows()
    check_enough()


def check_straggler() -> None:
    """One late rank is what others wait for in a broadcast from it, not in a barrier's own time."""
    words = ("--ranks", 16, "--algorithm", "tree", "--arrival", "straggler:1ms")
    assert simulate("barrier", *words)[0]["median_us"] < 100
    # Of a broadcast's ranks only those that come first wait for it, another one in each call.
    words = ("bcast", "--ranks", 16, "--bytes", 64, "--root", "rotate", "--calls", 64)
    words = (*words, "--algorithm", "tree")
    late = simulate(*words, "--arrival", "straggler:1ms")[0]
    assert late["rank_mean_us"] < late["rank_max_us"] < late["max_us"]
    assert late["rank_mean_us"] < 0.2 * late["max_us"]
    even = simulate(*words)[0]
    assert 0 < even["rank_mean_us"] <= even["mean_us"]


def check_late_by_seconds() -> None:
    """Who computes for longer than any wait may last is late, and the others no deadlock."""
    words = ("bcast", "--ranks", 4, "--bytes", 64, "--algorithm", "tree", "--calls", 3)
    late = simulate(*words, "--arrival", "straggler:11s")[0]
    assert 11e6 < late["max_us"] < 11.01e6, late
    # As a trace has it: microseconds without a unit.
    with tempfile.TemporaryDirectory() as folder:
        arrivals = Path(folder) / "arrivals.txt"
        arrivals.write_text("2000000.000 0.000 1.5 3.25\n")
        replayed = simulate(*words, "--arrival", f"trace:{arrivals}")[0]
        assert 1.4e6 < replayed["rank_mean_us"] < 1.6e6, replayed


def check_chain() -> None:
    """In a chain of calls a late rank counts, as there is nothing else between two ends."""
    words = ("barrier", "--ranks", 2, "--sync", "chain")
    late = by_algorithm(simulate(*words, "--arrival", "straggler:1ms"))
    assert late["tree"]["median_us"] > 1000
    # And who was last to add to a counter has its line for the next time.
    chained, apart = by_algorithm(simulate(*words)), by_algorithm(simulate(*words[:3]))
    assert chained["counter"]["mean_us"] < 0.9 * apart["counter"]["mean_us"]
    assert chained["flat"]["mean_us"] == apart["flat"]["mean_us"]


def check_cold() -> None:
    """Buffers that are in no cache cost time."""
    words = ("bcast", "--ranks", 16, "--bytes", "1M", "--root", 15)
    words = (*words, "--algorithm", "ring", "--calls", 5)
    warm = simulate(*words)[0]["median_us"]
    assert simulate(*words, "--cold", "on")[0]["median_us"] > warm


def check_late_after_barrier() -> None:
    """As under sobor bench, who is late is late to the call and not to the barrier before it."""
    words = ("bcast", "--ranks", 4, "--bytes", 64, "--root", "rotate", "--calls", 16)
    words = (*words, "--algorithm", "tree", "--sync", "barrier")
    assert simulate(*words)[0]["max_us"] < 100
    assert simulate(*words, "--arrival", "straggler:1ms")[0]["max_us"] > 900


def check_counted_from_the_beginning() -> None:
    """Lines count from the first that any rank touches, whichever goes first."""
    words = ("barrier", "--ranks", 8, "--algorithm", "counter", "--lines", "on")
    words = (*words, "--warmup", 1, "--calls", 1)
    counted = [simulate(*words, "--seed", seed)[0]["lines"] for seed in range(1, 9)]
    assert {sum(lines.values()) for lines in counted} == {sum(counted[0].values())}, counted


def check_enough() -> None:
    """An algorithm that takes longer is left soon; of one that does not, all calls are made."""
    words = ("scan", "--ranks", 8, "--bytes", "64K", "--calls", 16, "--warmup", 16)
    machine = MACHINES / "epyc9654-2s.json"
    whole = by_algorithm(simulate(*words, machine=machine))
    times = {name: result["median_us"] for name, result in whole.items()}
    best = min(times.values())
    found = by_algorithm(simulate(*words, "--enough", round(best * 1000), machine=machine))
    for name, result in found.items():
        if times[name] == best:
            assert result == whole[name], (result, whole[name])
            continue
        most = 4 if times[name] > 5 * best else 17 if times[name] > 2.5 * best else 31
        assert 3 <= result["left_after"] <= most, (result, times)
        assert result["median_us"] > best, (result, times)
    assert {result.get("left_after") for result in found.values()} >= {None, 3, 16}, found
    hurried = by_algorithm(simulate(*words, "--enough", round(best * 1000 / 8), machine=machine))
    assert {result["left_after"] for result in hurried.values()} == {1}, (hurried, times)
    slow = by_algorithm(simulate(*words, "--enough", round(best * 1.5e6), machine=machine))
    assert slow == whole


def stored(folder: Path, topology: str) -> Path:
    """The small machine with the cores of another one."""
    machine = {**json.loads(SMALL.read_text()), "xml": str(TOPOLOGIES / topology)}
    del machine["topology"]
    file = folder / topology.replace("xml", "json")
    file.write_text(json.dumps(machine))
    return file


def check_hybrid() -> None:
    """Two ranks of a core take turns where it has one processor, whatever the first core has."""
    with tempfile.TemporaryDirectory() as folder:
        machine = stored(Path(folder), "hybrid.xml")
        words = ("barrier", "--algorithm", "counter", "--set", "SOBOR_WAIT=yield")
        both, turns = (
            simulate(*words, "--ranks", ranks, machine=machine)[0]["median_us"]
            for ranks in (14, 15)
        )
        assert turns > 1.4 * both, (both, turns)


def check_rows() -> None:
    """Rows of ranks in turns have their lines come together: 9.7 us one after the other."""
    words = ("alltoall", "--ranks", 32, "--bytes", 8, "--calls", 20)
    took = simulate(*words, machine=MACHINES / "xeon-e5-2620v4-2s.json")[0]["median_us"]
    assert took < 8.5, took


def check_late() -> None:
    """In a broadcast whose news or parts pass through ranks only a late root is waited for."""
    words = ("bcast", "--ranks", 64, "--bytes", "64K", "--algorithm", "ring,tree,numa-relay")
    late = ("--arrival", "uniform:200us", "--calls", 4)
    found = by_algorithm(simulate(*words, *late, machine=MACHINES / "epyc9654-2s.json"))
    assert found["tree"]["rank_mean_us"] < 1.25 * found["ring"]["rank_mean_us"]
    assert found["numa-relay"]["rank_mean_us"] < 1.6 * found["ring"]["rank_mean_us"]


def check_learned() -> None:
    """A root learns how to write also where no reader ever waits: in an unbroken row of calls."""
    words = ("bcast", "--ranks", 2, "--bytes", "64K", "--algorithm", "ring", "--sync", "chain")
    words = (*words, "--warmup", 60)
    chosen, *fixed = (
        simulate(*words, *stores, machine=MACHINES / "epyc9654-2s.json")[0]["mean_us"]
        for stores in ((), ("--set", "SOBOR_STORES=cached"), ("--set", "SOBOR_STORES=streaming"))
    )
    assert max(fixed) > 1.5 * min(fixed) and chosen < 1.1 * min(fixed), (chosen, fixed)


def check_single_copy() -> None:
    """Long parts that others fetch or bring are faster than those that one rank moves for all."""
    for collective in ("scatterv", "gatherv", "allgatherv", "alltoallv"):
        words = (collective, "--ranks", 16, "--bytes", "20K", "--calls", 1)
        words = (*words, "--warmup", 1, "--algorithm", "direct")
        once = simulate(*words)[0]["median_us"]
        twice = simulate(*words, "--set", "SOBOR_CMA=off")[0]["median_us"]
        assert once != twice, collective
        if collective in ("scatterv", "gatherv"):
            assert 2 * once < twice, (collective, once, twice)


def check_past_caches() -> None:
    """What does not stay in the caches anyway is faster past them."""
    words = ("allgatherv", "--ranks", 16, "--calls", 2, "--set", "SOBOR_CMA=off", "--bytes")
    for size, algorithm in (("256K", "numa-relay"), ("256K", "direct"), ("16K", "numa-relay")):
        call = (*words, size, "--algorithm", algorithm)
        cached = simulate(*call, "--set", "SOBOR_STORES=cached")[0]["median_us"]
        chosen = simulate(*call)[0]["median_us"]
        if size == "16K":
            assert chosen == cached, (chosen, cached)
        else:
            assert chosen < 0.9 * cached, (algorithm, chosen, cached)
    # Of two ranks the sender writes so, and has no line to take back from a far cache.
    words = ("alltoall", "--ranks", 2, "--bytes", "256K", "--set", "SOBOR_STORES=streaming")
    near, far = (
        simulate(*words, "--map", spread, machine=MACHINES / "kunpeng920-2s.json")[0]["median_us"]
        for spread in ("core", "socket")
    )
    assert far < 1.3 * near, (near, far)


def check_large() -> None:
    """1024 ranks, each on a core of its own, on the 16 cores there are, and on 128 nodes."""
    machine = json.loads(SMALL.read_text())
    machine["topology"] = "package:8 numa:4 l3:1(size=33554432) l2:32(size=262144) core:1 pu:1"
    with tempfile.TemporaryDirectory() as folder:
        wide = Path(folder) / "wide.json"
        wide.write_text(json.dumps(machine))
        words = ("--ranks", 1024, "--calls", 2, "--warmup", 0)
        simulate("barrier", *words, "--algorithm", "tree", machine=wide)
        simulate("barrier", *words, "--algorithm", "counter")
        simulate("bcast", *words, "--bytes", "256K", "--algorithm", "tree")
    words = ("--nodes", 128, "--ranks", 1024, "--map", "node", "--calls", 1)
    simulate("allreduce", *words, "--algorithm", "cluster", machine=CLUSTER)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak < 2 * GIB, peak


def check_reductions() -> None:
    """What the docs claim of the largest machines; and slices of groups that some ranks have."""
    kunpeng, epyc = MACHINES / "kunpeng920-2s.json", MACHINES / "epyc9654-2s.json"
    check_few(kunpeng, epyc)
    check_moved(epyc)
    check_slices(kunpeng)


def check_few(*machines: Path) -> None:
    """Few bytes go by the k-ary tree, in little more time than a barrier takes."""
    for machine in machines:
        few = ("allreduce", "--bytes", 8, "--algorithm", "k-ary-tree", "--calls", 20)
        barriers = simulate("barrier", "--algorithm", "exchange", machine=machine)
        best = min(barrier["median_us"] for barrier in barriers)
        assert simulate(*few, machine=machine)[0]["median_us"] < 1.5 * best, machine
        words = ("--bytes", "1K", "--calls", 4, "--warmup", 3)
        for collective, other in (
            ("allreduce", "p2p-recursive-doubling"),
            ("reduce", "p2p-binomial"),
        ):
            names = ("--algorithm", f"k-ary-tree,{other}")
            times = by_algorithm(simulate(collective, *words, *names, machine=machine))
            assert times["k-ary-tree"]["median_us"] < times[other]["median_us"], (
                collective,
                machine,
            )


def check_moved(machine: Path) -> None:
    """What moves less takes less time."""
    words = ("--ranks", 2, "--bytes", "1M", "--algorithm", "rings", "--calls", 10)
    times = [
        simulate(name, *words, machine=machine)[0]["median_us"]
        for name in ("reduce_scatter_block", "reduce_scatter", "allreduce")
    ]
    # Parts are half of what an allreduce in halves moves; each line crosses once in all of them.
    assert max(times[:2]) < times[2], times
    names = ("reduce-scatter-allgather", "p2p-ring")
    words = ("--bytes", "256K", "--algorithm", ",".join(names), "--calls", 1, "--warmup", 1)
    times = by_algorithm(simulate("allreduce", *words, machine=machine))
    ours, other = (times[name]["median_us"] for name in names)
    assert 1.5 * ours < other, times


def check_slices(machine: Path) -> None:
    """Two groups of 32, and windows of fewer than 32 slices of 512 bytes."""
    words = ("allreduce", "--ranks", 64, "--bytes", "8K,5000")
    words = (*words, "--algorithm", "reduce-scatter-allgather", "--check", "on", "--schedules", 5)
    for result in simulate(*words, machine=machine):
        assert result["violations"] == [], result
    # A message of nothing has no windows.
    for collective in "allreduce", "reduce", "reduce_scatter", "scan":
        simulate(collective, "--ranks", 64, "--bytes", 0, "--calls", 1, machine=machine)
    # Leaders that lead two blocks, whose pieces are more than a batch.
    for collective in "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan":
        words = (collective, "--ranks", 67, "--bytes", "11K,3", "--algorithm", "k-ary-tree")
        words = (*words, "--calls", 3, "--counts", "random", "--root", "rotate", "--noise", "on")
        simulate(*words, "--arrival", "uniform:5us", machine=machine)


def check_nodes() -> None:
    """Over nodes, too, the tool compares all data; unequal nodes, both ways to deal, any root."""
    for collective in COLLECTIVES:
        for how in "core", "node":
            results = simulate(
                collective,
                "--nodes",
                3,
                "--ranks",
                13,
                "--map",
                how,
                "--bytes",
                "0,8,3000,70000",
                "--root",
                "rotate",
                "--calls",
                2,
                "--warmup",
                1,
                machine=CLUSTER,
            )
            names = set(by_algorithm(results))
            assert any(name.startswith("host-") for name in names), (collective, names)
            assert all(result["nodes"] == 3 for result in results)
            assert len(results) == len(names) * (1 if collective == "barrier" else 4)
    # Each node tells seven others, or each rank seven ranks, of which some are near.
    words = ("barrier", "--nodes", 128, "--ranks", 1024, "--calls", 1)
    barrier = by_algorithm(simulate(*words, "--map", "node", machine=CLUSTER))
    assert barrier["cluster"]["messages"] == 128 * 7
    assert barrier["host-dissemination"]["messages"] == 1024 * 7
    assert barrier["cluster"]["median_us"] < barrier["host-dissemination"]["median_us"]
    words = ("alltoall", "--nodes", 16, "--ranks", 128, "--bytes", 64, "--calls", 1, "--warmup", 1)
    for how in "core", "node":
        found = by_algorithm(simulate(*words, "--map", how, machine=MACHINES / "cluster-16x8.json"))
        assert found["cluster"]["messages"] == 16 * 15
        assert found["cluster"]["median_us"] < 0.35 * found["host-pairwise"]["median_us"]
        assert found["cluster"]["median_us"] < 0.7 * found["host-bruck"]["median_us"]


def write_wrong_machines(folder: Path) -> None:
    """Files that are no machine, each by another fault."""
    broken, negative, bare, unknown = (json.loads(SMALL.read_text()) for _ in range(4))
    del broken["parameters"]["read_l3"]
    negative["parameters"]["store"]["value"] = "fast"
    bare["parameters"]["store"] = 1
    unknown["processor"] = "z80"
    (folder / "broken.json").write_text(json.dumps(broken))
    (folder / "negative.json").write_text(json.dumps(negative))
    (folder / "bare.json").write_text(json.dumps(bare))
    (folder / "unknown.json").write_text(json.dumps(unknown))
    (folder / "text.json").write_text("{ no json")


def check_wrong() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_wrong_machines(folder)
        cases = [
            (("barrier",), folder / "broken.json", "read_l3"),
            (("barrier",), folder / "negative.json", "store"),
            (("barrier",), folder / "bare.json", "store: expected an object with a value"),
            (("barrier",), stored(folder, "memoryless.xml"), "expected a NUMA node around each"),
            (("barrier",), folder / "unknown.json", "processor: expected one of other, zen4"),
            (("barrier",), folder / "text.json", "text.json:1"),
            (("barrier",), folder / "none.json", "none.json"),
            (("fly",), SMALL, "barrier, bcast"),
            (("barrier", "--ranks", "1024"), CLUSTER, "one node of cluster-128x8"),
            (("barrier", "--nodes", "129"), CLUSTER, "at most 128"),
            (("barrier", "--nodes", "16", "--ranks", "9"), CLUSTER, "at least 16"),
            (("barrier", "--nodes", "4", "--check", "on"), CLUSTER, "--mode timed"),
            (("bcast", "--nodes", "4", "--algorithm", "ring"), CLUSTER, "host-binomial"),
            (("barrier", "--map", "rack"), CLUSTER, "core, node, numa or socket"),
            (("barrier", "--ranks", "0"), SMALL, "--ranks"),
            (("barrier", "--ranks", "many"), SMALL, "--ranks"),
            (("barrier", "--algorithm", "fast"), SMALL, "fast"),
            (("bcast", "--root", "16"), SMALL, "--root"),
            (("bcast", "--bytes", "lots"), SMALL, "lots"),
            (("barrier", "--arrival", "late"), SMALL, "uniform"),
            (("barrier", "--arrival", "uniform:90000s"), SMALL, "of less than a day"),
            (("barrier", "--arrival", f"trace:{folder / 'text.json'}"), SMALL, "text.json:1"),
            (("barrier", "--noise", "loud"), SMALL, "on or off"),
            (("barrier", "--sync", "never"), SMALL, "none, barrier or chain"),
            (("barrier", "--set", "SOBOR_NOTHING=1"), SMALL, "SOBOR_NOTHING"),
            (("barrier", "--set", "SOBOR_WAIT=run"), SMALL, "SOBOR_WAIT"),
            (("barrier", "--enough", "9", "--sync", "chain"), SMALL, "--enough"),
            (("barrier", "--enough", "9", "--check", "on"), SMALL, "--enough"),
            (("barrier", "--speed", "1"), SMALL, "--speed"),
        ]
        for words, machine_file, expected in cases:
            done = call(*words, machine=machine_file)
            assert done.returncode == 2 and done.stdout == "", (words, done)
            assert expected in done.stderr and done.stderr.startswith("sobor: "), (
                words,
                done.stderr,
            )


def check_checked() -> None:
    """Of every algorithm it is said that nothing was found, after all schedules or calls."""
    machine = MACHINES / "xeon-e5620-2s.json"
    words = ("--ranks", 3, "--bytes", "64,600", "--root", "rotate", "--check", "on")
    words += ("--mode", "pct", "--relaxed", "on", "--schedules", 200)
    explored = simulate("bcast", *words, machine=machine)
    assert len(explored) >= 6 and {row["schedules"] for row in explored} == {200}, explored
    words = ("--ranks", 8, "--check", "on", "--mode", "timed", "--algorithm", "tree")
    timed = simulate("barrier", *words, "--calls", 20, machine=machine)
    assert [row["median_us"] > 0 for row in timed] == [True], timed
    assert not any(row["violations"] for row in (*explored, *timed)), (explored, timed)


PARTS = {
    "checked": check_checked,
    "data": check_data,
    "same": check_same,
    "effects": check_effects,
    "large": check_large,
    "reductions": check_reductions,
    "nodes": check_nodes,
    "wrong": check_wrong,
}

if __name__ == "__main__":
    PARTS[sys.argv[2]]()
