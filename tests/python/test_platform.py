# SPDX-License-Identifier: BSD-3-Clause
"""sobor platform: what follows from samples, machine files, and a real run of two ranks."""

import io
import json
import shutil
from xml.etree import ElementTree

import pytest
from rich.console import Console

from sobor import tune
from sobor.errors import SoborError
from sobor.machines import PARAMETERS, read_machine
from sobor.platform import analysis, machine_file, run, views
from sobor.platform.analysis import Rows, prices
from sobor.simulate import calibrate

SPREAD = {"value", "p10", "p90", "samples"}
FIELDS = ("flops", "ts_us", "tw_us", "bandwidth", "eager_bytes", "lanes", "switch")
FIELDS += ("barrier_precision_us", "reference_precision_us")


def made(pairs=2.0, lanes=1.0, nodes=4):
    """Rows of a network of 10 us and 100 MB/s; all pairs and lanes gain so much."""
    latency, byte = 10e-6, 1e-8
    rows = [
        {"measure": "flops", "how": how, "at": at, "samples": [1e9 * at] * 3}
        for how in ("dependent", "independent")
        for at in (1, 4)
    ]

    def add(measure, at, *samples, how="any"):
        rows.append({"measure": measure, "how": how, "at": at, "samples": list(samples)})

    for power in range(17):
        time = latency + 4 * 2**power * byte
        add("ping", 2**power, time, time * 1.01, time * 0.99)
    add("stream", 4 << 20, 1e8, 1e8)
    add("send", 4, 1e-6)
    add("eager", 10, 4096, 4160)
    for size in (1024, 65536, 1 << 22):
        add("exchange-time", size, latency + size * byte * (2 / pairs if pairs > 1.1 else 4))
    add("allgather", 65536, 1e-3, 1e-3, 2.5e-3)
    add("alltoall", 65536, 1e-3)
    add("exchange", 2, 2e8)
    add("pairs", 1, 1e8, 1e8)
    add("pairs", 2, pairs * 1e8, pairs * 1e8)
    add("lanes", 1, 1e8)
    add("lanes", 4, lanes * 1e8)
    add("barrier", 4, 3e-6, 4e-6)
    add("reference", 4, 1e-6, how="synchronised clocks")
    return Rows({"ranks": 4 * nodes, "nodes": nodes, "host": "an MPI", "processors": 4}, rows)


def test_fits():
    answers = prices(made())
    for fitted in (answers, answers["two_points"]):
        assert fitted["ts_us"]["value"] == pytest.approx(10, rel=0.01)
        assert fitted["tw_us"]["value"] == pytest.approx(0.04, rel=0.01)
    for name in FIELDS:
        assert set(answers[name]) >= SPREAD, name
    assert answers["eager_bytes"]["value"] == 4096


def test_published_points():
    """66.22 us for one element, and t_w by 2048: about 65.8 and 0.437."""
    link = analysis.fit_two([(1, 66.22e-6), (2048, 66.22e-6 + 2047 * 0.437e-6)])
    assert link.latency == pytest.approx(65.8, abs=0.05)
    assert link.element == pytest.approx(0.437, abs=1e-4)


@pytest.mark.parametrize(("gain", "kind"), [(1.05, "star"), (1.95, "crossbar"), (1.5, "blocking")])
def test_switch(gain, kind):
    assert prices(made(pairs=gain))["switch"]["value"] == kind


@pytest.mark.parametrize(("gain", "turns"), [(1.05, 12.0), (1.95, 3.0), (1.5, 4)])
def test_forecasts(gain, turns):
    """Two stages, of three blocks in all; exchanges of all pairs know the switch."""
    answers = prices(made(pairs=gain))
    row, other = answers["forecasts"]
    assert row["forecast_us"] == pytest.approx(2 * 10 + turns * 655.36, rel=0.03)
    assert row["measured_us"] == pytest.approx(1000)
    assert other["collective"] == "alltoall"
    assert other["forecast_us"] == pytest.approx(10 + 2 * 1 + turns * 655.36, rel=0.03)


def test_forecast_of_an_odd_number():
    """Of five ends four exchange in pairs, and in the three stages of Bruck's algorithm all send:
    on a star five blocks take turns, not four."""
    row, _ = prices(made(pairs=1.05, nodes=5))["forecasts"]
    assert row["ends"] == 5
    assert row["forecast_us"] == pytest.approx(3 * 10 + 20 * 655.36, rel=0.01)


