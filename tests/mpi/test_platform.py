# SPDX-License-Identifier: BSD-3-Clause
"""sobor platform over emulated hosts of limited bandwidth: what it finds is what was set.

What takes minutes and needs a quiet machine is run with SOBOR_TEST_LONG alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from statistics import median

import pytest
from emulated_hosts import AGENT, NETWORK, Hosts, unavailable
from jobs import base_environment
from mpis import BUILD, REPOSITORY
from test_hosts import Place, run_on

from conftest import usable_mpi

HOSTS = 4
REASON = unavailable()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
SECONDS = "0.2"


def measure(
    mpi, folder, rate: str | None, star: bool, *options: str, hosts_made=HOSTS, seconds=SECONDS
) -> dict:
    """What the command finds with one rank on each host."""
    hosts = folder / "hosts"
    hosts.mkdir()
    answers = folder / "platform.json"
    subnet = f"{NETWORK}.0/24"
    with Hosts(hosts_made, hosts, rate, star) as made:
        settings = {
            "plm_rsh_agent": str(AGENT),
            "mpi_yield_when_idle": "1",
            "pml": "ob1",
            "btl": "self,vader,tcp",
            "btl_tcp_if_include": subnet,
            "oob_tcp_if_include": subnet,
        }
        mca = [word for pair in settings.items() for word in ("--mca", *pair)]
        launcher = [str(mpi.launcher), *mca, "-H", ",".join(made.names), "-n", str(hosts_made)]
        command = [sys.executable, "-m", "sobor", "platform", "--seconds", seconds, "--json"]
        command += [str(answers), *options, "--"]
        words = " ".join(f"'{word}'" for word in [*command, *launcher])
        environment = {
            **base_environment(),
            **made.environment,
            "PYTHONPATH": str(REPOSITORY / "python"),
            "SOBOR_PREFIX": str(BUILD),
        }
        result = subprocess.run(
            [str(AGENT), made.names[0], words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(answers.read_text())


def test_several_hosts(tmp_path):
    """All that is measured between nodes is there; how fast they are is not asked."""
    answers = measure(usable_mpi("o41"), tmp_path, None, False, seconds="0.002")
    assert answers["job"]["nodes"] == answers["job"]["ranks"] == HOSTS
    assert answers["switch"]["value"] in ("star", "crossbar", "blocking")
    assert answers["switch"]["pairs"] == 2
    assert answers["reference_precision_us"]["by"] == "synchronised clocks"
    found = {(row["collective"], row["bytes"]) for row in answers["forecasts"]}
    sizes = [1024 * 4**k for k in range(6)]
    assert found == {(name, size) for name in ("allgather", "alltoall") for size in sizes}
    assert all(row["forecast_us"] > 0 and row["measured_us"] > 0 for row in answers["forecasts"])
    crossing = answers["crossing_elements"]
    assert crossing["model"] > 0
    assert len(crossing["measured_gains"]) == len(crossing["whole_gains"]) == 13


def measure_in_turn(folder, rate: str, star: bool, *options: str, **wanted) -> dict:
    """A measurement of Open MPI 4.1, in the next folder."""
    own = folder / str(len(list(folder.iterdir())))
    own.mkdir()
    return measure(usable_mpi("o41"), own, rate, star, *options, **wanted)


@pytest.fixture(scope="module")
def first_found(tmp_path_factory):
    """What was found first of a network, and the machine file of it: it takes a minute."""

    @cache
    def measure_once(rate: str | None, star: bool) -> tuple[dict, Path]:
        folder = tmp_path_factory.mktemp("found")
        machine = folder / "mine.json"
        return measure(usable_mpi("o41"), folder, rate, star, "--write", str(machine)), machine

    return measure_once


def crosses_as_expected(answers: dict) -> bool:
    """Within a factor of 2 of the formulas, where each-with-each makes the transfers they count.

    They add up latencies. Ends that have no processor of their own have other transfers to do
    meanwhile: then each adds what its sender is busy with it, and they cross so much earlier.
    """
    found = answers["crossing_elements"]
    shares = [1, answers["overhead_us"]["value"] / answers["ts_us"]["value"]]
    return min(shares) / 2 < found["measured"] / found["model"] < 2 * max(shares)


def check_crossing(measure_again, answers: dict, hosts: int = HOSTS) -> None:
    """Where each-with-each gets ahead of BAGDS on a star, and what it takes of long blocks.

    One call that was disturbed moves it: if it is elsewhere, it is not in two more measurements.
    """
    all_found = [answers]
    if not crosses_as_expected(answers):
        all_found += [measure_again() for _ in range(2)]
    assert all(map(crosses_as_expected, all_found[-2:])), all_found
    gains = [each["gain"] for each in answers["crossing_elements"]["measured_gains"]]
    assert median(gains[:3]) > 1 > median(gains[-3:]), gains
    # (p - 1)^2 blocks for p (p - 1).
    assert 1 / 1.3 < median(gains[-3:]) * hosts / (hosts - 1) < 1.3, gains


def wrong_forecasts(answers: dict) -> set[tuple[str, int]]:
    """The calls that take 1.3 times as long as foretold, or as much less.

    The hosts here share this machine's processors, as no forecast knows: in each transfer an end
    may wait until others are done with what theirs costs both ends.
    """
    turns = max(HOSTS / answers["job"]["processors"] - 1, 0)
    waits = turns * (HOSTS - 1) * 2 * answers["overhead_us"]["value"]
    return {
        (row["collective"], row["bytes"])
        for row in answers["forecasts"]
        if not row["forecast_us"] / 1.3 < row["measured_us"] < (row["forecast_us"] + waits) * 1.3
    }


def check_forecasts(measure_again, answers: dict) -> None:
    """All calls take what is foretold. One that was disturbed does when measured twice again."""
    wrong = wrong_forecasts(answers)
    if wrong:
        wrong &= wrong_forecasts(measure_again()) & wrong_forecasts(measure_again())
    assert not wrong, answers["forecasts"]


@pytest.mark.alone
@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize("kind", ["star", "crossbar"])
@pytest.mark.parametrize("rate", [100, 400])
def test_limits_are_found(first_found, tmp_path, rate, kind):
    """Bandwidth within 10 %, which switch it is, forecasts of calls within 1.3, and BAGDS."""
    network = f"{rate}mbit", kind == "star"
    answers, _machine = first_found(*network)
    assert answers["bandwidth"]["value"] * 8 / 1e6 == pytest.approx(rate, rel=0.1)
    assert answers["switch"]["value"] == kind
    check_forecasts(partial(measure_in_turn, tmp_path, *network), answers)
    if kind == "star":
        check_crossing(partial(measure_in_turn, tmp_path, *network), answers)


@pytest.mark.alone
@pytest.mark.usefixtures("only_long")
def test_bagds_and_each_with_each(tmp_path):
    """The same of eight hosts, where they cross at longer blocks. Longer than both need none is."""
    network = "100mbit", True, "--bytes", "64K"
    measure_here = partial(measure_in_turn, tmp_path, *network, hosts_made=2 * HOSTS)
    check_crossing(measure_here, measure_here(), 2 * HOSTS)


@pytest.mark.alone
@pytest.mark.usefixtures("only_long")
@pytest.mark.parametrize(
    ("rate", "star"), [(None, False), ("100mbit", False), ("400mbit", False), ("100mbit", True)]
)
def test_forecast_of_a_program(first_found, tester, tmp_path, rate, star):
    """Shortest paths, traced on two hosts, on four: within 1.3."""
    mpi, trace = usable_mpi("o41"), tmp_path / "trace"
    _answers, machine = first_found(rate, star)
    program = [tester.program(mpi, "asleep"), 1024, 1e9]
    times = {}
    for count in (2, HOSTS):
        folder = tmp_path / f"hosts{count}"
        folder.mkdir()
        with Hosts(count, folder, rate, star) as hosts:
            settings = {"SOBOR_TRACE": str(trace)} if count == 2 else {}
            result = run_on(tester, mpi, hosts, settings, Place((1,) * count), program)
        tester.expect_pass(result)
        times[count] = float(result.stdout.split("run ")[1].split()[0])
    words = ["--calls", str(trace), "--machine", str(machine), "--ranks", str(HOSTS)]
    command = [sys.executable, "-m", "sobor", "model", "efficiency", *words, "--json", "-"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY / "python"),
        "SOBOR_PREFIX": str(BUILD),
    }
    answer = subprocess.run(command, env=environment, capture_output=True, check=True)
    (row,) = json.loads(answer.stdout)
    assert 1 / 1.3 < times[HOSTS] / row["time_s"] < 1.3, (times, row)
