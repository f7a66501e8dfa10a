# SPDX-License-Identifier: BSD-3-Clause
"""The lists in the pages against the code."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer

from conftest import ROOT
from sobor import variables
from sobor.cli import app

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
# Where the algorithms of an operation are described.
PAGE_OF = {
    "barrier": "barrier.md",
    "bcast": "bcast.md",
    **dict.fromkeys(
        ["scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv"], "scatter-gather.md"
    ),
    **dict.fromkeys(["alltoall", "alltoallv", "alltoallw"], "alltoall.md"),
    **dict.fromkeys(
        ["reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"],
        "reductions.md",
    ),
}
# Headers of others.
FOREIGN = {"mpi.h", "hwloc.h", "mpi_abi.h"}
# Read by the build or the tests; neither the library nor the command knows them.
OTHER_NAMES = re.compile(r"SOBOR_(X|BUILD|TEST_\w+|ABIS|SANITIZE|COVERAGE)")


def text_of(name: str) -> str:
    return (DOCS / name).read_text()


def source(pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "src").glob(pattern)))


def test_served_calls():
    """how-it-works.md has a table of them: all that the preload stands in for."""
    table = re.search(r"\| served \|(.*?)\n\n", text_of("how-it-works.md"), re.DOTALL)
    listed = set(re.findall(r"MPI_(\w+)", table[1]))
    collectives = re.findall(r"X\(\w+, \w+, (\w+)\)", (ROOT / "src/base/collectives.h").read_text())
    assert listed == set(collectives)


def test_reasons():
    """troubleshooting.md explains each word of the report, and no other."""
    section = text_of("troubleshooting.md").partition("The word after `reason=`")[2]
    explained = re.findall(r"^\| `([\w-]+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    said = re.findall(r'X\(SB_WHY_\w+, "([\w-]+)"\)', source("mpi/report.h"))
    assert len(said) > 10
    assert sorted(explained) == sorted(word for word in said if word != "-")


def test_algorithms(real_native):
    """Each algorithm has its place in the page of its operation."""
    missing = [
        (algorithm["collective"], algorithm["name"])
        for algorithm in real_native.query("algorithms")
        if not marked(algorithm["name"], text_of(PAGE_OF[algorithm["collective"]]))
    ]
    assert not missing


def marked(name: str, page: str) -> bool:
    """Whether it stands in a heading, in bold, or as code."""
    places = re.findall(r"^#+ .*$|\*\*[^*]+\*\*|`[^`\n]+`", page, re.MULTILINE)
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE)
    return any(word.search(place) for place in places)


def test_variables_exist(real_native):
    """No page speaks of a variable that there is not."""
    known = {variable["name"] for variable in real_native.query("variables")}
    known |= variables.FOREIGN_VARIABLES
    known |= {"SOBOR_"} | {name.rpartition("_")[0] + "_" for name in known}
    for page in PAGES:
        named = set(re.findall(r"\bSOBOR_[A-Z_]*[A-Z]\b", page.read_text()))
        unknown = {name for name in named if name not in known and not OTHER_NAMES.fullmatch(name)}
        assert not unknown, page


def test_the_call_that_is_served_first(real_native):
    """The newcomer's page names the default."""
    rows = {variable["name"]: variable["default"] for variable in real_native.query("variables")}
    usual = rows["SOBOR_SERVE_AFTER"]
    assert f"from its {usual}th\n  (`SOBOR_SERVE_AFTER`)" in PAGES[0].read_text()


def test_names_of_code_exist():
    """Identifiers and files that pages name are there."""
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    if not files:
        pytest.skip("no checkout of git")
    listed = files.split()
    kinds = (".c", ".h", ".def", ".S", ".py", ".cmake")
    code = "\n".join((ROOT / f).read_text() for f in listed if f.endswith(kinds))
    words = set(re.findall(r"\w+", code))
    for page in PAGES:
        for quoted in re.findall(r"`([^`\n]+)`", page.read_text()):
            named = re.findall(r"\b(?:sb|SB)_\w*\w", quoted)
            assert all(w in words or any(x.startswith(w) for x in words) for w in named), (
                f"{page}: {quoted}"
            )
            if re.fullmatch(r"[\w./-]+\.(c|h|def|py|sh|S)", quoted) and quoted not in FOREIGN:
                assert any(f"/{f}".endswith(f"/{quoted}") for f in listed), f"{page}: {quoted}"


