# SPDX-License-Identifier: BSD-3-Clause
"""sobor trace and sobor report, on made-up traces whose figures are known."""

import json
import re
import shlex
import shutil
import subprocess
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

from sobor import console
from sobor.errors import SoborError
from sobor.model.arrival import impact
from sobor.trace import analysis, exports, files, otherwise, page, views
from sobor.trace.sites import Sites, resolve_by_tools

MAPS = """\
55d000000000-55d000001000 r--p 00000000 08:01 42   /opt/app
55d000001000-55d000002000 r-xp 00001000 08:01 42   /opt/app
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0    [stack]
"""
SITE = 0x55D000001235
MS = 1_000_000
START = 5_000_000_000


def make_file(folder, rank, size, made, *, name=None, comms=None, **header):
    """One rank's file; what was called is (operation, bytes, entered, left) or has more by name."""
    head = np.zeros(1, files.HEADER)
    own = np.zeros(len(made), files.RECORD)
    names = ["ring"]
    of_world = (7, len(made), 0, rank, size, 0, b"MPI_COMM_WORLD")
    table = np.array([(0, 0, 0, 0, 0, 0, b""), of_world, *(comms or [])], files.COMM)
    count = {}
    for record, call in zip(own, made, strict=True):
        operation, count_bytes, entered, left, *more = call
        extra = more[0] if more else {}
        comm = extra.get("comm", 1)
        count[comm] = count.get(comm, extra.get("first", 1) - 1) + 1
        record["collective"] = files.COLLECTIVES.index(operation)
        record["bytes"], record["number"], record["comm"] = count_bytes, count[comm], comm
        record["entered"], record["left"] = START + entered, START + left
        record["site"] = extra.get("site", SITE)
        record["algorithm"] = extra.get("algorithm", 1)
        record["root"] = extra.get("root", -1)
    values = {
        **{"magic": files.MAGIC, "version": files.VERSION, "rank": rank, "size": size},
        **{"header_bytes": files.HEADER.itemsize, "record_bytes": files.RECORD.itemsize},
        **{"comm_bytes": files.COMM.itemsize, "world": 1, "node": 1, "host": b"a"},
        **{"opened": START, "closed": START + 100 * MS, "records": len(made)},
        **{"calls": len(made), "comms": len(table), "algorithms": len(names), **header},
    }
    for key, value in values.items():
        head[key] = value
    folder.mkdir(exist_ok=True)
    path = folder / f"{name or rank}.trace"
    parts = (head, table, np.array(names, "S40"), own)
    path.write_bytes(b"".join(part.tobytes() for part in parts) + MAPS.encode())
    return path


def no_tools(path, offset):
    return f"{path}+{offset:#x}"


@pytest.fixture
def unbalanced(tmp_path):
    """Four ranks, ten broadcasts 10 ms apart; rank 2 comes 3 ms after the first, rank 1 1 ms.

    All leave 0.5 ms after the last has come, but rank 0, which leaves at once after 0.1 ms.
    """
    folder = tmp_path / "trace"
    late = {0: 0, 1: 1 * MS, 2: 3 * MS, 3: 0}
    for rank in range(4):
        calls = []
        for i in range(10):
            begin = i * 10 * MS
            entered = begin + late[rank]
            left = entered + MS // 10 if rank == 0 else begin + 3 * MS + MS // 2
            calls.append(("bcast", 4000, entered, left))
        make_file(folder, rank, 4, calls)
    return folder


def test_names_are_no_markup(unbalanced, capsys):
    result = analysis.analyse(files.read(str(unbalanced), no_tools))
    for row in result["communicators"]:
        row["name"] = "[b]atm[/i]"
    views.write(result, console.out())
    assert "[b]atm[/i]" in capsys.readouterr().out


def test_known_answers(unbalanced):
    trace = files.read(str(unbalanced), no_tools)
    report = analysis.analyse(trace)
    assert (report["ranks"], report["calls"], report["matched_calls"]) == (4, 40, 10)
    assert report["seconds"] == pytest.approx(0.1) and report["hosts"] == 1
    (bcast,) = report["operations"]
    # Ranks 0 to 3 are in calls for 0.1, 2.5, 0.5 and 3.5 ms of each 10 ms.
    assert bcast["share"] == pytest.approx((0.1 + 2.5 + 0.5 + 3.5) / 40)
    assert bcast["waiting_share"] == pytest.approx((0.1 + 2.0 + 0.0 + 3.0) / 40)
    assert bcast["moving_share"] == pytest.approx(0.5 * 3 / 40)
    assert report["sizes"][0]["name"] == "<= 4K"
    assert report["communicators"][0]["name"] == "MPI_COMM_WORLD"
    (site,) = report["sites"]
    assert site["site"] == "/opt/app+0x1234"
    assert set(site["width_us"].values()) == {3000.0}
    assert (site["latest_rank"], site["latest_share"]) == (2, 1.0)
    assert site["latest_by_us"] == pytest.approx(2000)


