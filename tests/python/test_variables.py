# SPDX-License-Identifier: BSD-3-Clause
"""SOBOR_* variables given with --set and found in the environment."""

import re
from pathlib import Path

import pytest

from sobor import variables
from sobor.errors import SoborError


def test_present_leaves_out_those_of_the_command():
    environ = {
        "SOBOR": "on",
        "SOBOR_RING": "8",
        "SOBOR_PREFIX": "/x",
        "SOBOR_PRELOAD": "/s",
        "SOBOR_OMPI_INCLUDE": "/i",
        "SOBOR_ROOT": "/r",
        "SOBOR_TEST_LONG": "1",
        "SOBORX": "1",
        "A": "1",
    }
    assert variables.present(environ) == {"SOBOR": "on", "SOBOR_RING": "8"}


def test_the_library_passes_over_the_same():
    source = Path(__file__).parents[2] / "src" / "base" / "config.c"
    table = re.search(r"foreign\[\] = \{(.*?)\};", source.read_text("utf-8"), re.DOTALL)
    names = {f"{name}=" for name in variables.FOREIGN_VARIABLES}
    assert set(re.findall(r'"(.*?)"', table[1])) == names | set(variables.FOREIGN_PREFIXES)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("RING=1MiB", "SOBOR_RING"),
        ("SOBOR_RING=1MiB", "SOBOR_RING"),
        ("ring=1MiB", "SOBOR_RING"),
        ("SOBOR=1MiB", "SOBOR"),
    ],
)
def test_names(setting, name):
    assert variables.parse_settings([setting]) == {name: "1MiB"}


def test_value_may_hold_equals_and_be_empty():
    assert variables.parse_settings(["NODE=a=b", "RING="]) == {
        "SOBOR_NODE": "a=b",
        "SOBOR_RING": "",
    }


@pytest.mark.parametrize("setting", ["RING", "=1", ""])
def test_not_name_value(setting):
    with pytest.raises(SoborError, match="expected NAME=VALUE"):
        variables.parse_settings([setting])


def test_unknown_name_has_the_nearest(fake_native):
    with pytest.raises(SoborError) as error:
        variables.check_settings(fake_native, {"SOBOR_RINGS": "8"}, {})
    assert error.value.message == "--set: SOBOR_RINGS is not a variable of Sobor"
    assert "did you mean SOBOR_RING?" in error.value.remedy


def test_wrong_value_is_named(fake_native):
    with pytest.raises(SoborError) as error:
        variables.check_settings(fake_native, {"SOBOR_RING": "abc"}, {})
    assert error.value.message == ('--set: SOBOR_RING: expected a size such as 512KiB, found "abc"')


def test_unknown_in_the_environment_is_warned_of(fake_native):
    environ = {"SOBOR_RING": "8", "SOBOR_VERBOS": "1"}
    (warning,) = variables.unknown_present(fake_native, environ)
    assert "SOBOR_VERBOS in the environment" in warning
    assert "did you mean SOBOR_VERBOSE?" in warning
