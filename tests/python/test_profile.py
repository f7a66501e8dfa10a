# SPDX-License-Identifier: BSD-3-Clause
"""What is made of profiles: sums, intervals, predictions, pages. The ranks' files are made up."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from conftest import ROOT
from sobor import console
from sobor.bench.target import make_target
from sobor.errors import SoborError
from sobor.profile import compare, estimate, files, first, page, report, views
from sobor.profile import run as profile_run
from sobor.profile.sums import Call, Sums
from sobor.times import short_time

CELL = ("bcast", 8, "MPI_COMM_WORLD", False)


def call(number, rank, entered, left, domain=0, ranks=2):
    return Call((1, 0, ranks, number), CELL, ranks, domain, entered, left, 1)


def test_waiting_is_until_the_last_has_come():
    sums = Sums()
    for rank in (0, 1):
        sums.member(CELL[2], rank)
        sums.add(*CELL, rank, 2, 3000 * (rank + 1))
    sums.sample(call(1, 0, 1000, 5000))
    sums.sample(call(1, 1, 4000, 5000))
    sums.sample(call(2, 0, 6000, 7000))  # left before the other came
    sums.sample(call(2, 1, 9000, 9500))
    sums.sample(call(3, 0, 0, 10000))  # alone: not matched
    (row,) = sums.rows()
    assert row == {
        **dict(zip(("operation", "bytes", "communicator", "served"), CELL, strict=True)),
        **{
            "members": 2,
            "calls": 2,
            "total_us_min": 3.0,
            "total_us_mean": 4.5,
            "total_us_max": 6.0,
        },
        "wait_us_mean": 1.0,
    }


def test_clocks_that_are_not_comparable():
    sums = Sums()
    sums.add(*CELL, 0, 1, 1000)
    sums.sample(call(1, 0, 0, 1000, domain=1))
    sums.sample(call(1, 1, 0, 1000, domain=2))
    assert sums.rows()[0]["wait_us_mean"] is None


def test_calls_are_named_with_units():
    row = {"operation": "allreduce", "bytes": 2048, "communicator": "of 4 ranks"}
    assert views.call_name(row) == "allreduce 2 KiB, of 4 ranks"
    assert views.call_name(row | {"operation": "barrier", "bytes": 0}) == "barrier, of 4 ranks"


def test_a_rank_without_calls_counts():
    sums = Sums()
    for rank in range(4):
        sums.member(CELL[2], rank)
    sums.add(*CELL, 0, 2, 4000)
    (row,) = sums.rows()
    assert (row["calls"], row["total_us_min"], row["total_us_mean"]) == (0.5, 0.0, 1.0)


def test_interval():
    """Of two pairs Student's t is 12.7; equal pairs have no width."""
    mean, low, high = compare.interval([2.0, 2.0, 2.0])
    assert mean == low == high == pytest.approx(2.0)
    mean, low, high = compare.interval([1.0, 1.21])
    assert mean == pytest.approx(1.1) and low < 1 < high
    assert low * high == pytest.approx(mean * mean)
    assert compare.interval([1.5]) == (pytest.approx(1.5), None, None)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(1.1, 1.3, "faster"), (0.7, 0.9, "slower"), (0.9, 1.1, "no difference"), (None, None, "one")],
)
def test_verdict(low, high, word):
    assert views.verdict({"ratio_low": low, "ratio_high": high}).startswith(word)


def test_sides_of_a_comparison_differ(command, fake_native, monkeypatch):
    """Whatever the environment says; the switch among the settings would be for both."""
    asked = []

    def run_once(_wanted, settings):
        asked.append(settings)
        return 0, PROFILE, 1.0

    monkeypatch.setenv("SOBOR", "off")
    monkeypatch.setattr(profile_run, "_run", run_once)
    assert command("profile", "--compare", "1", "--set", "WAIT=spin", "--", "sh").status == 0
    assert asked == [["WAIT=spin", "SOBOR=off"], ["WAIT=spin", "SOBOR=on"]]
    for setting in ("SOBOR=on", "sobor=off"):
        refused = command("profile", "--compare", "1", "--set", setting, "--", "sh")
        assert refused.status == 2 and "leave out --set SOBOR" in refused.err
    assert len(asked) == 2


