# SPDX-License-Identifier: BSD-3-Clause
"""The command line of sobor info."""

import itertools
import json
import re
from xml.etree import ElementTree

import pytest

from sobor import start
from sobor.info import picture


def test_overview(command, fake_native):
    result = command("info")
    assert result.status == 0
    assert "Sobor 0.1.0" in result.out
    assert "ompi40, mpich12" in result.out
    assert str(fake_native.preload) in result.out
    assert "2 (4 hardware threads)" in result.out
    assert "zen4 (AMD EPYC 9004)" in result.out
    assert "by tune, in /etc/sobor/prices" in result.out


def test_overview_shows_what_is_set(command, fake_native, monkeypatch):
    monkeypatch.setenv("SOBOR_RING", "1MiB")
    out = command("info").out
    assert "SOBOR_RING = 1MiB  (from the environment, default 512KiB; bytes)" in out
    assert "SOBOR_WAIT" not in out


def test_overview_json(command, fake_native):
    answer = command("info", "--json").json
    assert answer["version"]["version"] == answer["version"]["command"]
    assert answer["topology"]["cores"] == 2
    assert answer["changed"] == []
    assert answer["paths"]["preload"] == str(fake_native.preload)


def test_variables(command, fake_native):
    out = command("info", "--variables").out
    assert "SOBOR_RING = 512KiB  (default; bytes)" in out
    assert "Size of a ring." in out


def test_algorithms(command, fake_native):
    out = command("info", "--algorithms").out
    assert "The tree barrier." in out
    assert "src/coll/bcast/ring.c" in out


def test_prices(command, fake_native):
    lines = command("info", "--prices").out.splitlines()
    assert ["byte", "0.06", "ns", "built", "in", "One more byte copied."] in [
        line.strip().split(maxsplit=5) for line in lines
    ]
    text = "\n".join(lines)
    assert "by tune, in /etc/sobor/prices" in text
    assert "Open MPI 4.1.4: bcast, up to 4K bytes, 8 ranks, a core for each rank: host" in text
    prices = command("info", "--prices", "--json").json["prices"]
    assert {price["name"]: price["value"] for price in prices} == {"line": 70, "byte": 0.06}


def test_choice(command, fake_native):
    result = command("info", "--collective", "bcast", "--bytes", "4K", "--ranks", "8")
    assert "bcast of 4K bytes on 8 ranks" in result.out
    assert "slots: small message" in result.out
    assert "message too small" in result.out


def test_choice_json(command, fake_native):
    choice = command(
        "info", "--collective", "bcast", "--bytes", "4096", "--ranks", "8", "--json"
    ).json
    assert choice["choice"]["algorithm"] == "slots"
    assert choice["choice"]["bytes"] == 4096
    assert [c["eligible"] for c in choice["choice"]["candidates"]] == [True, False]


def test_several_nodes(command, fake_native):
    asked = ("info", "--collective", "allreduce", "--nodes", "16", "--ranks", "128")
    out = command(*asked, "--map", "node", "--machine", "cluster-16x8").out
    assert "allreduce of 128 ranks dealt round 16 nodes" in out
    assert "0.67 ns a byte" in out
    rows = [line.split() for line in out.splitlines()]
    assert [
        "64K",
        "cluster",
        "ring",
        "8",
        "32K",
        "12.5",
        "us",
        "rabenseifner",
        "25.0",
        "us",
    ] in rows
    sizes = command(*asked, "--bytes", "4K", "--json").json["spanning"]["sizes"]
    assert sizes[0]["bytes"] == 4096


def test_groups_and_placement(command, fake_native):
    out = command("info", "--groups", "--ranks", "3", "--map", "numa").out
    assert "{0-2}" in out
    assert "every page is in its place" in command("info", "--placement").out


def test_huge_pages(command, fake_native, monkeypatch):
    out = command("info", "--placement").out
    assert "4 MiB of each rank on huge pages; the system's shmem_enabled is advise" in out
    monkeypatch.setenv("FAKE_HUGE", "never")
    out = command("info", "--placement").out
    assert "no huge pages: the system's shmem_enabled is never" in out
    monkeypatch.setenv("SOBOR_HUGE_PAGES", "off")
    assert "no huge pages: SOBOR_HUGE_PAGES is off" in command("info", "--placement").out


#: The second example of the specification: 14 ranks dealt over 4 NUMA nodes in 2 packages.
FOURTEEN = {
    "levels": [
        {"level": "numa", "groups": [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10], [3, 7, 11]]},
        {"level": "package", "groups": [[0, 1], [2, 3]]},
        {"level": "top", "groups": [[0, 2]]},
    ]
}


