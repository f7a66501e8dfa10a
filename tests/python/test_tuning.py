# SPDX-License-Identifier: BSD-3-Clause
"""Tuning files: looked at before a run, shown, and written from measurements."""

import json

import pytest

from conftest import write_program
from sobor import tuning
from sobor.bench.tuning import rules_of, write


def row(name, size, ratio, **changes):
    """What one forced algorithm gave; "auto" chose ring."""
    base = {"collective": "bcast", "ranks": 2, "bytes": size, "variant": "hot", "launcher": "a"}
    base |= {"forced": name, "algorithm": "ring" if name == "auto" else name, "ratio": ratio}
    base |= {"nodes": 1, "oversubscribed": False}
    return {**base, "checked": True, **changes}


def shown(rules):
    """The rules in short: low, high and algorithm."""
    return [
        (rule["bytes"]["from"], rule["bytes"]["to"], rule["algorithm"])
        if "bytes" in rule
        else rule["algorithm"]
        for rule in rules
    ]


# --- from measurements to rules ---------------------------------------------------------------


def test_the_fastest_of_each_size_wins():
    rows = [
        *(row("auto", size, 1.5) for size in (8, 1024, 65536, 1 << 20)),
        *(row("tree", size, ratio) for size, ratio in ((8, 2.0), (1024, 1.8), (65536, 1.2))),
        *(row("slots", size, ratio) for size, ratio in ((65536, 1.56), (1 << 20, 3.0))),
    ]
    # 65536: slots is within the noise of auto. Spans end midway by ratio: sqrt(1024 * 65536).
    assert shown(rules_of(rows)) == [
        (8, 8192, "tree"),
        (262145, 1 << 20, "slots"),
    ]


def test_the_host_wins_where_everything_else_is_slower():
    rows = [
        *(row("auto", size, ratio) for size, ratio in ((8, 2.0), (4096, 0.97), (1 << 20, 0.8))),
        *(row("tree", size, ratio) for size, ratio in ((8, 1.0), (4096, 0.9), (1 << 20, 0.9))),
    ]
    # At 4096 the automatic choice is level with the host. 1 MiB: tree beats auto, the host both.
    assert shown(rules_of(rows)) == [(65537, 1 << 20, "host")]


def test_variants_count_together():
    rows = [
        row("tree", 8, 4.0, variant="hot"),
        row("tree", 8, 0.9, variant="cold"),
        row("ring", 8, 1.7, variant="hot"),
        row("ring", 8, 1.7, variant="cold"),
    ]
    (rule,) = rules_of(rows)
    assert rule["algorithm"] == "tree"
    assert rule["note"] == "tree 1.90, ring 1.70"
    assert rule["measured"] is True


def test_rules_hold_for_the_ranks_that_were_measured():
    rows = [
        row("tree", 8, 2.0),
        row("tree", 8, 2.0, ranks=8, oversubscribed=True),
        row("tree", 8, 2.0, ranks=16, nodes=2),
    ]
    assert [(r["ranks"], r["oversubscribed"]) for r in rules_of(rows)] == [
        (2, False),
        (8, True),
    ]


def test_what_says_nothing_is_left_out():
    rows = [
        row("tree", 8, 9.0, checked=False),
        row("tree", 8, 9.0, launcher="b") | {"launcher": "b"},
        row("tree", 8, 9.0, algorithm="ring"),
        row("passthrough", 0, 9.0, collective="passthrough"),
        row(None, 8, None, algorithm=None),
    ]
    assert rules_of([row("auto", 8, 2.0), *rows]) == []
    assert rules_of([]) == []


def test_calls_without_known_bytes_get_one_rule():
    rows = [
        row("tree", 0, 1.5, collective="barrier"),
        *(row("queued", size, 1.2, collective="scatterv") for size in (8, 4096)),
        *(row("direct", size, 1.1, collective="scatterv") for size in (8, 4096)),
    ]
    assert shown(rules_of(rows)) == ["tree", "queued"]


def test_the_core_reads_what_is_written(real_native, tmp_path):
    """One rule for each algorithm there is, of each collective."""
    file = str(tmp_path / "tuning.json")
    names = {
        (a["collective"], a["name"]) for a in real_native.query("algorithms") if not a["baseline"]
    }
    for part in range(0, len(names), tuning.RULES_MOST):
        chosen = sorted(names)[part : part + tuning.RULES_MOST]
        rows = [row(name, 8, 2.0, collective=collective) for collective, name in chosen]
        firsts = [rules_of([each])[0] for each in rows]
        write(file, firsts, 'mpirun "x"')
        answer = real_native.query("tuning", environ={"SOBOR_TUNING": file})
        assert answer["error"] is None
        read = [(r["collective"], r["sets"]["algorithm"]) for r in answer["rules"]]
        assert read == chosen
    write(file, [], "mpirun")
    assert real_native.query("tuning", environ={"SOBOR_TUNING": file})["rules"] == []


