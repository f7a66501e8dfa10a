# SPDX-License-Identifier: BSD-3-Clause
"""sobor tune: that prices and rules are kept where jobs find them, not what they are."""

import os
import re
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import option
from sobor import tune
from sobor.bench.job import Outcome
from sobor.native import Native
from sobor.platform import run as platform_run

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="no line passes between cores"
)


@pytest.fixture
def kept():
    """Where the user's file is."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "sobor" / "prices"


def test_what_is_measured_is_kept_and_found(command, real_native, kept):
    result = command("tune", "--quick", "--json", "-")
    assert result.status == 0, result.err
    assert result.json["file"] == str(kept)
    entries = {entry["ranks"]: entry for entry in result.json["entries"]}
    assert 2 in entries
    assert not any(entry["error"] for entry in entries.values())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [entry.name for entry in kept.parent.iterdir()] == ["prices"]
    found = command("info", "--prices", "--ranks", "2", "--json").json
    assert found["measured"]["file"] == str(kept)
    assert found["measured"]["by"] == "tune"
    values = {price["name"]: price for price in found["prices"]}
    for name, value in entries[2]["prices"].items():
        assert values[name]["source"] == "measured"
        assert values[name]["value"] == pytest.approx(value, abs=1e-3, rel=1e-5)


def test_a_folder_whose_name_is_no_text(real_native, monkeypatch, tmp_path):
    """As of a user whose home was named in Latin letters of another encoding."""
    cache = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    answer = real_native.tune("--rules", "Some MPI 1", "2")
    assert answer["entries"][0]["error"] is None
    assert answer["file"] == f"{tmp_path}/caf?/sobor/prices"
    assert os.path.isfile(f"{cache}/sobor/prices")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/file/\xe9"))
    answer = real_native.tune("--rules", "Some MPI 1", "2")
    assert answer["entries"][0]["error"].startswith(f"{tmp_path}/file/?/sobor/prices: ")


def test_people_see_a_table(command, real_native, kept):
    out = command("tune", "--quick").out
    assert f"Prices in {kept}" in out
    assert "ranks" in out


def test_what_cannot_be_kept_is_an_error(command, real_native, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    result = command("tune", "--quick")
    assert result.status != 0
    assert "what was measured is not kept" in result.err
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("SOBOR_CACHE", "off")
    assert "SOBOR_CACHE is off" in command("tune", "--quick").err
    assert not (tmp_path / "sobor").exists()
    monkeypatch.delenv("SOBOR_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    result = command("tune", "--quick", "--json", "-")
    assert result.json["file"] is None and "neither XDG_CACHE_HOME nor HOME" in result.err


@pytest.fixture
def full(command, real_native, fake_native, make_launcher, launcher_folder):
    """Runs sobor tune --full: prices are real, and what the bench says is made up."""
    for name in ("sobor-tune", "sobor-query"):
        tool = fake_native.prefix / "libexec" / "sobor" / name
        tool.unlink(missing_ok=True)
        tool.symlink_to(real_native.prefix / "libexec" / "sobor" / name)
    library = launcher_folder.parent / "lib" / "libmpi.so.40"
    library.parent.mkdir()
    library.touch()
    make_launcher("mpirun", "openmpi4")
    return lambda *words: command("tune", "--quick", "--full", "--ranks", "2", *words)


def test_rules_say_host_where_it_is_faster(full, command, kept, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "behind")
    result = full("--json", "-")
    assert result.status == 0, result.err
    text = kept.read_text()
    assert re.search(r"\nranks 2\nmpi ompi40\nby tune\nmade \d+\nrule ", text)
    rules = dict(re.findall(r"^rule (\w+) (.*)$", text, re.MULTILINE))
    assert rules["bcast"] == "5793 1048576 2 0 host"
    assert set(rules) == {"bcast", "scatter", "gather", "allgather", "alltoall"}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    (entry,) = result.json["rules"]
    assert {rule["algorithm"] for rule in entry["rules"]} == {"host"}
    (rule,) = command(
        *("info", "--collective", "bcast", "--ranks", "2", "--bytes", "64K", "--json"),
        "--not-oversubscribed",
    ).json["choice"]["measured"]
    assert (rule["mpi"], rule["algorithm"], rule["file"]) == ("ompi40", "host", str(kept))
    # What is measured anew takes the place of what was there.
    monkeypatch.setenv("FAKE_BENCH", "")
    assert "ompi40, 2 ranks: Sobor serves all" in full().out
    assert "rule" not in kept.read_text()
    # On a busy machine a price may be beyond what is believed, and is left out.
    assert re.search(r"\nprice \w+ \d", kept.read_text())


def test_full_keeps_the_network_too(full, monkeypatch):
    """Its launcher is asked with the most ranks, and no further where it gives one node."""
    asked = []

    def measure(_native, wanted):
        asked.append(wanted)
        return {"job": {"nodes": 1}}

    monkeypatch.setattr(tune, "measure_platform", measure)
    result = full("--launcher", "mpirun -x A", "--json", "-")
    assert result.status == 0, result.err
    assert result.json["network"] == {"nodes": 1, "file": None}
    assert [(one.command, one.ranks, one.between_nodes) for one in asked] == [
        (["mpirun", "-x", "A"], 2, True)
    ]


@pytest.mark.parametrize("file", [None, "/home/user/.cache/sobor/prices"])
def test_without_a_cache_no_network_is_measured(command, monkeypatch, file):
    """Nor where entries are not kept, as with SOBOR_CACHE=off."""
    entry = {"ranks": 2, "prices": {}, "error": "HOME is not set"}
    native = SimpleNamespace(tune=lambda *_: {"file": file, "entries": [entry]})
    monkeypatch.setattr(tune, "find_native", lambda: native)
    monkeypatch.setattr(tune, "measure_platform", lambda *_: {"job": {"nodes": 2}})
    monkeypatch.setattr(tune, "make_target", lambda *_: None)
    result = command("tune", "--quick", "--launcher", "srun -N 2")
    assert result.status == 2 and "None" not in result.out
    assert "what was measured is not kept: HOME is not set" in " ".join(result.err.split())


@pytest.fixture
def srun(fake_native, launcher_folder, make_launcher, monkeypatch, kept):
    """Slurm's launcher alone on the PATH, and a library; what is measured, prices and platforms."""
    make_launcher("srun", "slurm")
    library = launcher_folder.parent / "lib" / "libmpi.so.40"
    library.parent.mkdir()
    library.touch()
    monkeypatch.setenv("PATH", str(launcher_folder))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    measured = []

    def prices(_native, *words):
        measured.append(words)
        return {"file": str(kept), "entries": [{"ranks": 2, "prices": {}, "error": None}]}

    def job(launch, *_):
        measured.append(launch.argv)
        return Outcome([{"measure": "job", "nodes": 1}])

    monkeypatch.setattr(Native, "tune", prices)
    monkeypatch.setattr(platform_run, "run_launch", job)
    return measured


