# SPDX-License-Identifier: BSD-3-Clause
"""JSON files that commands are given: what is wrong in one is named, whatever is in it."""

import pytest

from sobor.errors import SoborError
from sobor.inputs import COUNT, NUMBER, SWITCH, TEXT, Each, Optional, check_shape, read_json
from sobor.machines import read_machine
from sobor.profile.estimate import load


@pytest.mark.parametrize("read", [read_json, read_machine, lambda file: load(str(file))])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "line 1: expected JSON"),
        (b'{\n"a": ', "line 2: expected JSON"),
        (b'{"a": "\xe9"}', "expected a JSON file, found other bytes"),
        (b"\xef\xbb\xbf{}", "line 1: expected JSON: Unexpected UTF-8 BOM"),
        (b"[" * 200_000, "expected a JSON file, found brackets too deep"),
        (b'{"a": %s}' % (b"9" * 6000), "expected numbers, found one of thousands of digits"),
        (None, "Is a directory"),
    ],
)
def test_what_is_no_json(tmp_path, read, content, words):
    file = tmp_path / "x.json"
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(SoborError) as error:
        read(file)
    assert f"{file}: {words}" in error.value.message


SHAPE = {
    "name": TEXT,
    "ranks": COUNT,
    "rows": [{"on": SWITCH, "time": NUMBER}],
    "more": Optional({"sizes": Each(COUNT)}),
}
ROW = {"on": True, "time": 1.5}
GOOD = {"name": "a", "ranks": 2, "rows": [ROW, ROW], "unknown": 3}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "the file: expected an object, found []"),
        ({"name": "a"}, "the file: expected ranks, found none"),
        ({**GOOD, "name": 4}, "name: expected a text, found 4"),
        ({**GOOD, "ranks": True}, "ranks: expected a whole number of at least 1, found true"),
        ({**GOOD, "ranks": 0}, "ranks: expected a whole number of at least 1, found 0"),
        ({**GOOD, "ranks": 2.0}, "ranks: expected a whole number of at least 1, found 2.0"),
        ({**GOOD, "ranks": 1 << 63}, "ranks: expected a whole number of at least 1, found 9223"),
        ({**GOOD, "rows": {}}, "rows: expected a list, found {}"),
        ({**GOOD, "rows": [ROW, None]}, "rows[1]: expected an object, found null"),
        ({**GOOD, "rows": [{**ROW, "on": 1}]}, "rows[0].on: expected true or false, found 1"),
        ({**GOOD, "rows": [{**ROW, "time": float("nan")}]}, "rows[0].time: expected a number"),
        ({**GOOD, "rows": [{**ROW, "time": 10**400}]}, "rows[0].time: expected a number"),
        ({**GOOD, "rows": [{"on": True}]}, "rows[0]: expected time, found none"),
        ({**GOOD, "more": {"sizes": {"b": "c"}}}, "more.sizes.b: expected a whole number of at"),
        ({**GOOD, "name": [1] * 99}, "name: expected a text, found [1, 1, 1, 1, 1, 1, 1, 1, 1, 1"),
    ],
)
def test_other_shapes(value, words):
    check_shape("x.json", GOOD, SHAPE)
    check_shape("x.json", {**GOOD, "more": {"sizes": {"b": 4}}}, SHAPE)
    with pytest.raises(SoborError) as error:
        check_shape("x.json", value, SHAPE)
    assert error.value.message.startswith(f"x.json: {words}")
    assert len(error.value.message) < 120