def test_threads_at_the_same_time(tmp_path):
    folder = tmp_path / "trace"
    for rank in range(2):
        make_file(folder, rank, 2, [("bcast", 8, 0, 100 * MS), ("scan", 8, 0, 100 * MS)])
    words = views.summary(analysis.analyse(files.read(str(folder), no_tools)))
    assert "200.0 % of that time in collectives, with threads of a rank in them" in words[1]


def test_who_is_late(unbalanced):
    late = analysis.analyse(files.read(str(unbalanced), no_tools))["late"]
    assert [row["last"] for row in late] == [0, 0, 10, 0]
    assert [row["arrival_us"]["p50"] for row in late] == [0, 1000, 3000, 0]
    # Without it the others would have gone on 2 ms earlier each time.
    assert [row["held_up_us"] for row in late] == [0, 0, pytest.approx(20000), 0]


def test_unbalance_and_impact(unbalanced):
    trace = files.read(str(unbalanced), no_tools)
    (row,) = analysis.analyse(trace)["impact"]
    # 0.5 ms after the last arrival: two steps of a tree of four.
    assert row["transfer_us"] == pytest.approx(250)
    assert row["psi"] == pytest.approx(12)
    assert row["gamma"] == pytest.approx(impact(12, 4))
    assert row["measured_gamma"] == pytest.approx((0.1 + 2.0 + 0.0 + 3.0) / 4 / 0.25)
    (given,) = analysis.analyse(trace, transfer=30_000.0)["impact"]
    assert given["psi"] == pytest.approx(100)


def test_percentiles(tmp_path):
    for rank in range(2):
        calls = [("barrier", 0, i * MS + rank * i * 1000, i * MS + 500_000) for i in range(101)]
        make_file(tmp_path / "t", rank, 2, calls)
    (site,) = analysis.analyse(files.read(str(tmp_path / "t"), no_tools))["sites"]
    assert site["width_us"] == {"p10": 10.0, "p50": 50.0, "p90": 90.0, "p99": 99.0}
    assert site["latest_rank"] == 1


def test_latest_is_who_held_up_the_longest(tmp_path):
    """Nine times rank 1 comes a microsecond after rank 0, once rank 0 comes 5 ms late."""
    for rank in range(2):
        entered = [i * 10 * MS + (rank * 1000 if i < 9 else (1 - rank) * 5 * MS) for i in range(10)]
        calls = [("bcast", 8, begin, begin + 6 * MS) for begin in entered]
        make_file(tmp_path / "t", rank, 2, calls)
    (site,) = analysis.analyse(files.read(str(tmp_path / "t"), no_tools))["sites"]
    assert (site["latest_rank"], site["latest_share"]) == (0, 0.1)
    assert site["latest_by_us"] == pytest.approx(5000)


def test_calls_are_matched_by_communicator_and_number(tmp_path):
    """Two communicators of other members, and records that lack their partner."""
    for rank in range(3):
        other = (9, 1, 0, rank, 2, 0, b"pair")
        calls = [("barrier", 0, 10 + rank, 50)]
        if rank < 2:
            calls.append(("allreduce", 8, 100 + rank, 150, {"comm": 2}))
        if rank != 1:
            calls.append(("barrier", 0, 200, 250))
        make_file(tmp_path / "t", rank, 3, calls, comms=[other])
    trace = files.read(str(tmp_path / "t"), no_tools)
    calls = analysis.match(trace, trace.calls)
    assert calls.count == 2 and sorted(calls.ranks) == [2, 3]
    report = analysis.analyse(trace)
    assert report["unmatched_records"] == 2
    assert {row["name"] for row in report["communicators"]} == {"MPI_COMM_WORLD", "pair"}