@pytest.mark.parametrize(
    ("size", "time"), [(2048, 20), (3072, 30), (12288, 105), (16384, 140), (32768, 280)]
)
def test_times_between_sizes(size, time):
    """Not across the eager limit, and beyond the longest in proportion."""
    known = [(1024, 10.0), (4096, 40.0), (8192, 70.0), (16384, 140.0)]
    assert analysis._between(known, 4096)(size) == pytest.approx(time)


def test_nothing_is_faster_than_a_stream():
    """Buckets let exchanges of short messages pass, but not calls in a row."""
    rows = made()
    for row in rows.rows:
        if row["measure"] == "exchange-time":
            row["samples"] = [1e-6]
    gathered, _ = prices(rows)["forecasts"]
    assert gathered["forecast_us"] == pytest.approx(3 * 655.36)


def crossing():
    """Rows of a network on which BAGDS is ahead up to 128 bytes."""
    rows = made().rows
    for power in range(4, 12):
        gain = 1.2 if power < 8 else 0.9
        for name, factor in (("bagds", 1), ("(p - 1)^2 transfers", gain), ("each-with-each", 1.1)):
            times = [1e-3 * factor] * 2
            rows.append({"measure": name, "how": "any", "at": 2**power, "samples": times})
    return Rows(made().job, rows)


def test_crossing():
    """Of 4 ends 8 transfers of 12 blocks against 9 of 9: by the formulas up to t_s / (3 t_w)."""
    found = prices(crossing())["crossing_elements"]
    assert found["model"] == pytest.approx(10 / (3 * 0.04), rel=0.01)
    assert 2**7 / 4 < found["measured"] < 2**8 / 4
    assert found["whole"] is None and len(found["whole_gains"]) == 8


@pytest.mark.parametrize(
    ("gains", "least", "most"),
    [
        ([1.5, 1.2, 1.1, 0.99, 1.02, 0.9, 0.8, 0.8], 3, 33),
        ([0.9, 0.8], 0, 0),
        ([1.3, 1.1], None, None),
        ([1.3, 0.98, 1.2, 1.1], None, None),
    ],
)
def test_where_a_gain_is_lost(gains, least, most):
    """One point that noise has moved does not count."""
    found = analysis._crosses([(2**i, gain) for i, gain in enumerate(gains)])
    assert found is None if least is None else least <= found <= most


def test_lanes():
    assert prices(made(lanes=1.2))["lanes"]["value"] == 1
    answers = prices(made(lanes=3.0))
    assert answers["lanes"]["value"] == 4
    assert (answers["lanes"]["p10"], answers["lanes"]["p90"]) == (4, 4)
    # Where samples are apart, the number of lanes is too.
    unsteady = made(lanes=3.0)
    next(row for row in unsteady.rows if (row["measure"], row["at"]) == ("lanes", 4))["samples"] = [
        1e8,
        1e8,
        3e8,
        3e8,
        3e8,
    ]
    assert prices(unsteady)["lanes"]["value"] == 4
    assert (prices(unsteady)["lanes"]["p10"], prices(unsteady)["lanes"]["p90"]) == (1, 4)
    assert answers["injection"]["value"] == pytest.approx(3e8)


def test_plot_and_text(tmp_path):
    """All figures are in both, what is only there for several nodes too."""
    from sobor.platform.plot import draw  # noqa: PLC0415

    answers, file = prices(crossing()), tmp_path / "platform.svg"
    draw(answers, file)
    drawn = " ".join(ElementTree.parse(file).getroot().itertext())
    for words in ("A transfer", "two points", "barrier_precision_us", "Calls of all ends"):
        assert words in drawn
    assert "Each-with-each over BAGDS" in drawn
    out = io.StringIO()
    views.write(answers, Console(file=out, width=100))
    text = " ".join(out.getvalue().split())
    for words in ("t_s, least squares", "eager limit", "exits of MPI_Barrier apart", "crossbar"):
        assert words in text
    assert "by the formulas of a star 83.3" in text and "with all that it needs any" in text


def test_parts_of_a_machine_file():
    parameters = machine_file.network(prices(made(pairs=1.0, lanes=2.0)))
    assert set(parameters) == {name for name in PARAMETERS if name.startswith("net_")}
    values = {name: entry["value"] for name, entry in parameters.items()}
    assert values["net_switch"] == "star" and values["net_eager"] == 4096
    assert values["net_byte"] == pytest.approx(10) and values["net_injection"] == pytest.approx(0.2)
    assert values["net_latency"] + 2 * values["net_overhead"] == pytest.approx(10000, rel=0.01)


def test_where_nothing_leaves_alone_the_machine_has_an_eager_limit():
    """In a machine file 0 is no limit: the opposite."""
    answers = prices(made())
    answers["eager_bytes"]["value"] = 0
    assert machine_file.network(answers)["net_eager"]["value"] == 1