SRUN = ("tune", "--quick", "--launcher", "srun -N 4 -n 64", "--json", "-")


def test_the_network_under_srun(command, srun, launcher_folder):
    """Slurm's launcher belongs to no MPI: the library that is here is taken."""
    result = command(*SRUN)
    assert result.status == 0, result.err
    assert result.json["network"] == {"nodes": 1, "file": None}
    words = srun[1]
    assert words[:5] == ["srun", "-N", "4", "-n", "64"]
    assert option(words, "--abi") == "ompi40"
    assert option(words, "--libmpi") == str(launcher_folder.parent / "lib" / "libmpi.so.40")


def test_several_mpis_are_told_before_anything_is_measured(command, srun, launcher_folder):
    other = launcher_folder.parent / "lib" / "libmpi_cray.so.12"
    other.touch()
    result = command(*SRUN)
    assert result.status == 2 and not srun
    said = " ".join(result.err.split())
    assert "several MPI libraries" in said and "--libmpi FILE" in said
    result = command(*SRUN, "--libmpi", str(other))
    assert result.status == 0, result.err
    assert option(srun[1], "--abi") == "mpich12"


def test_what_cannot_be_measured_leaves_no_rules(full, kept, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "fail")
    result = full()
    assert result.status != 0
    assert "2 ranks could not be measured" in result.err
    assert "mpi" not in kept.read_text()


def test_ranks_of_several_nodes_leave_no_rules(full, kept, monkeypatch):
    monkeypatch.setenv("FAKE_BENCH", "behind-nodes")
    result = full()
    assert result.status != 0
    assert "2 ranks were on 2 nodes" in result.err
    assert "mpi" not in kept.read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--ranks", "2"], "--ranks is for --full"),
        (["--full", "--ranks", "2,1"], "--ranks: a collective needs at least 2 ranks"),
        (["--libmpi", "libmpi.so.40"], "--libmpi is for --launcher or --full"),
        (["--launcher", "mpirun 'x"], "--launcher: mpirun 'x: no closing quotation"),
    ],
)
def test_options_of_full_alone(command, real_native, kept, words, error):
    result = command("tune", *words)
    assert result.status != 0
    assert error in result.err
    assert not kept.exists()


def test_rules_of_a_file_are_not_measured(full, kept, monkeypatch):
    monkeypatch.setenv("SOBOR_TUNING", "rules.json")
    assert "its rules would be measured" in full().err
    assert not kept.exists()


@pytest.mark.parametrize(
    "setting", ["SOBOR=off", "SOBOR_COLLECTIVES=none", "SOBOR_COLLECTIVES=bcast"]
)
def test_the_host_is_not_measured_against_itself(
    full, command, kept, monkeypatch, tmp_path, setting
):
    """Rules that are kept would be taken away."""
    monkeypatch.setenv(*setting.split("="))
    words = setting.replace("=", " is set to ")
    assert f"--full: {words}" in " ".join(full().err.split())
    assert not kept.exists()
    file = tmp_path / "rules.json"
    result = command("bench", "bcast", "--ranks", "2", "--write-tuning", str(file))
    assert f"--write-tuning: {words}" in " ".join(result.err.split())
    assert not file.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs other users' files")
@pytest.mark.parametrize(("owner", "found"), [(1, True), (2, False)])
def test_prices_of_whom_the_installation_belongs_to(real_native, tmp_path, owner, found):
    """As of an account for software: its programs run, so its prices may be read."""
    tool = tmp_path / "libexec" / "sobor" / "sobor-query"
    prices = tmp_path / "share" / "sobor" / "prices"
    for file in (tool, prices):
        file.parent.mkdir(parents=True)
    shutil.copy(real_native.query_tool, tool)
    topology = real_native.query("topology")
    machine = Native(tmp_path).query("measured")["processor"]
    prices.write_text(
        f"sobor-prices 1\nmachine {machine}\nprocessors {topology['pus']}\nranks 2\n"
        "by tune\nprice line 71200\nend\n"
    )
    os.chown(tool, 1, 1)
    os.chown(prices, owner, owner)
    answer = Native(tmp_path).query("measured", "--ranks", "2")
    assert (answer["file"] == str(prices)) is found
    assert (answer["error"] is None) is found