def test_commands_that_write_json():
    """The first page says which one does not."""
    known = typer.main.get_command(app).commands
    leaves = {
        name: [command, *getattr(command, "commands", {}).values()]
        for name, command in known.items()
    }
    without = {
        name
        for name, each in leaves.items()
        if not any("--json" in param.opts for command in each for param in command.params)
    }
    said = re.search(r"all but (.*) take `--json`", (ROOT / "README.md").read_text())
    assert without == set(re.findall(r"`sobor (\w+)`", said[1]))


def test_scripts_are_run_by_a_python():
    """They are not executable, and need the packages of the environment."""
    for page in PAGES:
        assert not re.findall(r"`scripts/\w+\.py -.*?`", page.read_text()), page


def test_every_page_is_listed():
    index = text_of("README.md")
    for page in sorted(DOCS.glob("*.md")):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
    decisions = text_of("decisions/README.md")
    for page in sorted((DOCS / "decisions").glob("0*.md")):
        title = page.read_text().splitlines()[0].removeprefix("# ")
        assert f"- [{title}]({page.name})" in decisions, page.name


def slug(heading: str) -> str:
    plain = re.sub(r"[`*]", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


LINKS = [
    pytest.param(page, target, id=f"{page.name}:{target}")
    for page in PAGES
    for target in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]+)?)\)", page.read_text())
    if target and "://" not in target
]


@pytest.mark.parametrize(("page", "target"), LINKS)
def test_links_lead_somewhere(page: Path, target: str):
    path, _, anchor = target.partition("#")
    aim = (page.parent / path).resolve() if path else page
    assert aim.exists()
    if anchor and aim.suffix == ".md":
        headings = re.findall(r"^#+ (.*)$", aim.read_text(), re.MULTILINE)
        assert anchor in [slug(heading) for heading in headings]


def commands_of(page: Path) -> list[str]:
    """What the page has people type; what is said beside it stands behind two spaces or a #."""
    text = page.read_text().replace("\\\n", " ")
    found = re.findall(r"^(?:    )?(?:\./)?sobor +(.+?)(?:  .*| # .*)?$", text, re.MULTILINE)
    return [words for words in found if "[OPTION]" not in words and "COMMAND" not in words]


def parse(words: list[str]) -> None:
    """Has the command line look at the words, and no more."""
    command = typer.main.get_command(app)
    context = command.make_context("sobor", list(words))
    while hasattr(command, "resolve_command"):  # a group's; Typer may have Click's within itself
        name, command, words = command.resolve_command(context, words)
        context = command.make_context(name, words, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_those_of_the_command_line(page: Path):
    for words in commands_of(page):
        for each in words.split("&& sobor "):
            parse(shlex.split(each))


def test_a_command_that_is_wrong_is_found():
    with pytest.raises(Exception, match="--algoritm"):
        parse(["bench", "bcast", "--algoritm", "ring"])
    with pytest.raises(Exception, match="benchmark"):
        parse(["benchmark"])


def test_glossary_is_sorted():
    """Its words are in alphabetical order."""
    words = re.findall(r"^\*\*(.+?)\*\*", text_of("glossary.md"), re.MULTILINE)
    assert len(words) > 20
    assert words == sorted(words, key=str.lower)


def test_targets_of_make_exist():
    """What pages and the public CI tell people to make."""
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    ci = ROOT / ".github/workflows/ci.yml"
    for page in (*PAGES, ci):
        command = r"run: make ([\w-]+)" if page == ci else r"(?:`|^ {4})make ([\w-]+)"
        named = re.findall(command, page.read_text(), re.MULTILINE)
        assert set(named) <= set(known), page
        assert named or page != ci
