# SPDX-License-Identifier: BSD-3-Clause
"""sobor bench: what is asked for, in which order it is run, what is made of the rows."""

import json
import os
import sys
import time
from xml.etree import ElementTree

import pytest

from conftest import write_program
from sobor import libmpi
from sobor.bench import plot
from sobor.bench.figures import figure, plain
from sobor.bench.job import Job, plan_job, run_launch, time_limit
from sobor.bench.measure import _Run, measure
from sobor.bench.request import make_request, split_commands
from sobor.bench.schedule import Measured, jobs, merge
from sobor.bench.skew import explain, is_skewed
from sobor.bench.table import changed, is_outside, lines, summary, windows
from sobor.bench.target import make_target
from sobor.errors import SoborError
from sobor.launchers import Launch
from sobor.system.cpus import Cpus

DEFAULTS = {
    "collectives": "barrier,bcast",
    "ranks": "2",
    "sizes": "8",
    "variants": "hot,cold",
    "launcher": "mpirun",
    "peers": [],
    "algorithms": None,
    "seconds": 0.5,
    "seed": 1,
    "rounds": None,
    "host_only": False,
    "sync": None,
    "libmpi": None,
    "timeout": None,
}


@pytest.fixture
def request_of(fake_native):
    """Makes a request from options that differ from the defaults."""
    return lambda **options: make_request(fake_native, **{**DEFAULTS, **options})


@pytest.fixture
def mpich(make_launcher, launcher_folder):
    """An MPICH on the PATH."""
    library = launcher_folder.parent / "lib" / "libmpich.so.12"
    library.parent.mkdir(exist_ok=True)
    library.touch()
    return make_launcher("mpiexec.mpich", "mpich")


# --- requests ---------------------------------------------------------------------------------


def test_request(request_of):
    request = request_of(sizes="8,1K", ranks="2,4", peers=["a,b", "c"])
    assert request.sizes == [8, 1024]
    assert request.ranks == [2, 4]
    assert request.launchers == ["mpirun", "a", "b", "c"]
    assert request.rounds == 3
    assert request.points(["barrier", "bcast"]) == 5


def test_comma_inside_a_command():
    assert split_commands(r"mpirun --mca btl self\,vader, mpiexec") == [
        "mpirun --mca btl self,vader",
        "mpiexec",
    ]


def test_algorithms(request_of):
    request = request_of(algorithms="barrier:tree,bcast:ring,bcast:auto")
    assert request.algorithms == {"barrier": ["tree"], "bcast": ["ring", "auto"]}


def test_of_one_operation_names_will_do(request_of):
    request = request_of(collectives="bcast", algorithms="ring, bcast:auto")
    assert request.algorithms == {"bcast": ["ring", "auto"]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"collectives": "bcast,gather"}, 'found "gather"'),
        ({"sync": "none"}, '--sync: expected own or common, found "none"'),
        ({"method": "sober"}, "--method: expected words out of sobor, single, row, window, found"),
        ({"buffers": "huge"}, '--buffers: expected malloc or aligned, found "huge"'),
        ({"variants": "warm"}, '--variants: expected words out of hot, cold, chain, found "warm"'),
        ({"sizes": "8,x"}, "--sizes: expected a size"),
        ({"ranks": "two"}, "--ranks: expected numbers"),
        ({"algorithms": "tree"}, 'found "tree"'),
        ({"algorithms": "barrier:ring"}, 'barrier has auto, host, flat, tree, found "ring"'),
        ({"collectives": "bcast", "algorithms": "barrier:flat"}, "expected COLLECTIVE:NAME"),
        ({"collectives": "bcast", "algorithms": "ring,"}, "expected COLLECTIVE:NAME"),
    ],
)
def test_wrong_requests(request_of, options, words):
    with pytest.raises(SoborError) as error:
        request_of(**options)
    assert words in error.value.message


@pytest.mark.parametrize(
    ("options", "points"),
    [
        ({}, [1, 4, 1]),
        ({"method": "single"}, [2, 8, 1]),
        ({"method": "single", "sync": "common"}, [1, 4, 1]),
        ({"method": "row,single,window,sobor", "variants": "hot,cold,chain"}, [5, 22, 1]),
        ({"variants": "chain"}, [1, 2, 1]),
    ],
)
def test_points_of_the_methods(request_of, options, points):
    request = request_of(sizes="8,1K", **options)
    assert [request.points([name]) for name in ("barrier", "bcast", "passthrough")] == points


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "row", "sync": "own"}, ["--sync own", "--method row"]),
        ({"method": "single,row", "variants": "hot,chain"}, ["--variants chain", "--method sobor"]),
        ({"method": "window", "explain": True}, ["--explain", "--method window"]),
    ],
)
def test_options_that_contradict_each_other(request_of, options, words):
    """The error names both."""
    with pytest.raises(SoborError) as error:
        request_of(**options)
    assert all(word in error.value.message for word in words)
    assert "--method" in error.value.remedy