def test_a_trace_is_no_profile(command, fake_native, monkeypatch):
    """Ranks do one of both; that was said at the end of the program, in other words."""
    refused = command("profile", "--print", "--set", "TRACE=t", "--", "sh")
    assert refused.status == 2 and "SOBOR_TRACE is set" in refused.err
    monkeypatch.setenv("SOBOR_TRACE", "t")
    assert command("profile", "--compare", "2", "--", "sh").status == 2
    assert command("profile", "--print", "--set", "TRACE=", "--", "sh").status == 0


def test_first_calls_have_the_heap_if_the_others_have(fake_native, openmpi, monkeypatch):
    target = make_target("mpirun", fake_native)
    for value, count in (("off", 0), ("on", 1)):
        monkeypatch.setenv("SOBOR_HEAP", value)
        launch = first._launch(2, (("bcast", 8),), target, fake_native, 2)
        assert " ".join(launch.argv).count(f"LD_PRELOAD={fake_native.heap}:") == count


def test_estimate_where_sobor_is_off(fake_native, monkeypatch, tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(PROFILE))
    monkeypatch.setenv("SOBOR", "off")
    with pytest.raises(SoborError, match="sobor estimate: SOBOR is set to off"):
        estimate.estimate(str(file), "mpirun", 0.1, None)


def row(operation, size, mean, wait, calls=100, served=False, name="MPI_COMM_WORLD", members=8):
    return {
        **{"operation": operation, "bytes": size, "communicator": name, "served": served},
        **{
            "members": members,
            "calls": calls,
            "total_us_min": mean,
            "total_us_mean": mean,
            "total_us_max": mean,
        },
        "wait_us_mean": wait,
    }


PROFILE = {
    **{"wall_s": 0.01, "ranks": 8, "host": "Open MPI 4.1.4"},
    "calls": [
        row("allreduce", 8, 2000.0, 5.0),
        row("bcast", 4096, 1000.0, None, name="of 4 ranks"),
        row("gather", 8, 100.0, 0.0, served=True),
    ],
    "other": [{"function": "MPI_Send", "calls": 3}],
}


def gain(ratio, saved=1e9):
    return estimate.Gain(ratio, saved)


def test_points_of_rows():
    assert [estimate.point_of(r, 8) for r in PROFILE["calls"]] == [
        *(("allreduce", 8, 8), ("bcast", 6144, 4), ("gather", 8, 8)),
    ]


def test_prediction():
    """Waiting stays, the rest goes by the ratio; what was not measured or was served stays."""
    result = estimate.predict(
        PROFILE, {("allreduce", 8, 8): gain(3.0), ("gather", 8, 8): gain(9.0)}
    )
    assert result["collective_s"] == pytest.approx(3.1e-3)
    assert result["predicted_s"] == pytest.approx((500 + 1500 / 3 + 1000 + 100) / 1e6)
    assert result["covered"] == pytest.approx(1500 / 2500)
    assert [point["ratio"] for point in result["points"]] == [3.0, None, None]
    saved = estimate.predict(PROFILE, {("allreduce", 8, 8): gain(3.0, 2.0)})
    assert saved["predicted_s"] == pytest.approx((500 + 1500 - 100 * 2 + 1000 + 100) / 1e6)
    slower = estimate.predict(PROFILE, {("allreduce", 8, 8): gain(0.5, -20.0)})
    assert slower["predicted_s"] == pytest.approx((500 + 1500 + 100 * 20 + 1000 + 100) / 1e6)


def split_profile():
    """3 of 8 ranks are 6 ms in calls of their communicator, 5 in those of theirs, of 10 ms."""
    rows = [
        row("bcast", 8, 6000.0, 0.0, calls=80, name="of 3 ranks", members=3),
        row("bcast", 8, 6000.0, 10.0, calls=40, served=True, name="of 5 ranks", members=5),
    ]
    return {**PROFILE, "calls": rows}


