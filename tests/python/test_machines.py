# SPDX-License-Identifier: BSD-3-Clause
"""Machine files: those that come with Sobor, and what is said of wrong ones."""

import json

import pytest

from sobor.errors import SoborError
from sobor.machines import PARAMETERS, find_machine, machine_files, read_machine, topology_of

# Name to nodes, cores of a node, NUMA nodes of a node.
EXPECTED = {
    "cluster-128x8": (128, 8, 2),
    "cluster-16x8": (16, 8, 2),
    "cluster-8x64": (8, 64, 4),
    "epyc9654-2s": (1, 192, 8),
    "grace-2s": (1, 144, 2),
    "kunpeng920-2s": (1, 128, 4),
    "xeon-e5-2620v4-2s": (1, 16, 2),
    "xeon-e5620-2s": (1, 8, 2),
    "xeon8480-2s": (1, 112, 8),
}


def test_all_machines_are_there():
    assert list(machine_files()) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_machine_is_complete(name):
    machine = find_machine(name)
    assert machine.name == name
    assert machine.nodes == EXPECTED[name][0]
    for parameter in machine.parameters.values():
        assert len(parameter.source) > 5
        # What is not assumed names a reference, a data sheet or the number it is taken from.
        known = (*machine.references, "data sheet", "x86-64", "as ", "no two cores", "each package")
        assert parameter.assumed or parameter.source.startswith(tuple(known)), parameter.source


@pytest.mark.parametrize("name", EXPECTED)
def test_topology_is_understood(name, real_native):
    topology = real_native.query("topology", "--machine", topology_of(name))
    assert (topology["cores"], topology["numa_nodes"]) == EXPECTED[name][1:]


def test_other_topologies_go_through():
    assert topology_of("pack:2 core:4 pu:1") == "pack:2 core:4 pu:1"
    assert topology_of("/some/machine.xml") == "/some/machine.xml"
    assert topology_of("kunpeng920-2s").startswith("package:2 numa:2")


def test_unknown_machine_is_told():
    with pytest.raises(SoborError, match="no machine cray; known: cluster-128x8, "):
        find_machine("cray")


@pytest.fixture
def edited(tmp_path):
    """Writes a copy of a machine file with one thing changed and reads it."""

    def edit(change):
        content = json.loads(machine_files()["cluster-16x8"].read_text())
        change(content)
        path = tmp_path / "edited.json"
        path.write_text(json.dumps(content))
        return read_machine(path)

    return edit


def test_processors_are_known(real_native):
    question = ("choice", "--collective", "barrier", "--ranks", "8", "--machine", "core:8 pu:1")
    processors = {find_machine(name).processor for name in machine_files()} - {None}
    assert {"zen4", "neoverse-v2"} <= processors
    for processor in processors:
        real_native.query(*question, "--processor", processor)
        known = real_native.query("topology", *question[-2:], "--processor", processor)
        assert known["processor"]["name"] == processor
    assert real_native.query("topology", *question[-2:])["processor"] is None
    with pytest.raises(SoborError, match=r'--processor: expected one of other, .*found "z80"'):
        real_native.query(*question, "--processor", "z80")
    with pytest.raises(SoborError, match="--processor: expected --machine too"):
        real_native.query(*question[:-2], "--processor", "zen4")


def test_machine_file_anywhere(edited, tmp_path):
    edited(lambda content: None)
    assert find_machine(str(tmp_path / "edited.json")).nodes == 16


def setting(name, **changes):
    return lambda content: content["parameters"][name].update(changes)


def leaving_out(*names):
    def change(content):
        for name in names:
            del content["parameters"][name]

    return change


NETWORK = [name for name in PARAMETERS if name.startswith("net_")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(nodes=0), "nodes: expected a whole number of at least 1, found 0"),
        (lambda c: c.update(nodes=True), "nodes: expected a whole number"),
        (lambda c: c.update(processor=""), 'processor: expected a text, found ""'),
        (lambda c: c.update(title=3), "title: expected a text, found 3"),
        (lambda c: c.pop("topology"), "topology: expected a text, found nothing"),
        (lambda c: c.update(xml="x.xml"), "expected either xml or topology"),
        (lambda c: c.pop("parameters"), "parameters: expected an object, found nothing"),
        (lambda c: c["parameters"].update(speed={}), 'expected one of read_hit.*found "speed"'),
        (leaving_out("read_l2"), "parameters: expected read_l2, found nothing"),
        (setting("read_l2", value="fast"), 'read_l2: value: expected a number, found "fast"'),
        (setting("read_l2", value=-1), "read_l2: value: expected a number above 0, found -1"),
        (setting("read_l2", value=0), "read_l2: value: expected a number above 0, found 0"),
        (setting("noise_rate", value=-1), "noise_rate: value: expected a number of at least 0"),
        (setting("read_l2", value=float("nan")), "read_l2: value: expected a number"),
        (setting("read_l2", value=10**400), "read_l2: value: expected a number above 0"),
        (setting("read_l2", unit="us"), 'read_l2: unit: expected "ns", found "us"'),
        (setting("read_l2", source=""), 'read_l2: source: expected a text, found ""'),
        (setting("read_l2", assumed=1), "read_l2: assumed: expected true or false, found 1"),
        (setting("read_machine", value=1), r"read_machine: value: expected at least read_package"),
        (setting("net_switch", value="bus"), "net_switch: value: expected star or crossbar"),
        (leaving_out("net_byte"), "expected net_byte, as there are several nodes"),
        (leaving_out(*NETWORK), "expected net_latency, .*as there are several nodes"),
    ],
)
def test_faults_are_named(edited, change, words):
    with pytest.raises(SoborError, match=words):
        edited(change)


def test_no_json(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"name": }')
    with pytest.raises(SoborError, match=r"broken\.json: line 1: expected JSON"):
        read_machine(path)
    with pytest.raises(SoborError, match=r"absent\.json: No such file"):
        find_machine(str(tmp_path / "absent.json"))


def test_xml_beside_the_file(edited, tmp_path):
    (tmp_path / "lab.xml").write_text("<topology/>")

    def change(content):
        del content["topology"]
        content["xml"] = "lab.xml"

    assert edited(change).topology == str(tmp_path / "lab.xml")


def test_info_knows_machines(command, fake_native):
    out = command("info", "--machine", "kunpeng920-2s", "--json").json
    assert out["topology"]["machine"] == topology_of("kunpeng920-2s")


def test_groups_of_the_specification(command, real_native):
    answer = command(
        "info", "--groups", "--ranks", "14", "--map", "numa", "--machine", "kunpeng920-2s", "--json"
    ).json
    groups = [level["groups"] for level in answer["groups"]["levels"]]
    assert groups == [
        [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10], [3, 7, 11]],
        [[0, 1], [2, 3]],
        [[0, 2]],
    ]