def test_one_operation_alone(tmp_path):
    for rank in range(2):
        calls = [("barrier", 0, 0, 10), ("bcast", 8, 20, 30)]
        make_file(tmp_path / "t", rank, 2, calls)
    trace = files.read(str(tmp_path / "t"), no_tools)
    assert analysis.analyse(trace, "bcast")["matched_calls"] == 1
    with pytest.raises(SoborError, match="--collective: expected one of barrier, bcast"):
        analysis.analyse(trace, "broadcast")


def test_clocks_of_two_hosts(tmp_path):
    """Host b is 7 s ahead at the start and 1 ms more at the end: it drifts in between."""
    apart, drift = 7_000 * MS, MS
    clock_a = [(START, 0, 0, 1), (START + 100 * MS, 0, 0, 1)]
    clock_b = [
        (START + apart, -apart, 2000, 1),
        (START + apart + 100 * MS + drift, -apart - drift, 3000, 1),
    ]
    calls = [("barrier", 0, i * 10 * MS, i * 10 * MS + 5 * MS) for i in range(11)]

    def there(at):
        return at + apart + round(at * drift / (100 * MS))

    for rank in range(2):
        make_file(tmp_path / "t", rank, 4, calls, clock=clock_a if rank == 0 else 0)
    far = [(*call[:2], there(call[2]), there(call[3])) for call in calls]
    for rank in (2, 3):
        make_file(
            tmp_path / "t", rank, 4, far, node=2, host=b"b", opened=START + apart,
            closed=START + apart + 100 * MS + drift, clock=clock_b if rank == 2 else 0,
        )  # fmt: skip
    trace = files.read(str(tmp_path / "t"), no_tools)
    assert trace.clock_error == pytest.approx(6e-6)
    matched = analysis.match(trace, trace.calls)
    assert matched.count == 11 and matched.width.max() < 20
    assert analysis.analyse(trace)["hosts"] == 2


def test_clocks_at_the_start_alone(tmp_path):
    first = [(START, 0, 0, 1), (0, 0, 0, 0)]
    other = [(START + 7, -7, 50, 1), (0, 0, 0, 0)]
    make_file(tmp_path / "t", 0, 2, [("barrier", 0, 0, 10)], clock=first)
    far = [("barrier", 0, 7, 17)]
    make_file(tmp_path / "t", 1, 2, far, node=2, host=b"b", clock=other)
    trace = files.read(str(tmp_path / "t"), no_tools)
    assert trace.clock_error == pytest.approx(100e-9)
    assert any("drift is not known" in note for note in trace.notes)
    assert analysis.match(trace, trace.calls).width.max() == 0


