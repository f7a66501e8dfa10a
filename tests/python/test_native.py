# SPDX-License-Identifier: BSD-3-Clause
"""Finding the native parts and asking sobor-query."""

import sys

import pytest

from conftest import ROOT, write_program
from sobor import native
from sobor.errors import SoborError
from sobor.native import Native, candidates, find_native
from sobor.simulate.calibrate import calibrate
from sobor.simulate.engine import run_engine
from sobor.version import __version__


def test_prefix_variable_is_taken(fake_native):
    assert find_native().prefix == fake_native.prefix


def test_wrong_prefix_is_named(tmp_path):
    with pytest.raises(SoborError) as error:
        find_native({"SOBOR_PREFIX": str(tmp_path)})
    assert "SOBOR_PREFIX" in error.value.message
    assert str(tmp_path) in error.value.message


def test_places_in_a_checkout():
    package = ROOT / "python" / "sobor"
    assert candidates(package) == [package / "native", ROOT / "build" / "release"]


def test_places_in_an_installation(tmp_path):
    package = tmp_path / "lib" / "sobor" / "python" / "sobor"
    assert candidates(package) == [package / "native", tmp_path]


def test_version_is_that_of_the_file():
    assert __version__ == (ROOT / "VERSION").read_text().strip()


def test_query_that_is_missing(tmp_path):
    with pytest.raises(SoborError, match="sobor-query: No such file") as error:
        Native(tmp_path).query("version")
    assert "make" in error.value.remedy


def test_remedies_where_there_is_no_checkout(command, fake_native, openmpi, monkeypatch):
    """There make has nothing to build, and pip alone would be another Python's."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = ("bench", "bcast", "--plot", "x.svg")
    shown = {"pip": " -I -m pip install numpy matplotlib", "apt": "apt install python3-numpy "}
    for found in (ROOT, None):
        monkeypatch.setattr(native, "_checkout", lambda *_, found=found: found)
        monkeypatch.setattr(sys, "prefix", "/of/an/environment")
        monkeypatch.setattr(sys, "base_prefix", "/usr")
        said = {"pip": _words(command(*plot))}
        monkeypatch.setattr(sys, "base_prefix", sys.prefix)
        said["apt"] = _words(command(*plot))
        for name, text in said.items():
            assert (shown[name] in text) == (found is None)
            assert (f"remedy: make -C {ROOT} build" in text) == (found is not None)
    (fake_native.libraries / "sobor-ompi40.so").unlink()
    assert "then install Sobor again" in _words(command("doctor", "--launcher", "mpirun"))
    (fake_native.libraries / "libsobor-bench-ompi40.so").unlink()
    assert "then install Sobor again" in _words(command("bench", "bcast"))
    fake_native.bench.unlink()
    for words in (["bench", "bcast"], ["platform", "--", "mpirun"]):
        text = _words(command(*words))
        assert "sobor-bench is missing" in text and "remedy: install Sobor again" in text


def _words(result):
    return " ".join((result.out + result.err).split())


def test_query_that_fails_shows_its_message(fake_native):
    with pytest.raises(SoborError, match="expected barrier or bcast"):
        fake_native.query("choice", "--collective", "gather")


def test_words_that_are_no_text(tmp_path):
    """What a tool says may have a file's name in it, or a word of the command line."""
    tools = Native(tmp_path)
    for tool in (tools.query_tool, tools.simulator, tools.calibrator):
        write_program(tool, "#!/bin/sh\nprintf 'sobor: no caf\\351\\n' >&2\nexit 2\n")
    for ask in (
        lambda: tools.query("version"),
        lambda: run_engine(tools, (), None),
        lambda: calibrate(tools, str(tmp_path / "x.json"), 1.0),
    ):
        with pytest.raises(SoborError) as error:
            ask()
        assert error.value.message == "no caf\udce9"


def test_query_without_json(tmp_path):
    native = Native(tmp_path)
    write_program(native.query_tool, "#!/bin/sh\necho hello\n")
    with pytest.raises(SoborError, match="no JSON"):
        native.query("version")
