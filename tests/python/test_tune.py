# SPDX-License-Identifier: BSD-3-Clause
"""sobor tune: that prices are kept where jobs find them, not what they are."""

import os
import stat
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="no line passes between cores"
)


@pytest.fixture
def kept():
    """Where the user's file is."""
    return Path(os.environ["XDG_CACHE_HOME"]) / "sobor" / "prices"


def test_what_is_measured_is_kept_and_found(command, real_native, kept):
    result = command("tune", "--quick", "--json")
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
        assert values[name]["value"] == pytest.approx(value, abs=1e-3)


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