def test_ranks_of_several_communicators_are_counted_once():
    profile = split_profile()
    words = views.summary(profile)
    assert "60.0 % of that in collectives: 2.5 % waiting" in words[0]
    assert words[1] == "Sobor served 25 of 55 collective calls of a rank."
    many = [{**row, "calls": 1234567 * row["calls"]} for row in profile["calls"]]
    assert "Sobor served 30864175 of 67901185 c" in views.summary({**profile, "calls": many})[1]
    compared = compare.compare([compare.Run(1.0, profile)], [compare.Run(1.0, PROFILE)], "x")
    (of_bcast,) = (each for each in compared["operations"] if each["operation"] == "bcast")
    assert of_bcast["host_s"] == pytest.approx(6e-3)
    result = estimate.predict(profile, {("bcast", 8, 3): gain(2.0)})
    assert result["collective_s"] == pytest.approx(6e-3)
    assert result["predicted_s"] == pytest.approx(6e-3 - 6e-3 * 3 / 8 / 2)
    assert sum(point["total_ms"] for point in result["points"]) == pytest.approx(6.0)


def test_threads_at_the_same_time_spend_more_than_the_run():
    rows = [row("bcast", 8, 25000.0, 0.0, calls=80)]
    (first, *_) = views.summary({**PROFILE, "calls": rows})
    assert "250.0 % of that in collectives, with threads of a rank in them" in first


@pytest.fixture
def stopped(fake_native, monkeypatch, tmp_path):
    """A file of two operations; the status of each job that would measure them, or None where the
    user stops it, and the jobs."""
    file, jobs = tmp_path / "x.json", []
    file.write_text(json.dumps(PROFILE))
    monkeypatch.setattr(first, "serve_after", lambda _native: 1)
    monkeypatch.setattr(first, "measure", lambda *_: (0, []))

    def run(status):
        def measured(request, *_):
            jobs.append(request)
            if status is None:
                raise KeyboardInterrupt
            return status, []

        monkeypatch.setattr(estimate, "measure", measured)
        return estimate.estimate(str(file), "mpirun", 0.1, None)

    return run, jobs


def test_an_estimate_is_stopped_at_once(stopped):
    """Not job by job."""
    run, jobs = stopped
    with pytest.raises(KeyboardInterrupt):
        run(None)
    assert len(jobs) == 1


@pytest.mark.parametrize("status", [0, 1])
def test_an_estimate_without_what_could_not_be_measured(stopped, status):
    run, jobs = stopped
    assert run(status) == status
    assert len(jobs) == 2


def test_set_up_jobs_that_fail(monkeypatch):
    """What they would have told is left out, and the status says so."""
    kinds = [{"ranks": 2, "communicator": "of 2 ranks", "calls": 300, "operations": {"bcast": 8}}]
    monkeypatch.setattr(first, "make_target", lambda *_: None)
    for price, told in (None, (1, [])), (2.0, (0, [{**kinds[0], "first_us": 2.0}])):
        monkeypatch.setattr(first, "_price", lambda *_, price=price: price)
        assert first.measure(kinds, "mpirun", None, 2, 100) == told


def test_few_ranks_count_little(fake_native, monkeypatch, tmp_path):
    """What 1 of 1000 ranks does long is not what is measured."""
    rows = [row("bcast", 8, 100.0, 0.0, members=1000), row("scan", 8, 500.0, 0.0, members=1)]
    file = tmp_path / "x.json"
    file.write_text(json.dumps({**PROFILE, "ranks": 1000, "calls": rows}))
    asked = []
    monkeypatch.setattr(estimate, "_measured", lambda rows, *_: (0, asked.extend(rows) or {}))
    monkeypatch.setattr(first, "serve_after", lambda _native: 1)
    monkeypatch.setattr(first, "measure", lambda *_: (0, []))
    assert estimate.estimate(str(file), "mpirun", 0.1, None) == 0
    assert [each["operation"] for each in asked] == ["bcast"]


