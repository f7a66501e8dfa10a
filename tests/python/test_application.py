# SPDX-License-Identifier: BSD-3-Clause
"""sobor study application: the stacked times of the two programs, simulated."""

import os
from xml.etree import ElementTree

import pytest

from conftest import option, write_program

LONG = os.environ.get("SOBOR_TEST_LONG", "") not in ("", "0")


@pytest.mark.parametrize(
    ("program", "size", "width", "broadcasts", "updates"),
    [("asp", 40960, 300, 10240, 10240**2), ("vcc", 36864, 200, 252, 9216**2 // 18)],
)
def test_stacked(command, fake_native, arguments, tmp_path, program, size, width, broadcasts,
                 updates):  # fmt: skip
    words = ["study", "application", program, "--curves", "host,p,cp", "--out", str(tmp_path)]
    result = command(*words, "--json", "-")
    assert result.status == 0, result.err
    called = arguments()
    assert [option(each, "--algorithm") for each in called] == ["host-binomial"] + ["cluster"] * 2
    assert "--set" not in called[0]
    modes = ["SOBOR_CLUSTER_BCAST=p", "SOBOR_CLUSTER_BCAST=cp-chain"]
    assert [option(each, "--set") for each in called[1:]] == modes
    for each in called:
        assert (option(each, "--nodes"), option(each, "--ranks")) == ("16", "128")
        assert option(each, "--bytes") == str(size) and option(each, "--calls") == "240"
        assert option(each, "--arrival") == f"uniform:{width}us"
    found = {(row["series"], row["x"]): row for row in result.json}
    # The fake's ranks take 0.5 x 0.1 us for each rank.
    broadcast = broadcasts * 128 * 0.1 * 0.5 / 1e6
    assert found["broadcast", "cp"]["ours"] == pytest.approx(broadcast)
    assert found["computing", "cp"]["ours"] == pytest.approx(broadcasts * updates / 128 / 1e9)
    assert found["broadcast, cp / p", "ratio"]["ours"] == pytest.approx(1)
    assert 0.7 < found["broadcast, cp / host", "ratio"]["published"] < 0.9
    picture = ElementTree.parse(tmp_path / f"application-{program}.svg").getroot()
    texts = " ".join(picture.itertext())
    assert all(word in texts for word in ("host", "cp", "computing", "broadcast"))


@pytest.mark.parametrize(("program", "most"), [("asp", 0.82), ("vcc", 0.76)])
def test_competing_leaders_pay(command, real_native, tmp_path, program, most):
    """At the published sizes and widths, against the pipeline over fixed leaders."""
    if not real_native.simulator.is_file():
        pytest.skip(f"no {real_native.simulator}")
    if program != "asp" and not LONG:
        pytest.skip("only with SOBOR_TEST_LONG=1")
    words = ["study", "application", program, "--curves", "p,cp", "--out", str(tmp_path)]
    words += ["--with", f"sample={240 if LONG else 40}", "--json", "-"]
    found = {row["series"]: row["ours"] for row in command(*words).json}
    assert 0.3 < found["broadcast, cp / p"] <= most


def test_some_curves(command, fake_native, tmp_path):
    words = ["study", "application", "asp", "--curves", "p", "--out", str(tmp_path), "--json", "-"]
    assert {row["x"] for row in command(*words).json} == {"p"}


def test_a_program_here_gets_its_own_environment(
    command, fake_native, make_launcher, tmp_path, monkeypatch
):
    """No folder of Sobor's Python for one in Python; and its path may have blanks."""
    make_launcher("mpirun", "openmpi4")
    monkeypatch.setenv("PYTHONPATH", "/of/the/program")
    said = 'echo "$PYTHONPATH $SOBOR_COLLECTIVES ${SOBOR_TRACE:+traced} $1"'
    text = f"#!/bin/sh\n{said} >'{tmp_path}/said'\nprintf 'caf\\351\\n' >&2\nexit 3\n"
    program = write_program(tmp_path / "a b" / "asp", text)
    given = f"command=mpirun -n 2 '{program}' 12"
    words = ["study", "application", "asp", "--with", "machine=here", "--with", given]
    result = command(*words, "--out", str(tmp_path))
    assert (tmp_path / "said").read_text() == "/of/the/program none traced 12\n"
    assert result.status == 2 and "exit status 3" in result.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("asp --curves fast", "curves: expected host, p, cp, found fast"),
        ("asp --with arrival=uniform:5us --with machine=here", "command: with machine=here"),
        ("asp-arrival --with arrival=normal:5us", "arrival: expected uniform:TIME where nothing"),
        ("asp-arrival --with machine=here", "command: with machine=here expected a launcher"),
        ("asp --with update=5", 'update: expected a time such as 4us, found "5"'),
    ],
)
def test_wrong_use(command, fake_native, tmp_path, words, expected):
    result = command("study", "application", *words.split(), "--out", str(tmp_path))
    assert result.status == 2
    assert expected in result.err