def test_ranks_in_short():
    assert picture.ranks_of([0, 4, 8, 12]) == "{0,4,8,12}"
    assert picture.ranks_of([*range(32), 40, 41, 50]) == "{0-31,40,41,50}"


def test_groups_for_graphviz():
    text = picture.dot(FOURTEEN)
    assert text.startswith("graph groups {") and text.count("{") == text.count("}")
    assert 'numa_1 [label="numa\\n{1,5,9,13}"]' in text
    assert re.findall(r"(\w+) -- (\w+)", text) == [
        ("numa_0", "package_0"),
        ("numa_1", "package_0"),
        ("numa_2", "package_2"),
        ("numa_3", "package_2"),
        ("package_0", "top_0"),
        ("package_2", "top_0"),
    ]


def test_groups_as_drawing():
    drawing = ElementTree.fromstring(picture.svg(FOURTEEN, "14 ranks <numa>"))
    boxes = [b.attrib for b in drawing.iter("{http://www.w3.org/2000/svg}rect") if "rx" in b.attrib]
    assert len(boxes) == 7
    assert "{3,7,11}" in [t.text for t in drawing.iter("{http://www.w3.org/2000/svg}text")]
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in boxes:
        left, width = float(box["x"]), float(box["width"])
        rows.setdefault(box["y"], []).append((left, left + width))
    assert len(rows) == 3
    for row in rows.values():
        row.sort()
        assert all(a[1] < b[0] for a, b in itertools.pairwise(row))
        assert row[-1][1] <= float(drawing.attrib["width"])


def test_a_refusal_is_drawn():
    refused = {"levels": [], "refusal": "the ranks are not bound to processors"}
    assert "no groups: the ranks are not bound" in picture.dot(refused)
    assert "no groups: the ranks are not bound" in picture.svg(refused, "2 ranks")


def test_pictures_of_groups(command, fake_native, tmp_path):
    files = [str(tmp_path / "groups.dot"), str(tmp_path / "groups.svg")]
    command("info", "--groups", "--ranks", "3", "--dot", files[0], "--svg", files[1])
    assert "{0-2}" in (tmp_path / "groups.dot").read_text()
    assert "3 ranks by core" in (tmp_path / "groups.svg").read_text()


def test_machine_goes_to_the_core(command, fake_native):
    assert "pack:2 core:4" in command("info", "--machine", "pack:2 core:4").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ranks", "4"], "--ranks goes with --prices, --groups, --placement or --collective"),
        (["--bytes", "4"], "--bytes goes with --collective"),
        (["--groups"], "--groups needs the number of ranks"),
        (["--collective", "bcast"], "--collective needs the number of ranks"),
        (
            ["--groups", "--ranks", "2", "--map", "x"],
            "--map: expected core, numa, socket, none, found x",
        ),
        (["--collective", "bcast", "--ranks", "2", "--bytes", "x"], "--bytes: expected a size"),
        (["--nodes", "4"], "--nodes goes with --collective"),
        (
            ["--collective", "bcast", "--nodes", "2", "--ranks", "4", "--map", "numa"],
            "--map: expected core, node, found numa",
        ),
        (
            ["--collective", "bcast", "--nodes", "2", "--ranks", "4", "--machine", "grace-2s"],
            "--machine: expected one with a network, found grace-2s",
        ),
        (["--svg", "x.svg"], "--svg goes with --groups"),
        (["--groups", "--ranks", "2", "--dot", "/no/x.dot"], "--dot: /no/x.dot cannot be written"),
        (["--collective", "gather", "--ranks", "2"], "expected barrier or bcast"),
    ],
)
def test_errors(command, fake_native, arguments, words):
    result = command("info", *arguments)
    assert result.status == 2
    assert words in result.err


def test_json_is_alike(command, fake_native, tmp_path):
    """Alone, with - and with a file, in whatever order."""
    alone = command("info", "--json").json
    assert command("info", "--json", "-").json == alone
    assert command("info", "--json", "--variables").json["variables"]
    file = tmp_path / "info.json"
    result = command("info", "--json", str(file))
    assert json.loads(file.read_text()) == alone and str(file) in result.err and result.out
    refused = command("info", "--json", str(tmp_path))
    assert refused.status == 2 and "--json: " in refused.err


def test_words_of_a_program_are_left_alone():
    """--json without a file is completed only where it is the command's own."""
    for words in (
        ["trace", "mpirun", "app", "--json"],
        ["trace", "--", "mpirun", "app", "--json", "--x"],
        ["profile", "--json", "f", "--", "app", "--json"],
    ):
        assert start._with_json_file(words) == words
    assert start._with_json_file(["profile", "--json", "--", "app"])[2] == "-"