def test_written_machine(tmp_path, real_native, monkeypatch):
    """What is added to a calibration is a machine of several nodes."""
    source = next(
        path
        for path in (real_native.prefix / "share", *real_native.prefix.parents)
        if (path / "share/sobor/machines/xeon-e5620-2s.json").is_file()
    )
    plain = source / "share/sobor/machines/xeon-e5620-2s.json"
    file = tmp_path / "mine.json"
    monkeypatch.setattr(
        calibrate, "_measure", lambda _native, scratch, *_: shutil.copy(plain, scratch)
    )
    machine_file.write(real_native, str(file), prices(made()))
    machine = read_machine(file)
    assert machine.nodes == 4
    assert machine.parameters["net_byte"].value == pytest.approx(10)
    # A network that is none leaves the file as it was, and no other one.
    wrong = prices(made())
    wrong["ts_us"]["value"] = wrong["overhead_us"]["value"] = 0.0
    with pytest.raises(SoborError, match="net_latency: value: expected a number above 0"):
        machine_file.write(real_native, str(file), wrong)
    assert read_machine(file) == machine and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("nodes", [1, 4])
def test_tune_keeps_the_network(nodes, tmp_path, real_native, monkeypatch):
    written = []
    monkeypatch.setattr(tune, "measure_platform", lambda *_: prices(made(nodes=nodes)))
    monkeypatch.setattr(tune.machine_file, "write", lambda *words: written.append(words[1]))
    wanted = tune.Wanted(launcher="srun -N 4")
    kept = tune._keep_network(real_native, wanted, str(tmp_path / "prices"))
    file = str(tmp_path / "network.json")
    assert kept == {"nodes": nodes, "file": file if nodes > 1 else None}
    assert written == ([file] if nodes > 1 else [])


def test_real_run(command, real_native, tmp_path):
    launcher = shutil.which("mpirun.openmpi")
    if launcher is None or not real_native.bench.is_file():
        pytest.skip("no mpirun.openmpi, or no bench")
    file = tmp_path / "platform.json"
    words = ["--seconds", "0.001", "--bytes", "4K", "--json", str(file), "--", launcher]
    words += ["--oversubscribe"]
    result = command("platform", *words, "-n", "2")
    assert result.status == 0, result.err
    answers = json.loads(file.read_text())
    for name in FIELDS:
        assert set(answers[name]) >= SPREAD, name
    assert answers["flops"]["value"] > 1e7 and answers["bandwidth"]["value"] > 1e6
    assert answers["switch"]["value"] == "unknown"
    assert answers["reference_precision_us"]["by"] == "shared flag"
    assert answers["job"]["nodes"] == 1 and len(answers["pings"]) == 17
    found = {(row["collective"], row["bytes"]) for row in answers["forecasts"]}
    assert found == {(name, size) for name in ("allgather", "alltoall") for size in (1024, 4096)}
    assert "eager limit" in result.out and "exits of MPI_Barrier apart" in result.out


def test_one_node_is_shown_and_no_machine_of_it_written(
    command, tmp_path, real_native, monkeypatch
):
    monkeypatch.setattr(run, "measure", lambda *_: prices(made(nodes=1)))
    file = tmp_path / "machine.json"
    result = command("platform", "--write", str(file), "--", "mpirun")
    assert result.status == 2 and "expected a job of several nodes" in result.err
    assert "eager limit" in result.out and not file.exists()


def test_one_node_is_not_measured_between_nodes(real_native):
    launcher = shutil.which("mpirun.openmpi")
    if launcher is None or not real_native.bench.is_file():
        pytest.skip("no mpirun.openmpi, or no bench")
    answers = run.measure(real_native, run.Wanted([launcher], ranks=2, between_nodes=True))
    assert set(answers) == {"job"}
    assert (answers["job"]["nodes"], answers["job"]["ranks"]) == (1, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-- ls", "ls is not an MPI launcher"),
        ("--bytes 2M -- mpirun -n 2", "--bytes: expected 1K to 1M, found 2M"),
        ("--bytes long -- mpirun -n 2", "--bytes: expected a size such as 8, 1K or 64KiB"),
        ("--write mine.txt -- mpirun -n 2", "--write: expected a file name that ends in .json"),
        ("--plot x.png -- mpirun -n 2", "--plot: expected a file name that ends in .svg"),
    ],
)
def test_errors(command, real_native, words, message):
    result = command("platform", *words.split())
    assert result.status == 2
    assert message in " ".join(result.err.split())