# --- targets and commands ---------------------------------------------------------------------


def command_of(request, native, ranks, cores=2, forced=None):
    target = make_target(request.launchers[0], native)
    job = Job(target, ranks, ["barrier", "bcast"], forced or {})
    return plan_job(job, request, native, cores)


def test_openmpi_command(request_of, fake_native, openmpi):
    request = request_of(seconds=0.6, rounds=3)
    launch = command_of(request, fake_native, 2, forced={"barrier": "tree"})
    words = " ".join(launch.argv)
    assert words.startswith(
        f"mpirun -x LD_PRELOAD={fake_native.preload} -x SOBOR_BARRIER_ALGORITHM="
    )
    assert "--bind-to core -n 2" in words
    library = openmpi.parent.parent / "lib" / "libmpi.so.40"
    assert (
        f"{fake_native.bench} --abi ompi40 --libmpi {library} --collectives barrier,bcast" in words
    )
    assert "--sizes 8 --variants hot,cold --seconds 0.2 --seed 1 --method sobor" in words
    assert "--sync" not in words


def test_buffers_are_as_malloc_gives_them_unless_asked(request_of, fake_native, openmpi):
    assert "--buffers malloc" in " ".join(command_of(request_of(), fake_native, 2).argv)
    aligned = command_of(request_of(buffers="aligned"), fake_native, 2).argv
    assert "--buffers aligned" in " ".join(aligned)


def test_oversubscribed_ranks_are_not_bound(request_of, fake_native, openmpi, mpich):
    words = " ".join(command_of(request_of(), fake_native, 4).argv)
    assert "--bind-to none --oversubscribe -n 4" in words
    words = " ".join(command_of(request_of(launcher="mpiexec.mpich"), fake_native, 4).argv)
    assert "-bind-to none -n 4" in words


@pytest.mark.parametrize(("nodes", "crowded"), [(None, False), ("1", True), ("2", False)])
def test_slurm_counts_the_nodes_of_an_allocation(
    request_of, fake_native, openmpi, make_launcher, monkeypatch, nodes, crowded
):
    make_launcher("srun", "slurm")
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    if nodes is not None:
        monkeypatch.setenv("SLURM_JOB_NUM_NODES", nodes)
    library = str(openmpi.parent.parent / "lib" / "libmpi.so.40")
    target = make_target("srun", fake_native, library)
    assert ("--overcommit" in target.start(8, 4)) == crowded
    assert "--overcommit" in target.start(9, 4) or nodes != "2"


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("mpirun -n 2 ./app", "./app"),
        ("mpirun --oversubscribe sh -c true", "sh"),
        ("mpirun app", "app"),
        ("mpirun --mca btl self --unlisted sh", None),
        ("mpirun --bind-to none --unlisted 4", None),
    ],
)
def test_a_launcher_alone_is_expected(fake_native, openmpi, command, found):
    """A program behind it would be started in the place of the bench."""
    if found is None:
        assert make_target(command, fake_native).command == command
        return
    with pytest.raises(SoborError, match=f"{command}: expected .*, found {found} behind it"):
        make_target(command, fake_native)


def test_the_users_own_options_are_not_overruled(request_of, fake_native, openmpi):
    request = request_of(launcher="mpirun --bind-to hwthread --mca coll ^tuned")
    words = " ".join(command_of(request, fake_native, 2).argv)
    assert "--bind-to hwthread --mca coll ^tuned -n 2" in words
    assert "--bind-to core" not in words


