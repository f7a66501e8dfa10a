# SPDX-License-Identifier: BSD-3-Clause
"""Where prices and rules that were measured are found: in which places, and which comes first.

The system's place is a folder of /etc. So what is asked runs in mounts of its own, whose /etc is
the test's, and from an installation of its own.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

#: What a file says that a line takes, by its place; best first.
NANOSECONDS = {"user": 80, "system": 90, "installed": 100}


def ways_in() -> list[list[str]]:
    """How a process gets mounts of its own: as root, or as root of a namespace of users."""
    return [["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]]


class Machine:
    """This machine with an /etc and an installation of the test's; and no cache of anybody's."""

    def __init__(self, folder: Path, native):
        self.etc, self.prefix = folder / "etc", folder / "opt"
        self.environ = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(folder / "cache")}
        self.files = {
            "user": folder / "cache" / "sobor" / "prices",
            "system": Path("/etc/sobor/prices"),
            "installed": self.prefix / "share" / "sobor" / "prices",
        }
        tools = self.prefix / "libexec" / "sobor"
        tools.mkdir(parents=True)
        for tool in ("sobor-query", "sobor-tune"):
            shutil.copy(native.query_tool.with_name(tool), tools)
        self.etc.mkdir()
        if os.path.exists("/etc/ld.so.cache"):
            shutil.copy("/etc/ld.so.cache", self.etc)
        self.way = next(filter(self._works, ways_in()), None)

    @staticmethod
    def _works(way: list[str]) -> bool:
        words = [*way, "mount", "--bind", "/etc", "/etc"]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def run(self, tool: str, *words: str, **environ: str | None) -> dict:
        """What a tool answers; a variable that is None is not set."""
        script = 'mount --bind "$0" /etc && exec "$@"'
        command = ["sh", "-c", script, self.etc, self.prefix / "libexec" / "sobor" / tool, *words]
        variables = {k: v for k, v in {**self.environ, **environ}.items() if v is not None}
        answer = subprocess.run(
            [*self.way, *command], env=variables, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def found(self, **environ: str | None) -> tuple[str | None, float]:
        """In which file prices are found, and what a line takes by them."""
        measured = self.run("sobor-query", "measured", "--ranks", "2", **environ)
        prices = self.run("sobor-query", "prices", "--ranks", "2", **environ)
        (line,) = [price for price in prices if price["name"] == "line"]
        assert (line["source"] == "measured") == (measured["file"] is not None)
        return measured["file"], line["value"]

    def path(self, place: str) -> Path:
        """The file of a place as it is outside of the mounts."""
        return self.etc / "sobor" / "prices" if place == "system" else self.files[place]

    def write(self, path: Path, text: str) -> None:
        """A file that is believed."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"sobor-prices 1\n{text}")
        path.chmod(0o600)


@pytest.fixture
def machine(real_native, tmp_path):
    """This machine, with a file in each place."""
    machine = Machine(tmp_path, real_native)
    if machine.way is None:
        pytest.skip("no mounts of its own can be made for a process")
    return machine


@pytest.fixture
def entry(machine):
    """The first lines of an entry for this machine, as it writes them itself."""
    machine.run("sobor-tune", "--rules", "an MPI", "2", "bcast 0 - 2 0 host")
    lines = machine.path("user").read_text().splitlines()
    machine.path("user").unlink()
    return "".join(f"{line}\n" for line in lines if line.startswith(("machine", "processors")))


@pytest.fixture
def everywhere(machine, entry):
    """The machine with another price in each place."""
    for place, price in NANOSECONDS.items():
        text = f"{entry}ranks 2\nprice line {price * 1000}\nend\n"
        machine.write(machine.path(place), text)
    return machine


def test_the_users_file_comes_before_the_systems_and_that_before_the_installations(everywhere):
    for place, price in NANOSECONDS.items():
        assert everywhere.found() == (str(everywhere.files[place]), price)
        everywhere.path(place).unlink()
    assert everywhere.found()[0] is None


def test_a_file_that_does_not_help_hides_no_other(everywhere):
    """One of another machine, one that is broken, and one that others may write."""
    user = everywhere.path("user")
    other = "machine another\nprocessors 9\nranks 2\nprice line 80000\nend\n"
    everywhere.write(user, other)
    assert everywhere.found()[1] == NANOSECONDS["system"]
    everywhere.write(user, "machine\n")
    assert everywhere.found()[1] == NANOSECONDS["system"]
    everywhere.path("system").chmod(0o666)
    assert everywhere.found()[1] == NANOSECONDS["installed"]


def test_the_users_place_follows_the_environment(everywhere, tmp_path):
    home = tmp_path / "home"
    file = home / ".cache" / "sobor" / "prices"
    everywhere.write(file, everywhere.path("user").read_text().partition("\n")[2])
    assert everywhere.found(XDG_CACHE_HOME=None, HOME=str(home)) == (str(file), 80)
    assert everywhere.found(XDG_CACHE_HOME="cache", HOME=str(home)) == (str(file), 80)
    assert everywhere.found(XDG_CACHE_HOME=None) == ("/etc/sobor/prices", 90)
    told = everywhere.run("sobor-query", "measured", XDG_CACHE_HOME=None)
    assert told["place"] is None


def test_a_cache_that_is_off_is_read_nowhere(everywhere):
    file, price = everywhere.found(SOBOR_CACHE="off")
    assert file is None
    assert price not in NANOSECONDS.values()


def test_rules_are_taken_from_all_places(everywhere, entry):
    """In the order in which files are looked for: of two for the same calls the first decides."""
    for place, collective in (("user", "bcast"), ("system", "gather"), ("installed", "scatter")):
        rules = f"rule {collective} 0 - 2 0 host\nrule alltoall 0 - 2 0 host\n"
        everywhere.write(everywhere.path(place), f"{entry}ranks 2\n{rules}end\n")
    told = everywhere.run("sobor-query", "measured", "--ranks", "2")["rules"]
    assert [(rule["collective"], rule["file"]) for rule in told] == [
        (collective, str(everywhere.files[place]))
        for place, own in (("user", "bcast"), ("system", "gather"), ("installed", "scatter"))
        for collective in (own, "alltoall")
    ]


@pytest.mark.parametrize("folder", ["/proc", "/dev/null/x", None])
def test_what_cannot_be_kept_leaves_no_file(everywhere, folder):
    """A folder that nothing can be made in, even by root; or none."""
    everywhere.path("user").unlink()
    rule = ("--rules", "an MPI", "2", "bcast 0 - 2 0 host")
    (entry,) = everywhere.run("sobor-tune", *rule, XDG_CACHE_HOME=folder)["entries"]
    assert (folder or "neither XDG_CACHE_HOME nor HOME is set") in entry["error"]
    (entry,) = everywhere.run("sobor-tune", *rule, SOBOR_CACHE="off")["entries"]
    assert entry["error"] == "SOBOR_CACHE is off"
    assert not everywhere.path("user").exists()
    assert everywhere.path("system").read_text().count("rule") == 0