# --- the command line -------------------------------------------------------------------------


def test_bench_writes_a_file(command, fake_native, openmpi, tmp_path):
    """In the fake all algorithms are three times as fast as the host, and so is auto."""
    file = tmp_path / "tuning.json"
    words = ["bench", "bcast", "--ranks", "2", "--sizes", "8,1K", "--write-tuning", str(file)]
    result = command(*words, "--algorithms", "bcast:ring")
    assert result.status == 0
    assert f"1 rule written to {file}; use it by --set TUNING={file}" in result.err
    assert shown(json.loads(file.read_text())["rules"]) == [(8, 1024, "ring")]
    result = command(*words, "--algorithms", "bcast:ring,bcast:auto")
    assert "0 rules written" in result.err
    assert json.loads(file.read_text())["rules"] == []


def test_bench_keeps_the_file_where_nothing_was_measured(
    command, fake_native, openmpi, launcher_folder, tmp_path
):
    """A job that fails says nothing of what is best."""
    text = '#!/bin/sh\n[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }\nexit 3\n'
    write_program(launcher_folder / "mpirun", text)
    file = tmp_path / "tuning.json"
    file.write_text("mine")
    result = command("bench", "bcast", "--ranks", "2", "--write-tuning", str(file))
    assert result.status == 1 and "exit status 3" in result.err
    assert "nothing was measured" in result.err and "best" not in result.err
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "environ", "words"),
    [
        (["--host-only"], {}, "leave out --host-only"),
        ([], {"SOBOR_TUNING": "x"}, "SOBOR_TUNING is set, so its rules would be measured"),
        (["--study", "slots"], {}, "--write-tuning does not go with --study"),
    ],
)
def test_bench_refuses(command, fake_native, openmpi, monkeypatch, arguments, environ, words):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    result = command("bench", "bcast", "--write-tuning", "/tmp/x.json", *arguments)
    assert result.status == 2
    assert words in result.err


def test_bench_needs_a_file_that_can_be_written(command, fake_native, openmpi):
    result = command("bench", "bcast", "--write-tuning", "/nowhere/x.json")
    assert result.status == 2
    assert "--write-tuning: /nowhere/x.json: expected a file that can be written" in result.err