def test_pages(tmp_path, capsys):
    """A page of each kind, with the verdict first and names that are no markup."""
    profile = {**PROFILE, "calls": [*PROFILE["calls"], row("scan", 8, 1.0, 0.0, name="<b>")]}
    run = compare.Run(1.0, PROFILE)
    made = {
        "profile": profile,
        "estimate": estimate.predict(PROFILE, {}),
        "comparison": compare.compare([run, run], [run, run], "mpirun -n 8 ./app"),
    }
    for kind, result in made.items():
        file = tmp_path / f"{kind}.json"
        file.write_text(json.dumps(result))
        report.report(str(file), None, None, {"--events": None})
        text = (tmp_path / f"{kind}.html").read_text()
        assert views.kind_of(result) == kind and views.summary(result)[0] in text
        assert "<b>" not in text and "$" not in text
        assert 'name="viewport"' in text
    assert "allreduce" in capsys.readouterr().out
    assert "&lt;b&gt;" in page.page(profile)


def test_a_verdict_keeps_its_names():
    slower = compare.compare([compare.Run(1.0, PROFILE)] * 2, [compare.Run(2.0, PROFILE)] * 2, "x")
    assert views.summary(slower)[0].startswith("Slower with Sobor: ")


def test_both_bars_of_a_call_are_shown_or_none():
    calls = [row("bcast", 8, 1.0, 0.0), *(row("scan", 1 << n, 1.0, 0.0) for n in range(24))]
    ratios = {estimate.point_of(call, 8): gain(2.0) for call in calls[1:]}
    text = page.page(estimate.predict({**PROFILE, "calls": calls}, ratios))
    shown = text[: text.index("in the table")]
    assert shown.count('title="scan') == shown.count('title="with Sobor"') == 11


def test_report_tells_a_profile_by_its_content(command, tmp_path):
    file = tmp_path / "profile.out"
    file.write_text(json.dumps(PROFILE))
    result = command("report", str(file))
    assert result.status == 0, result.err
    assert (tmp_path / "profile.html").is_file()
    refused = command("report", str(file), "--machine", "cluster-16x8")
    assert refused.status == 2 and "--machine is for what sobor trace wrote" in refused.err


def test_files_of_another_job_stand_for_no_rank(tmp_path):
    """Of a job of 3 ranks 2 have left files, of another one its only rank."""
    for world, rank, size in ((1, 0, 3), (1, 2, 3), (2, 0, 1)):
        named = dict.fromkeys(files._HEADER_NAMES, 0)
        named |= {"magic": files.MAGIC, "version": files.VERSION, "host": b"", "library": b""}
        kinds = {"header": files._HEADER, "record": files._RECORD, "comm": files._COMM}
        named |= {f"{name}_bytes": kind.size for name, kind in kinds.items()}
        named |= {"world": world, "rank": rank, "size": size, "closed": 1000}
        content = files._HEADER.pack(*named.values())
        (tmp_path / f"{world}-{rank}.profile").write_bytes(content)
    profile, missing = files.read(tmp_path)
    assert (profile["ranks"], missing) == (3, 1)


def test_names_are_no_markup(capsys):
    views.write({**PROFILE, "calls": [row("scan", 8, 1.0, 0.0, name="[b]atm[/i]")]}, console.out())
    assert "scan 8 B, [b]atm[/i]" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written(command, fake_native, tmp_path, monkeypatch):
    def refuse(**options):
        raise PermissionError(13, "Permission denied", options["dir"])

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    monkeypatch.chdir(tmp_path)
    result = command("profile", "--", "sh")
    assert result.status == 2
    assert f"{tmp_path}: Permission denied" in " ".join(result.err.split())


def test_wrong_files(tmp_path):
    file = tmp_path / "x.json"
    of_another = [json.dumps({"calls": found, "ranks": 2}) for found in (4, [4], [{"bytes": 8}])]
    for text in ("{}", "[]", "no", *of_another):
        file.write_text(text)
        with pytest.raises(SoborError, match=r"x\.json"):
            estimate.load(str(file))
    of_later = [{**PROFILE["calls"][0], "bytes": "8"}]
    for change, words in (
        ({"calls": of_later}, r"calls\[0\]\.bytes: expected a whole number .*, found \"8\""),
        ({"wall_s": 0}, "wall_s: expected a number above 0, found 0"),
        ({"other": None}, "other: expected a list, found null"),
    ):
        file.write_text(json.dumps({**PROFILE, **change}))
        with pytest.raises(SoborError, match=rf"x\.json: {words}"):
            estimate.load(str(file))
    file.write_text(json.dumps(PROFILE))
    with pytest.raises(SoborError, match="--events"):
        report.report(str(file), None, None, {"--events": "a"})
    file.write_text(json.dumps({**PROFILE, "calls": []}))
    with pytest.raises(SoborError, match="served no collective calls"):
        estimate.estimate(str(file), "mpirun", 0.1, None)