def test_clocks_that_nobody_compared(tmp_path):
    """Hosts whose clocks were started hours apart: only calls within one of them are judged."""
    apart = 10**13
    for rank in range(4):
        shift = 0 if rank < 2 else apart
        pair = (9 + rank // 2, 1, 0, rank % 2, 2, 0, b"pair")
        far = [("barrier", 0, 10 + shift, 20 + shift), ("bcast", 8, 30 + rank + shift, 40 + shift)]
        made = [far[0], (*far[1], {"comm": 2})]
        times = {"opened": START + shift, "closed": START + shift + MS}
        place = {"node": 1 + rank // 2, "host": b"a" if rank < 2 else b"b"}
        make_file(tmp_path / "t", rank, 4, made, comms=[pair], **place, **times)
    trace = files.read(str(tmp_path / "t"), no_tools)
    assert trace.clock_error is None and "were not compared" in trace.notes[0]
    assert trace.calls["left"].max() == 40
    calls = analysis.match(trace, trace.calls)
    assert calls.count == 2 and calls.width.tolist() == [1, 1]
    assert "cannot be compared" in "".join(views.summary(analysis.analyse(trace)))


def test_hosts_of_one_name(tmp_path):
    """Hosts are told apart though all have the name that their containers were given."""
    apart = 10**13
    for rank in range(4):
        shift = 0 if rank < 2 else apart
        made = [("barrier", 0, 10 + rank + shift, 20 + shift)]
        times = {"opened": START + shift, "closed": START + shift + MS}
        make_file(tmp_path / "t", rank, 4, made, node=1 + rank // 2, **times)
    trace = files.read(str(tmp_path / "t"), no_tools)
    assert trace.hosts == {0: "a", 1: "a", 2: "a (2)", 3: "a (2)"}
    # Nobody has compared their clocks.
    assert trace.clock_error is None and analysis.match(trace, trace.calls).count == 0
    assert analysis.analyse(trace)["hosts"] == 2


def test_what_is_missing_is_said(tmp_path):
    """A rank without a file, one that lost calls, one that was ended, and another job's file."""
    make_file(tmp_path / "t", 0, 3, [("barrier", 0, 0, 10, {"first": 4})], calls=4)
    make_file(tmp_path / "t", 2, 3, [("barrier", 0, 0, 10, {"first": 4})], end=files.SIGNAL + 15)
    make_file(tmp_path / "t", 0, 1, [], name="other", world=2)
    notes = files.read(str(tmp_path / "t"), no_tools).notes
    assert notes == [
        "1 files of other jobs are left out",
        "no file of rank 1: killed, on another host, or without Sobor",
        "the first 3 of 4 calls of rank 0 are lost (1 rank lost some): SOBOR_TRACE_BUFFER is too"
        " small for all",
        "rank 2 ended by SIGTERM",
    ]


def test_nothing_recorded(tmp_path):
    make_file(tmp_path / "t", 0, 1, [])
    trace = files.read(str(tmp_path / "t"), no_tools)
    report = analysis.analyse(trace)
    assert report["share"] == 0 and report["sites"] == []
    calls = analysis.match(trace, trace.calls)
    assert "<canvas" in page.page(trace, trace.calls, calls, report)


@pytest.mark.parametrize("kind", ["empty", "nothing", "text", "cut", "version", "twice", "index"])
def test_bad_files(tmp_path, kind):
    folder = tmp_path / "t"
    path = make_file(folder, 0, 1, [("barrier", 0, 0, 10)])
    content = path.read_bytes()
    expected = {
        "empty": "expected files that end in .trace, found none",
        "nothing": "No such file",
        "text": "expected a file that a rank of sobor trace wrote",
        "cut": "expected 1 records, found the end of the file",
        "version": "expected version 2 of the format, found 1",
        "twice": "2 files are of rank 0",
        "index": "it is damaged",
    }[kind]
    if kind in ("empty", "nothing"):
        path.unlink()
    elif kind == "text":
        path.write_text("hello " * 100)
    elif kind == "cut":
        path.write_bytes(content[: -len(MAPS) - 1])
    elif kind == "version":
        make_file(folder, 0, 1, [], version=1)
    elif kind == "twice":
        (folder / "again.trace").write_bytes(content)
    else:
        make_file(folder, 0, 1, [("barrier", 0, 0, 10, {"comm": 9})])
    with pytest.raises(SoborError, match=re.escape(expected)):
        files.read(str(folder / "gone.trace" if kind == "nothing" else folder), no_tools)


def test_arrival_for_the_simulator(unbalanced, tmp_path):
    trace = files.read(str(unbalanced), no_tools)
    target = tmp_path / "arrival.txt"
    assert exports.write_arrival(analysis.match(trace, trace.calls), str(target)) == 10
    lines = [line for line in target.read_text().splitlines() if not line.startswith("#")]
    assert lines == ["0.000 1000.000 3000.000 0.000"] * 10


def test_simulator_takes_it(unbalanced, tmp_path, command, real_native):
    if not real_native.simulator.is_file():
        pytest.skip("no simulator")
    target = tmp_path / "arrival.txt"
    assert command("report", str(unbalanced), "--write-arrival", str(target)).status == 0
    words = "simulate barrier --machine xeon-e5620-2s --ranks 4 --calls 10 --json -".split()
    (row,) = command(*words, "--arrival", f"trace:{target}").json
    assert (row["arrival"], row["calls"]) == (f"trace:{target}", 10)
    # After the last has come, 3 ms after the first, a barrier is a matter of microseconds.
    assert 0 < row["max_us"] < 100


@pytest.fixture
def on_two_hosts(tmp_path):
    """Ranks 0 and 2 on one host, 1 and 3 on the other; eight broadcasts from rank 1, to whose call
    rank 0 comes 200 us late: the lowest of its host, which the others wait for if it is leader."""
    clocks = [(START, 0, 0, 1), (START + 100 * MS, 0, 0, 1)]
    for rank in range(4):
        calls = []
        for i in range(8):
            entered = 10 * i * MS + (MS // 5 if rank == 0 else 0)
            calls.append(("bcast", 40_000, entered, 10 * i * MS + MS, {"root": 1}))
        place = {"node": 1 + rank % 2, "host": b"ab"[rank % 2 : rank % 2 + 1]}
        make_file(tmp_path / "t", rank, 4, calls, clock=clocks if rank < 2 else 0, **place)
    return tmp_path / "t"


def test_what_else_it_would_have_cost(on_two_hosts, command, real_native):
    """The simulator has the arrivals, and ranks of one host on one node."""
    if not real_native.simulator.is_file():
        pytest.skip("no simulator")
    words = ["report", str(on_two_hosts), "--machine", "cluster-16x8"]
    (row,) = command(*words, "--json", "-").json["otherwise"]
    assert [row[key] for key in ("bytes", "ranks", "nodes", "calls")] == [40_000, 4, 2, 8]
    assert row["measured_us"] == pytest.approx((3 * 1000 + 800) / 4)
    # Behind the late leader only rank 2 waits; whoever comes first is there at once.
    assert row["fixed_us"] > row["competitive_us"] + 30
    # Nor does the tree of those that come first wait for the late one.
    assert 0 < row["ideal_us"] < row["fixed_us"] - 30
    text = command(*words).out
    assert "Broadcasts otherwise, simulated on cluster-16x8" in text and "first of a node" in text
    assert "ideal tree" in text
    assert command("report", str(on_two_hosts), "--json", "-").json["otherwise"] == []


def broadcasts(folder, hosts, roots):
    """One from each root in turn, of 40,000 bytes; rank r is late by r microseconds. `hosts`: of
    each rank its host, a letter."""
    firsts = {hosts.index(host) for host in hosts}
    clocks = [(START, 0, 0, 1), (START + 100 * MS, 0, 0, 1)]
    for rank, host in enumerate(hosts):
        calls = [
            ("bcast", 40_000, i * MS + 1000 * rank, i * MS + MS // 2, {"root": root})
            for i, root in enumerate(roots)
        ]
        place = {"node": 1 + ord(host), "host": host.encode()}
        clock = clocks if rank in firsts else 0
        make_file(folder, rank, len(hosts), calls, clock=clock, **place)
    return folder


def test_hosts_with_different_numbers_of_ranks_are_not_replayed(tmp_path, command, real_native):
    """The simulator would have four ranks on each of the two."""
    if not real_native.simulator.is_file():
        pytest.skip("no simulator")
    folder = broadcasts(tmp_path / "t", "aaaaaabb", [0] * 4)
    words = ["report", str(folder), "--machine", "cluster-16x8"]
    answer = command(*words, "--json", "-").json
    assert answer["otherwise"] == []
    (note,) = [note for note in answer["notes"] if "replayed" in note]
    assert note.startswith("broadcasts on MPI_COMM_WORLD are not replayed: its hosts have 6, 2")
    assert "its hosts have 6, 2 ranks" in " ".join(command(*words).out.split())


def test_each_root_is_replayed_by_itself(tmp_path, fake_native, monkeypatch):
    """Ranks of a host stand together, and each call is of the root that it had."""
    asked = []

    def run(_native, words, _timeline):
        given = dict(zip(words[1::2], words[2::2], strict=False))
        arrivals = Path(given["--arrival"].removeprefix("trace:")).read_text().splitlines()
        asked.append((given["--root"], int(given["--calls"]), arrivals))
        return [{"rank_mean_us": float(given["--root"])}]

    monkeypatch.setattr(otherwise, "run_engine", run)
    monkeypatch.setattr(otherwise, "check_engine", lambda _native: None)
    machine = SimpleNamespace(name="m", path=Path("m.json"))
    monkeypatch.setattr(otherwise, "find_machine", lambda _name: machine)
    trace = files.read(str(broadcasts(tmp_path / "t", "abab", [1, 1, 0, 1])), no_tools)
    calls = analysis.match(trace, trace.calls)
    (row,), notes = otherwise.otherwise(trace, calls, "m", fake_native)
    assert notes == []
    late = "0.000 2.000 1.000 3.000"
    ways = len(otherwise.WAYS)
    # Rank 1 is the third of the members, behind both of the other host.
    assert asked == [("0", 1, [late])] * ways + [("2", 3, [late] * 3)] * ways
    assert (row["calls"], row["fixed_us"]) == (4, 1.5)


def test_one_host_has_no_leaders(unbalanced, command, real_native):
    if not real_native.simulator.is_file():
        pytest.skip("no simulator")
    words = ["report", str(unbalanced), "--machine", "cluster-16x8", "--json", "-"]
    assert command(*words).json["otherwise"] == []


def test_trace_events(unbalanced, tmp_path):
    trace = files.read(str(unbalanced), no_tools)
    target = tmp_path / "events.json"
    exports.write_events(trace, trace.calls, str(target))
    events = json.loads(target.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 40 and len(events) == 45
    first = next(e for e in spans if e["tid"] == 2)
    assert (first["ts"], first["dur"], first["name"]) == (3000.0, 500.0, "bcast")
    assert first["args"]["algorithm"] == "ring" and first["args"]["site"] == "/opt/app+0x1234"


def test_trace_events_are_not_kept(unbalanced, tmp_path):
    """Of a long trace memory would not hold them: here the text alone has 2 MB."""
    trace = files.read(str(unbalanced), no_tools)
    target = tmp_path / "events.json"
    rows = np.tile(trace.calls, 250)
    tracemalloc.start()
    try:
        exports.write_events(trace, rows, str(target))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 20
    assert len(json.loads(target.read_text())["traceEvents"]) == 10_005


class _Reader(HTMLParser):
    """What a page takes from elsewhere, and its open elements."""

    def __init__(self):
        super().__init__()
        self.foreign = []
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.foreign += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_needs_nothing_else(unbalanced, command, tmp_path):
    target = tmp_path / "page.html"
    result = command("report", str(unbalanced), "--html", str(target))
    assert result.status == 0, result.err
    assert "rank 2 is the last in 100.0 % of its 10 calls" in result.out
    text = target.read_text()
    reader = _Reader()
    reader.feed(text)
    assert reader.foreign == [] and reader.open == [] and "://" not in text
    data = json.loads(re.search(r"^const data = (.*);$", text, re.MULTILINE)[1])
    assert len(data["records"]) == 40
    # Rank 3's first call: 3 ms of waiting for rank 2 in 3.5 ms.
    assert next(r[1:4] for r in data["records"] if r[0] == 3) == [0.0, 3500.0, 3000.0]


@pytest.fixture
def browser():
    """A browser without a screen, where there is one."""
    names = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    return found or pytest.skip("no Chromium")


@pytest.mark.parametrize("width", [400, 1280])
def test_page_fits_the_window(unbalanced, tmp_path, browser, width):
    """Nothing but a table of its own is to be moved sideways."""
    trace = files.read(str(unbalanced), no_tools)
    calls = analysis.match(trace, trace.calls)
    text = page.page(trace, trace.calls, calls, analysis.analyse(trace))
    asks = "<script>document.title = document.documentElement.scrollWidth</script>"
    (tmp_path / "page.html").write_text(text.replace("</body>", asks + "</body>"))
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    command = [browser, *words, "--dump-dom", (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert 0 < int(re.search(r"<title>(\d+)</title>", shown)[1]) <= width


def test_page_in_a_browser(unbalanced, tmp_path, browser):
    """The script runs, and the timeline has colours."""
    trace = files.read(str(unbalanced), no_tools)
    calls = analysis.match(trace, trace.calls)
    target, picture = tmp_path / "page.html", tmp_path / "page.png"
    target.write_text(page.page(trace, trace.calls, calls, analysis.analyse(trace)))
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900"]
    command = [browser, *words, f"--screenshot={picture}", target.as_uri()]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    pixels = np.round(matplotlib.image.imread(picture)[:, :, :3] * 255).astype(int)
    drawn = (pixels == [int(page.COLOURS[0][at : at + 2], 16) for at in (1, 3, 5)]).all(axis=2)
    # 0.5 ms of each 10 for three ranks, beside the bars of the rest of the page.
    columns = np.flatnonzero(drawn[:, 600:].any(axis=0))
    assert drawn.sum() > 1000 and columns.size > 20


def test_timeline_is_bounded(unbalanced, monkeypatch):
    monkeypatch.setattr(page, "TIMELINE_MOST", 12)
    trace = files.read(str(unbalanced), no_tools)
    calls = analysis.match(trace, trace.calls)
    data, said = page.timeline(trace, trace.calls, calls, analysis.analyse(trace))
    assert len(data["records"]) == 12 and said.startswith("The first 12 of 40 calls")


def test_names_in_a_page_are_text(tmp_path):
    """A communicator's name cannot bring a script into the page."""
    evil = (9, 1, 0, 0, 2, 0, b"</script><script>x")
    for rank in range(2):
        make_file(tmp_path / "t", rank, 2, [("barrier", 0, 0, 9, {"comm": 2})], comms=[evil])
    trace = files.read(str(tmp_path / "t"), no_tools)
    calls = analysis.match(trace, trace.calls)
    text = page.page(trace, trace.calls, calls, analysis.analyse(trace))
    assert text.count("<script>") == 1 and "&lt;/script&gt;" in text


def test_json_and_bad_times(unbalanced, command):
    report = command("report", str(unbalanced), "--json", "-", "--transfer", "30us").json
    assert report["impact"][0]["psi"] == pytest.approx(100)
    wrong = command("report", str(unbalanced), "--transfer", "soon")
    assert (
        wrong.status == 2 and '--transfer: expected a time such as 4us, found "soon"' in wrong.err
    )


def test_names_of_operations(real_native):
    """The numbers in the records are those of the library, whose variables are in this order."""
    named = [
        match[1].lower()
        for variable in real_native.query("variables")
        if (match := re.fullmatch(r"SOBOR_([A-Z_]+)_ALGORITHM", variable["name"]))
    ]
    assert tuple(named) == files.COLLECTIVES


def test_sites_of_two_processes_are_one():
    """Where a program lies in memory does not matter; what is in no program keeps its address."""
    sites = Sites(no_tools)
    moved = MAPS.replace("55d0", "7fff")
    assert sites.number(MAPS, SITE) == sites.number(moved, 0x7FFF00001235) == 0
    assert sites.number(MAPS, 0x10) == 1
    assert sites.names() == ["/opt/app+0x1234", "unknown 0x10"]


def test_site_of_a_file_that_is_gone():
    assert resolve_by_tools("/nowhere/app", 0x1234) == "app+0x1234"


def test_site_whose_names_are_no_text(tmp_path, monkeypatch):
    tool = tmp_path / "addr2line"
    tool.write_text("#!/bin/sh\nprintf 'caf\\351\\n??:0\\n'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert resolve_by_tools("/bin/sh", 64) == "sh caf\ufffd"


def test_trace_makes_no_folder_for_what_cannot_be_started(command, fake_native, tmp_path):
    folder = tmp_path / "trace"
    for words in (["--", "mpirun-of-nobody"], ["--set", "RINGS=1", "--", "sh"]):
        result = command("trace", "-o", str(folder), *words)
        assert result.status == 2 and "recorded" not in result.err
        assert not folder.exists()


def test_trace_sets_it_up(command, fake_native, executed, tmp_path):
    folder = tmp_path / "new" / "trace"
    result = command("trace", "-o", str(folder), "--", "sh", "-c", "true")
    assert result.status == 0 and folder.is_dir()
    ((_, argv, environ),) = executed
    assert argv == ["sh", "-c", "true"] and environ["SOBOR_TRACE"] == str(folder)
    assert environ["LD_PRELOAD"] == str(fake_native.preload)
    assert f"sobor report {folder}" in result.err


def test_trace_hands_it_to_all_ranks(command, fake_native, make_launcher, executed, tmp_path):
    make_launcher("mpirun", "openmpi4")
    folder = tmp_path / "trace"
    assert command("trace", "--output", str(folder), "--", "mpirun", "-n", "2", "app").status == 0
    assert f"SOBOR_TRACE={folder}" in executed[0][1]


def test_trace_shows_the_command(command, fake_native, executed, tmp_path):
    shown = command("trace", "--print", "-o", str(tmp_path / "t"), "--", "sh")
    assert f"SOBOR_TRACE={tmp_path}/t" in shlex.split(shown.out)
    assert executed == [] and not (tmp_path / "t").exists()


def test_trace_keeps_what_is_there(command, fake_native, executed, unbalanced, tmp_path):
    again = command("trace", "-o", str(unbalanced), "--", "sh")
    assert again.status == 2 and "holds a trace already" in again.err
    (tmp_path / "file").touch()
    wrong = command("trace", "-o", str(tmp_path / "file"), "--", "sh")
    assert wrong.status == 2 and "--output: expected a folder" in wrong.err
    unset = command("trace", "-o", "", "--", "sh")
    assert unset.status == 2 and "--output: expected a folder, found nothing" in unset.err
    assert executed == []