def test_run_gives_ranks_an_absolute_path(command, fake_native, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = command("run", "--json", "--set", "TUNING=my.json", "--", "sh")
    assert result.json["env"]["SOBOR_TUNING"] == str(tmp_path / "my.json")
    monkeypatch.setenv("SOBOR_TUNING", "other.json")
    result = command("run", "--json", "--", "sh")
    assert result.json["env"]["SOBOR_TUNING"] == str(tmp_path / "other.json")
    result = command("run", "--json", "--set", "TUNING=", "--", "sh")
    assert result.json["env"]["SOBOR_TUNING"] == ""


def test_a_wrong_file_is_refused_before_the_run(command, fake_native, monkeypatch):
    result = command("run", "--set", "TUNING=/wrong", "--", "sh")
    assert result.status == 2
    assert "SOBOR_TUNING: /wrong: rule 1: expected x, found y" in result.err
    monkeypatch.setenv("SOBOR_TUNING", "/wrong")
    assert command("run", "--", "sh").status == 2
    assert command("info", "--collective", "bcast", "--ranks", "2").status == 2


def test_run_finds_the_file_of_a_network(command, fake_native, executed, tmp_path, monkeypatch):
    """By a name too: the library opens what it is told, wherever a rank is started."""
    monkeypatch.chdir(tmp_path)
    installed = fake_native.prefix / "share" / "sobor" / "machines" / "of-test.json"
    installed.parent.mkdir(parents=True)
    for path in (installed, tmp_path / "my.json", tmp_path / "mine"):
        path.write_text("{}")
    wanted = {"of-test": installed, "my.json": tmp_path / "my.json", "mine": tmp_path / "mine"}
    for text, path in wanted.items():
        result = command("run", "--json", "--set", f"NETWORK={text}", "--", "sh")
        assert result.json["env"]["SOBOR_NETWORK"] == str(path)
        monkeypatch.setenv("SOBOR_NETWORK", text)
        result = command("run", "--json", "--", "sh")
        assert result.json["env"]["SOBOR_NETWORK"] == str(path)
        monkeypatch.delenv("SOBOR_NETWORK")
    assert "SOBOR_NETWORK" not in command("run", "--json", "--", "sh").json["env"]
    refused = command("run", "--set", "NETWORK=none", "--", "sh")
    assert refused.status == 2 and "SOBOR_NETWORK: no machine none; known: " in refused.err
    monkeypatch.setenv("FAKE_NETWORK_ERROR", "my.json: no network")
    refused = command("run", "--set", "NETWORK=my.json", "--", "sh")
    assert refused.status == 2 and "SOBOR_NETWORK: my.json: no network" in refused.err
    assert command("run", "--json", "--set", "NETWORK=", "--", "sh").status == 0


def test_the_library_takes_networks_by_name(command, real_native, executed):
    result = command("run", "--json", "--set", "NETWORK=cluster-16x8", "--", "sh")
    assert result.status == 0, result.err
    refused = command("run", "--set", "NETWORK=grace-2s", "--", "sh")
    assert refused.status == 2 and "found no network" in " ".join(refused.err.split())


def test_info_lists_the_rules(command, fake_native, monkeypatch):
    monkeypatch.setenv("SOBOR_TUNING", "/my.json")
    out = command("info").out
    assert "Tuning file /my.json" in out
    assert (
        "bcast, 1K to 64K bytes, up to 8 ranks, a core for each rank, measured: "
        "algorithm ring, fragment 4096 (overruled by SOBOR_FRAGMENT)"
    ) in out
    assert command("info", "--json").json["tuning"]["rules"][0]["number"] == 1
    monkeypatch.setenv("SOBOR_TUNING", "/wrong")
    assert "it counts for nothing: /wrong: rule 1" in command("info").out


# --- the core ---------------------------------------------------------------------------------


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """A file in force."""
    path = tmp_path / "tuning.json"
    rules = [
        {"collective": "bcast", "bytes": {"to": 1000}, "algorithm": "tree"},
        {"collective": "bcast", "bytes": {"from": 5000}, "algorithm": "host"},
        {"collective": "barrier", "algorithm": "hierarchical-numa"},
    ]
    path.write_text(json.dumps({"rules": rules}))
    monkeypatch.setenv("SOBOR_TUNING", str(path))
    return path


def test_info_tells_which_rule_decided(command, real_native, rules):
    def choice(*words):
        return command("info", "--ranks", "4", "--json", *words).json["choice"]

    tree = choice("--collective", "bcast", "--bytes", "1000")
    assert (tree["algorithm"], tree["reason"]) == ("tree", f"rule 1 of {rules}")
    free = choice("--collective", "bcast", "--bytes", "1001")
    assert free["reason"] == "least expected time"
    host = choice("--collective", "bcast", "--bytes", "5000")
    assert (host["algorithm"], host["reason"]) == ("host", f"rule 2 of {rules}")
    refused = choice("--collective", "barrier", "--map", "none")
    assert refused["reason"].startswith(f"rule 3 of {rules} asks for hierarchical-numa, but: ")


def test_info_tells_whether_calls_are_tried(command, real_native, rules, monkeypatch):
    def host(*words):
        words = ("info", "--ranks", "4", "--json", "--collective", *words)
        choice = command(*words).json["choice"]
        return choice["trials"], choice["candidates"][-1]["reason"]

    never = (False, "when asked for, or when Sobor cannot serve; it is not tried against Sobor")
    faster = (True, "where trials find it faster (SOBOR_TRIALS), or when Sobor cannot serve")
    assert host("bcast", "--bytes", "2000") == host("allreduce") == never
    monkeypatch.setenv("SOBOR_TRIALS", "on")
    assert host("bcast", "--bytes", "2000") == host("scatterv") == faster
    assert host("bcast", "--bytes", "1000") == host("bcast", "--bytes", "5000") == never
    assert host("allreduce") == host("barrier") == never
    monkeypatch.setenv("SOBOR_TRIALS", "rules")
    rules.write_text(rules.read_text().replace('"host"', '"host", "measured": true'))
    ruled = "as the rule says, until trials find Sobor faster (SOBOR_TRIALS)"
    assert host("bcast", "--bytes", "5000") == (True, ruled)
    assert host("bcast", "--bytes", "2000") == never


def test_the_simulator_goes_by_the_rules(command, real_native, rules, monkeypatch):
    monkeypatch.delenv("SOBOR_TUNING")
    words = ["simulate", "bcast", "--machine", "xeon-e5-2620v4-2s", "--calls", "3", "--json", "-"]
    words += ["--ranks", "4", "--bytes", "900,1100", "--set", f"TUNING={rules}"]
    assert [each["algorithm"] for each in command(*words).json] == ["tree", "ring"]
    rules.write_text("{")
    assert "SOBOR_TUNING" in command(*words).err