#: Ends at any signal, and says which.
TOLD = """
import signal
numbers = {getattr(signal, f"SIG{name}") for name in "INT QUIT USR1 USR2 CONT TERM HUP".split()}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
print("ready", flush=True)
print(signal.sigwait(numbers).name, flush=True)
"""


def catches_the_last(pid: int) -> bool:
    """Whether a process has set all of its handlers: that of SIGQUIT is the last."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (signal.SIGQUIT - 1) & 1)


@pytest.mark.parametrize("name", ["INT", "QUIT", "USR1", "USR2", "CONT", "TERM", "HUP"])
def test_signals_reach_the_launcher(fake_native, tmp_path, name):
    (fake_native.libraries / "libsobor-profile.so").touch()
    command = [sys.executable, "-I", ROOT / "python" / "sobor", "profile", "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "-c", TOLD], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    ending = threading.Timer(60, os.killpg, (process.pid, signal.SIGKILL))
    ending.start()
    try:
        assert process.stdout.readline() == "ready\n"
        while not catches_the_last(process.pid):
            time.sleep(0.01)
        process.send_signal(getattr(signal, f"SIG{name}"))
        assert process.stdout.readline() == f"SIG{name}\n"
        process.wait()
    finally:
        ending.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.09, "2.09 s"), (0.0123, "12.3 ms"), (4.56e-4, "456 µs"), (3e-9, "0.00 µs"), (0, "0.00 µs")],
)
def test_times_have_units_of_people(seconds, text):
    assert short_time(seconds) == text


def kind_of(name: str, ranks: int, number: int, calls: float, **operations: int) -> dict:
    return {
        **{"communicator": name, "ranks": ranks, "number": number, "calls": calls},
        "operations": operations,
    }


def test_what_is_set_up_comes_on_top():
    """A communicator that Sobor serves from its 100th call on gains in the others alone."""
    kinds = [
        kind_of("MPI_COMM_WORLD", 8, 1, 2, allreduce=8),
        kind_of("of 4 ranks", 4, 2, 399, bcast=4096),
        kind_of("MPI_COMM_SELF", 1, 1, 500, bcast=8),
    ]
    profile = {**PROFILE, "communicators": kinds}
    assert [first.served_calls(kind, 100) for kind in kinds] == [2, 300, 0]
    assert first.served_share(kinds, "of 4 ranks", 100) == pytest.approx(300 / 399)
    assert first.served_share(kinds, "of 5 ranks", 100) == 1.0
    rows = PROFILE["calls"]
    assert estimate.important(rows[:2], kinds, 100) == rows[:2]
    assert estimate.important(rows[:2], kinds, 400) == rows[:1]
    set_up = [{**kind, "first_us": 1000.0} for kind in kinds[:2]]
    points = {("allreduce", 8, 8): gain(3.0), ("bcast", 6144, 4): gain(2.0)}
    result = estimate.predict(profile, points, set_up, 100)
    alone = estimate.predict(profile, points, (), 100)
    assert result["predicted_s"] - alone["predicted_s"] == pytest.approx(result["set_up_s"])
    assert [kind["set_up_ms"] for kind in result["set_up"]] == [1.0, 1.0]
    moved = next(point for point in alone["points"] if point["operation"] == "bcast")
    share = 300 / 399
    moving = moved["total_ms"] - moved["wait_ms"]
    expected = moved["wait_ms"] + moving * (share / 2.0 + 1.0 - share)
    assert moved["predicted_ms"] == pytest.approx(expected)
    assert "set up once" in page.page(result)
    assert views.tables(result)[0][2][1] == ["of 4 ranks, bcast", "2", "1.00", "1.00"]