@pytest.mark.parametrize("command", ["mpirun --bind-to=none", "mpiexec.mpich -bind-to=none"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_options_with_their_values_behind_an_equals_sign(
    request_of, fake_native, openmpi, mpich, command, ranks
):
    words = command_of(request_of(launcher=command), fake_native, ranks).argv
    assert [word for word in words if "bind-to" in word] == command.split()[1:]


def test_root_may_run_open_mpi(request_of, fake_native, openmpi, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert command_of(request_of(), fake_native, 2).env["OMPI_ALLOW_RUN_AS_ROOT"] == "1"
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert command_of(request_of(), fake_native, 2).env == {}


def test_heap_stands_first_where_it_is_asked_for(request_of, fake_native, openmpi, monkeypatch):
    both = f"{fake_native.heap}:{fake_native.preload}"
    assert both not in " ".join(command_of(request_of(), fake_native, 2).argv)
    monkeypatch.setenv("SOBOR_HEAP", "on")
    assert both in " ".join(command_of(request_of(), fake_native, 2).argv)


def test_without_a_back_end_the_host_is_timed_alone(request_of, fake_native, openmpi):
    fake_native.backend("ompi40").unlink()
    launch = command_of(request_of(), fake_native, 2)
    assert launch.argv[-1] == "--host-only"
    assert "LD_PRELOAD" not in " ".join(launch.argv)


def test_launchers_that_cannot_be_measured(fake_native, openmpi, make_launcher, monkeypatch):
    with pytest.raises(SoborError, match="sh is not an MPI launcher"):
        make_target("sh", fake_native)
    make_launcher("mpiexec", "mpich")
    monkeypatch.setattr(libmpi, "system_libraries", dict)
    with pytest.raises(SoborError, match="library was not found") as error:
        make_target("mpiexec", fake_native)
    assert "--libmpi" in error.value.remedy
    (fake_native.libraries / "libsobor-bench-ompi40.so").unlink()
    with pytest.raises(SoborError, match="not built for its ABI, ompi40"):
        make_target("mpirun", fake_native)


# --- running ----------------------------------------------------------------------------------


def test_job_that_hangs_is_stopped():
    started = time.monotonic()
    launch = Launch(["sh", "-c", 'echo "{\\"a\\": 1}"; sleep 60'])
    outcome = run_launch(launch, 3, lambda row: None)
    assert time.monotonic() - started < 30
    assert outcome.rows == [{"a": 1}]
    assert "no end after 3 s, stopped" in outcome.problem


def test_job_that_fails_shows_the_end_of_its_errors():
    launch = Launch(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo line $i >&2; done; exit 3"])
    problem = run_launch(launch, 30, lambda row: None).problem
    assert problem.startswith("exit status 3\n")
    assert "line 8" in problem
    assert "line 1" not in problem


def test_time_limit_grows_with_the_points(request_of):
    job = Job(None, 2, ["barrier", "bcast"])
    assert time_limit(job, request_of(sizes="8,9,10")) > time_limit(job, request_of())
    assert time_limit(job, request_of(timeout=5)) == 5


# --- order and merging ------------------------------------------------------------------------


def row(**changes):
    base = {"collective": "bcast", "ranks": 2, "bytes": 8, "variant": "hot", "algorithm": "ring"}
    base |= {
        "host": "H",
        "host_us": 4.0,
        "sobor_us": 2.0,
        "ratio": 2.0,
        "calls": 10,
        "checked": True,
        "nodes": 1,
        "processors": 8,
        "oversubscribed": False,
    }
    return {**base, **changes}


class FakeTarget:
    """Enough of a target for the schedule."""

    def __init__(self, command, preloads=True):
        self.command = command
        self.preloads = preloads


def test_targets_take_turns(request_of):
    request = request_of(ranks="2,4", rounds=2)
    order = [
        (job.ranks, number) for number, job in jobs(request, [FakeTarget("a"), FakeTarget("b")])
    ]
    assert order == [(2, 0), (2, 1), (2, 0), (2, 1), (4, 0), (4, 1), (4, 0), (4, 1)]


def test_former_names_of_algorithms_are_taken(request_of):
    request = request_of(algorithms="bcast:loop,barrier:tree")
    assert request.algorithms == {"bcast": ["ring"], "barrier": ["tree"]}


def test_forced_algorithms_run_together_where_they_can(request_of):
    request = request_of(algorithms="barrier:tree,bcast:ring,bcast:slots")
    targets = [FakeTarget("a"), FakeTarget("b", preloads=False)]
    plan = [(number, job.collectives, job.forced) for number, job in jobs(request, targets)]
    assert plan[:2] == [
        (0, ["barrier", "bcast"], {"barrier": "tree", "bcast": "ring"}),
        (0, ["bcast"], {"bcast": "slots"}),
    ]
    assert plan[2] == (1, ["barrier", "bcast"], {})


def test_an_operation_without_a_forced_algorithm_is_measured_once(request_of):
    request = request_of(algorithms="bcast:ring,bcast:slots", rounds=1)
    plan = [(job.collectives, job.forced) for _, job in jobs(request, [FakeTarget("a")])]
    assert plan == [(["barrier", "bcast"], {"bcast": "ring"}), (["bcast"], {"bcast": "slots"})]


def test_rounds_become_their_median(request_of):
    rounds = [
        Measured(0, 2, None, row(host_us=n, host_us_p10=n / 2, sobor_switches=n, host_sleeps_p90=n))
        for n in (9.0, 1.0, 3.0)
    ]
    (merged,) = merge(rounds, request_of(), [FakeTarget("mpirun")])
    assert (merged["host_us"], merged["host_us_p10"], merged["calls"]) == (3.0, 1.5, 30)
    assert (merged["sobor_switches"], merged["host_sleeps_p90"]) == (3.0, 3.0)
    assert (merged["launcher"], merged["rounds"], merged["checked"]) == ("mpirun", 3, True)


def test_one_wrong_round_makes_the_point_wrong(request_of):
    rounds = [Measured(0, 2, None, row(checked=checked)) for checked in (True, False, True)]
    (merged,) = merge(rounds, request_of(), [FakeTarget("mpirun")])
    assert merged["checked"] is False


def test_rows_are_ordered_for_reading(request_of):
    request = request_of(sizes="8,1K", ranks="2,4")
    measured = [
        Measured(1, 2, None, row()),
        Measured(0, 4, None, row(ranks=4)),
        Measured(0, 2, None, row(bytes=1024)),
        Measured(0, 2, None, row(variant="cold")),
        Measured(0, 2, None, row()),
        Measured(0, 2, None, row(collective="barrier", bytes=0)),
    ]
    merged = merge(measured, request, [FakeTarget("a"), FakeTarget("b")])
    shown = [(r["ranks"], r["collective"], r["bytes"], r["variant"], r["launcher"]) for r in merged]
    assert shown == [
        (2, "barrier", 0, "hot", "a"),
        (2, "bcast", 8, "hot", "a"),
        (2, "bcast", 8, "hot", "b"),
        (2, "bcast", 8, "cold", "a"),
        (2, "bcast", 1024, "hot", "a"),
        (4, "bcast", 8, "hot", "a"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0123, "0.0123"),
        (0.4123, "0.412"),
        (4.123, "4.12"),
        (41.23, "41.2"),
        (4123, "4123"),
    ],
)
def test_figure(value, text):
    assert figure(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5, "2.5"), (99999.5, "99999.5"), (1234567, "1234567"), (32e6, "32000000")],
)
def test_a_number_without_an_exponent(value, text):
    assert plain(value) == text


def test_summary_against_the_best_host():
    rows = [
        row(launcher="a", host="A", host_us=4.0, sobor_us=2.0, ratio=2.0),
        row(launcher="b", host="B", host_us=3.0, sobor_us=None, ratio=None),
        row(launcher="a", host="A", bytes=9, host_us=4.0, sobor_us=8.0, ratio=0.5),
    ]
    first, best = summary(rows)
    assert first == "A: Sobor is ahead in 1 of 2; geometric mean of host/Sobor 1.00"
    assert "at least level in 1 of 2, median ratio 1.00" in best


def test_lines_tell_what_a_line_takes_and_how_near_a_barrier_of_two_comes():
    near = row(launcher="a", collective="barrier", sobor_us=0.3, line_us=0.25)
    said = "H: a cache line from rank 0 to rank 1 and back takes "
    assert lines([near, row(launcher="a")]) == [f"{said}0.250 µs; Sobor's barrier 1.20 of that"]
    assert lines([{**near, "ranks": 4}]) == [f"{said}0.250 µs"]
    assert lines([{**near, "sobor_us": None}, row(launcher="a", line_us=0.5)]) == [
        f"{said}0.375 µs (0.250 to 0.500)"
    ]
    assert lines([row(launcher="a", line_us=None)]) == []


def skewed_row(**changes):
    times = {"host_us": 1.0, "host_skew_us": 8.0, "host_span_us": 9.0}
    times |= {"sobor_us": 2.0, "sobor_skew_us": 0.1, "sobor_span_us": 2.0, "ratio": 0.5}
    place = {"method": "sobor", "sync": "own", "launcher": "a", "forced": None}
    return row(**{**times, **place, **changes})


def test_skew_is_told_from_the_call():
    own = skewed_row()
    common = skewed_row(sync="common", host_us=17.0, host_span_us=17.0)
    window = skewed_row(method="window", sync=None, host_us=9.0)
    assert (is_skewed(own), is_skewed(common), is_skewed(window)) == (True, False, False)
    explain([own, common, window])
    assert own["host_hidden"] == pytest.approx(8 / 9) and own["sobor_hidden"] == 0
    assert own["ratio_span"] == 4.5
    # From 1 to 17 the skew is half of the way, from 1 to 9 all of it; Sobor's times are the same.
    assert own["host_explained"] == {"sobor, common": 0.5, "window": 1.0}
    assert own["sobor_explained"] == {"sobor, common": None, "window": None}
    assert common["host_explained"] == {"window": 0.0}
    assert "host_hidden" not in window


def test_a_ratio_outside_its_spread_is_marked():
    steady = row(ratio=1.5, ratio_p10=1.5, ratio_p90=1.9)
    assert not is_outside(steady) and changed([steady]) == []
    assert not is_outside(row(ratio=1.5, ratio_p10=None, ratio_p90=None))
    for ratio in (1.4, 2.0):
        other = {**steady, "ratio": ratio}
        assert is_outside(other)
        assert changed([steady, other])[0].startswith("~ ")


def test_means_of_ranks_are_compared_by_the_largest():
    single = skewed_row(method="single", host_us=0.5, host_max_us=4.5)
    explain([single])
    assert single["host_hidden"] == 0.5


# --- the command line -------------------------------------------------------------------------


def test_table(command, fake_native, openmpi):
    result = command("bench", "--ranks", "2,4", "--sizes", "8,1K")
    assert result.status == 0
    assert result.out.count("Sobor µs") == 2
    assert "switches" not in result.out
    assert "4 ranks on" in result.out
    assert "Sobor is ahead in 9 of 9" in result.out


def test_table_of_several_methods(command, fake_native, openmpi):
    words = ["bench", "bcast", "--ranks", "2", "--sizes", "8", "--variants", "hot"]
    out = command(*words, "--method", "sobor,single,row,window").out
    told = [line.split("auto")[0].split("hot")[-1].strip() for line in out.splitlines()]
    shown = [line for line in told if line in WAYS]
    assert shown == WAYS
    # The host's figure after its own barrier is marked, and the mark explained.
    assert out.count("1.00 *") == 1 and "see --explain" in out
    assert "largest µs" in out and "2.00 / 2.00" in out
    assert "single, common: ompi40: Sobor is ahead in 1 of 1" in out
    assert "began late: host 2, Sobor 3" in out
    alone = command(*words, "--method", "row").out
    assert "method" not in alone and "largest" not in alone


WAYS = ["sobor, common", "single, own", "single, common", "row", "window"]


def test_limits_are_shown_beside_the_table(command, fake_native, openmpi):
    """Two ranks alone have them; who is beyond them is counted."""
    words = ["bench", "allreduce", "--sizes", "64K", "--variants", "hot"]
    out = command(*words, "--ranks", "2,4", "--limits").out
    assert out.count("non-temporal µs") == 1
    assert "1.90" in out and "1.60" in out
    assert "within 1.15 of the best limit in 0 of 1; geometric mean of Sobor/limit 1.25" in out
    assert "limit" not in command(*words, "--ranks", "2").out


def test_limits_need_two_ranks_of_sobor(request_of, fake_native, openmpi):
    for options in ({"ranks": "4"}, {"host_only": True}):
        with pytest.raises(SoborError, match="--limits compares two ranks of Sobor"):
            request_of(limits=True, **options)
    request = request_of(limits=True, ranks="2,4")
    assert "--limits" in command_of(request, fake_native, 2).argv
    assert "--limits" not in command_of(request, fake_native, 4).argv


def test_a_window_that_nobody_could_keep(command, fake_native, openmpi):
    lost = row(launcher="a", method="window", host_us=None, sobor_us=None, ratio=None)
    assert "not measured" in windows([{**lost, "host_late": 0, "sobor_late": 0}])[0]
    assert "host 7, Sobor 0" in windows([{**lost, "host_late": 7, "sobor_late": 0}])[0]
    assert summary([lost, {**lost, "launcher": "b", "host": "B"}]) == []


def test_explain(command, fake_native, openmpi):
    words = ["bench", "bcast", "--ranks", "2", "--sizes", "8", "--variants", "hot", "--explain"]
    out = command(*words).out
    assert "2 ranks: how much of it is skew" in out
    (own,) = [line for line in out.splitlines() if "67%" in line]
    assert own.split("own")[1].split() == "host 2.00 4.00 6.00 67% 100% of single, common".split()
    first, second = command(*words, "--json", "-").json
    assert (first["sync"], first["ratio_span"]) == ("own", 3.0)
    assert first["host_explained"] == {"single, common": 1.0}
    assert second["host_hidden"] == 0.0


def test_switches_are_shown_where_ranks_take_turns(command, fake_native, openmpi, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "switches")
    result = command("bench", "barrier", "--ranks", "2,32")
    assert result.out.count("3.00 / 1.50") == 1
    assert "32 ranks on 8 processors: ranks take turns" in result.out.split("3.00 / 1.50")[0]
    assert "one in which each waits for all needs at least 0.75" in result.out


def test_ranks_share_processors_as_sobor_found(
    command, fake_native, openmpi, monkeypatch, tmp_path
):
    """And not where there are more of them than cores: a core may have several processors."""
    monkeypatch.setattr(Cpus, "usable", 4)
    monkeypatch.setenv("FAKE_BENCH", "behind")
    file = tmp_path / "tuning.json"
    words = ("bench", "bcast", "--ranks", "8,16", "--sizes", "4096", "--write-tuning", str(file))
    result = command(*words)
    assert "8 ranks on 8 processors\n" in result.out
    assert "16 ranks on 8 processors: ranks take turns" in result.out
    rules = json.loads(file.read_text())["rules"]
    assert [(rule["ranks"], rule["oversubscribed"]) for rule in rules] == [(8, False), (16, True)]


def test_several_nodes_give_no_rules(command, fake_native, openmpi, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE_BENCH", "behind-nodes")
    file = tmp_path / "tuning.json"
    words = ("bench", "bcast", "--ranks", "4", "--sizes", "4096", "--write-tuning", str(file))
    result = command(*words)
    assert "4 ranks on 8 processors of 2 nodes\n" in result.out
    assert "what those of 2 nodes did together gives none" in " ".join(result.err.split())
    assert json.loads(file.read_text())["rules"] == []


def test_json_to_a_file_and_the_output(command, fake_native, openmpi, tmp_path):
    file = tmp_path / "rows.json"
    assert command("bench", "--sizes", "8", "--ranks", "2", "--json", str(file)).status == 0
    rows = json.loads(file.read_text())
    keys = {"collective", "ranks", "bytes", "variant", "algorithm", "host"}
    keys |= {"host_us", "sobor_us", "ratio", "calls", "host_us_p10", "host_us_p90", "ratio_p90"}
    assert len(rows) == 5
    assert all(keys <= set(one) for one in rows)
    assert command("bench", "--sizes", "8", "--ranks", "2", "--json", "-").json == rows


def test_peers_add_rows_with_their_host(command, fake_native, openmpi, mpich):
    result = command(
        "bench", "bcast", "--ranks", "2", "--sizes", "8", "--peers", "mpiexec.mpich", "--json", "-"
    )
    assert {(r["host"], r["launcher"], r["rounds"]) for r in result.json} == {
        ("ompi40", "mpirun", 3),
        ("mpich12", "mpiexec.mpich", 3),
    }


def test_forced_algorithms_reach_the_ranks(command, fake_native, openmpi):
    result = command(
        "bench",
        "barrier",
        "--ranks",
        "2",
        "--algorithms",
        "barrier:flat,barrier:tree",
        "--json",
        "-",
    )
    assert [one["algorithm"] for one in result.json] == ["flat", "tree"]


def test_host_only(command, fake_native, openmpi):
    result = command("bench", "barrier", "--ranks", "2", "--host-only", "--json", "-")
    assert [one["sobor_us"] for one in result.json] == [None]


def test_failed_job_is_reported_and_the_rest_is_shown(command, fake_native, openmpi, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "fail")
    result = command("bench", "--ranks", "2")
    assert result.status == 1
    assert "Open MPI 4.1.4, 2 ranks: exit status 1" in result.err
    assert "wrong data" in result.err
    assert "barrier" in result.out


def test_hanging_job_ends_at_the_limit(command, fake_native, openmpi, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "hang")
    result = command("bench", "--ranks", "2", "--timeout", "1")
    assert result.status == 1
    assert "no end after 1 s, stopped" in result.err


def test_what_sobor_says_is_passed_on_once(command, fake_native, openmpi, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "notice")
    result = command("bench", "--ranks", "2,4")
    assert result.err.count("shared memory not available") == 1


def test_interrupt_shows_what_is_there(command, fake_native, openmpi, monkeypatch):
    original = _Run._one

    def interrupted(self, number, job, progress, task):
        original(self, number, job, progress, task)
        raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "_one", interrupted)
    result = command("bench", "--ranks", "2,4")
    assert result.status == 130
    assert "2 ranks on" in result.out
    assert "4 ranks on" not in result.out


def test_interrupt_of_what_is_wanted_whole(fake_native, openmpi, monkeypatch, capsys):
    """As rules and estimates are: it is an interrupt, and of what is there nothing is said."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "_one", interrupted)
    request = make_request(
        fake_native, collectives="barrier", ranks="2", sizes="8", variants="hot", launcher="mpirun",
        peers=[], algorithms=None, seconds=0.1, seed=1, rounds=None, host_only=False, sync=None,
        libmpi=None, timeout=None,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        measure(request, fake_native, 2)
    assert "stopped" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--launcher", "mpirun.none"], "mpirun.none: command not found"),
        (["--ranks", "1"], "at least 2 ranks"),
        (["--json", "/no/such/folder/x"], "expected a file that can be written"),
        (["--seconds", "0"], "--seconds"),
        (["--bogus"], "--bogus"),
        (["--study", "trees", "--method", "row"], "--method does not go with --study"),
        (["--method", "row,single", "--write-tuning", "t.json"], "found --method row,single"),
        (["--libmpi", "/no/libmpi.so.40"], "/no/libmpi.so.40: no such file"),
    ],
)
def test_errors(command, fake_native, openmpi, arguments, words):
    result = command("bench", *arguments)
    assert result.status == 2
    assert words in result.err


# --- peers by name ----------------------------------------------------------------------------

INFO = "#!/bin/sh\necho mca:coll:tuned:version:mca:2.1.0\necho mca:coll:{}:version:mca:2.1.0\n"


@pytest.fixture
def with_xhc(openmpi):
    """An Open MPI that has coll/xhc."""
    write_program(openmpi.parent / "ompi_info", INFO.format("xhc"))
    return openmpi


@pytest.fixture
def with_release_gather(mpich):
    """An MPICH that has release_gather."""
    (mpich.parent.parent / "lib" / "libmpich.so.12").write_bytes(b"\0MPI release_gather\0")
    return mpich


@pytest.fixture
def alone(launcher_folder, monkeypatch):
    """No launchers but those made for the test."""
    monkeypatch.setenv("PATH", str(launcher_folder))


def test_component_by_name(fake_native, with_xhc, alone):
    target = make_target("xhc", fake_native)
    assert target.words == [str(with_xhc), "--mca", "coll_xhc_priority", "100"]
    assert (target.command, target.library.abi) == ("xhc", "ompi40")
    assert make_target(f"xhc@{with_xhc} --bind-to none", fake_native).words[:3] == [
        str(with_xhc),
        "--bind-to",
        "none",
    ]


def test_a_folder_of_the_path_with_blanks(fake_native, with_xhc, tmp_path, monkeypatch):
    folder = tmp_path / "my mpi"
    folder.symlink_to(with_xhc.parent)
    monkeypatch.setenv("PATH", str(folder))
    assert make_target("xhc", fake_native).words[0] == str(folder / "mpirun")


def test_release_gather_by_name(fake_native, with_xhc, with_release_gather, alone):
    target = make_target("release_gather", fake_native)
    assert target.words[0] == str(with_release_gather)
    given = dict(zip(target.words[2::3], target.words[3::3], strict=True))
    assert given["MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM"] == "release_gather"
    assert set(target.words[1::3]) == {"-genv"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("acoll", "it has no coll/acoll"),
        ("xhc@mpiexec.mpich", "not of Open MPI"),
        ("release_gather", "has no release_gather"),
        ("release_gather@mpirun", "not of MPICH"),
        ("xhc@mpirun.none", "found no launcher mpirun.none"),
    ],
)
def test_why_a_named_peer_is_not_there(fake_native, with_xhc, mpich, alone, name, why):
    with pytest.raises(SoborError) as error:
        make_target(name, fake_native)
    assert why in error.value.message


def test_no_launcher_of_the_product(fake_native, mpich, alone):
    with pytest.raises(SoborError) as error:
        make_target("xhc", fake_native)
    assert error.value.message == "xhc: no Open MPI on the PATH"


def test_named_peers_in_the_table(command, fake_native, with_xhc):
    words = ["bench", "barrier", "--ranks", "2", "--rounds", "1", "--peers", "xhc,acoll"]
    result = command(*words, "--json", "-")
    assert result.status == 0, result.err
    assert [row["launcher"] for row in result.json] == ["mpirun", "xhc"]
    assert "left out: acoll: " in result.err and "no coll/acoll" in result.err
    assert "(xhc)" in command(*words).out


def test_a_named_peer_is_not_what_all_are_compared_with(command, fake_native, with_xhc):
    result = command("bench", "barrier", "--launcher", "acoll", "--ranks", "2")
    assert result.status == 2
    assert "acoll: " in result.err


def texts_of(path):
    root = ElementTree.parse(path).getroot()
    return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_plot(command, openmpi, fake_native, tmp_path):
    """A part for each collective, the host beside Sobor, axes with their units."""
    path = tmp_path / "times.svg"
    words = ["--ranks", "2,4", "--sizes", "8,64K", "--variants", "hot", "--plot", str(path)]
    result = command("bench", "barrier,bcast", *words)
    assert result.status == 0 and f"written to {path}" in result.err
    texts = texts_of(path)
    assert {"time, µs", "message, bytes", "ranks", "8", "64K"} <= set(texts)
    assert "bcast, hot buffers, method sobor, common" in texts
    assert sum(text.startswith("Sobor, 2 ranks") for text in texts) == 1
    assert sum(text.startswith("ompi40, 4 ranks") for text in texts) == 1
    for wrong in (["--plot", "x.png"], ["--plot", str(path), "--study", "slots"]):
        assert command("bench", "bcast", *wrong).status == 2


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "bcast", "--sizes", "8", "--plot", "times.svg"],
        ["bench", "bcast", "--study", "slots", "--machine", "kunpeng920-2s"],
        ["bench", "bcast", "--study", "arrival", "--machine", "kunpeng920-2s"],
        ["study", "barrier", "6"],
        ["platform", "--plot", "x.svg", "--", "mpirun"],
    ],
)
def test_matplotlib_is_looked_for_before_anything_is_measured(
    command, openmpi, fake_native, tmp_path, monkeypatch, words
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setenv("FAKE_ARGUMENTS", str(tmp_path / "arguments"))
    monkeypatch.chdir(tmp_path)
    result = command(*words)
    assert result.status == 2 and "Matplotlib" in result.err
    assert not (tmp_path / "arguments").exists()


def test_what_was_measured_is_shown_if_it_cannot_be_drawn(
    command, openmpi, fake_native, tmp_path, monkeypatch
):
    def fail(*_words):
        raise SoborError("no room for a picture")

    monkeypatch.setattr(plot, "draw", fail)
    file = tmp_path / "times.json"
    words = ["--sizes", "8", "--json", str(file), "--plot", str(tmp_path / "times.svg")]
    result = command("bench", "bcast", *words)
    assert result.status == 2 and "no room for a picture" in result.err
    assert "bcast" in result.out and json.loads(file.read_text())


def test_seconds_are_for_all_rounds(command, openmpi, fake_native, tmp_path, monkeypatch):
    """Each job takes its part of them, and less than a millisecond it does not take."""
    monkeypatch.setenv("FAKE_ARGUMENTS", str(tmp_path / "arguments"))
    words = ["bench", "bcast", "--sizes", "8", "--seconds", "0.001"]
    result = command(*words, "--peers", "mpirun")
    assert result.status == 2 and not (tmp_path / "arguments").exists()
    expected = "--seconds: expected at least 0.001 for each of 3 rounds, found 0.001"
    assert expected in " ".join(result.err.split())
    assert command(*words).status == 0


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["bench", "bcast", "--launcher", "mpirun 'x"], "--launcher: mpirun 'x: no closing"),
        (["bench", "bcast", "--peers", "sm@mpirun 'x"], "--peers: mpirun 'x: no closing"),
        (["bench", "bcast", "--peers", "mpirun 'x"], "--peers: mpirun 'x: no closing"),
    ],
)
def test_a_quote_that_does_not_end(command, openmpi, fake_native, words, option):
    result = command(*words)
    assert result.status in (0, 2) and option in " ".join(result.err.split())


def test_a_file_that_cannot_be_written_is_refused(
    command, openmpi, fake_native, tmp_path, monkeypatch
):
    """Its folder may take new files; root may write both, so the system's answer is made up."""
    file = tmp_path / "times.json"
    file.touch()
    monkeypatch.setattr(os, "access", lambda path, _mode: str(path) != str(file))
    result = command("bench", "bcast", "--sizes", "8", "--json", str(file))
    assert result.status == 2
    assert f"--json: {file}: expected a file that can be written" in " ".join(result.err.split())
