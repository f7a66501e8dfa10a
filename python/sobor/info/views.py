# SPDX-License-Identifier: BSD-3-Clause
"""Writes the core's answers for people."""

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, tuning
from sobor.info.picture import ranks_of
from sobor.sizes import counted, human_size, short_size
from sobor.variables import kind_of

_line = partial(console.line, width=12)


def write(answers: dict[str, Any], out: Console) -> None:
    """Writes every part of the answers."""
    if "version" in answers:
        _overview(answers, out)
    for part, view in _VIEWS.items():
        if part in answers:
            view(answers[part], out)


def _overview(answers: dict[str, Any], out: Console) -> None:
    version, paths = answers["version"], answers["paths"]
    console.heading(out, f"Sobor {version['version']}")
    _line(out, "back ends", ", ".join(version["backends"]) or "none")
    _line(out, "preload", paths["preload"])
    _topology(answers["topology"], out)
    if answers.get("tuning"):
        _tuning(answers["tuning"], out)
    console.heading(out, "Variables that are set")
    if answers["changed"]:
        _variables(answers["changed"], out, title=False)
    else:
        out.print("  none; sobor info --variables lists them all")


def _tuning(file: dict[str, Any], out: Console) -> None:
    console.heading(out, f"Tuning file {file['file']}")
    if file["error"]:
        out.print(Text(f"  it counts for nothing: {file['error']}", style="red"))
    for rule in file["rules"]:
        _line(out, f"rule {rule['number']}", f"{tuning.conditions(rule)}: {tuning.settings(rule)}")


def _topology(topology: dict[str, Any], out: Console) -> None:
    console.heading(out, "Machine")
    _line(out, "machine", str(topology["machine"]))
    if known := topology["processor"]:
        _line(out, "known as", f"{known['name']} ({known['doc']}): some prices are its own")
    _line(out, "cores", f"{topology['cores']} ({topology['pus']} hardware threads)")
    _line(out, "NUMA nodes", str(topology["numa_nodes"]))
    _line(out, "may use", f"{topology['allowed_pus']} threads: {topology['binding']}")
    if topology.get("quota_cpus"):
        _line(out, "CPU quota", f"{topology['quota_cpus']:.2f}")
    for level in topology["levels"]:
        _line(out, level["name"], f"{level['count']} × {level['cores_per_unit']} cores")


def _variables(variables: list[dict[str, Any]], out: Console, title: bool = True) -> None:
    if title:
        console.heading(out, "Variables")
    for variable in variables:
        is_set = variable["source"] != "default"
        line = Text.assemble("  ", (variable["name"], "bold cyan"), " = ")
        line.append(_shown(variable["value"]), style="bold green" if is_set else "")
        line.append(f"  ({_origin(variable)})", style="dim")
        out.print(line)
        if variable.get("error"):
            out.print(Text(f"      {variable['error']}", style="red"))
        out.print(console.indented(Text(variable["doc"]), 6))


def _origin(variable: dict[str, Any]) -> str:
    kind = kind_of(variable)
    if variable["source"] == "default":
        return f"default; {kind}"
    return f"from the {variable['source']}, default {_shown(variable['default'])}; {kind}"


def _shown(value: Any) -> str:
    return str(value) or '""'


def _algorithms(algorithms: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, "Algorithms")
    columns = ("collective", "algorithm", "what it does", "source")
    grid = console.table(out, *columns, wrap=("what it does", "source"))
    for algorithm in algorithms:
        remark = " A baseline: taken by name alone." if algorithm["baseline"] else ""
        doc = algorithm["doc"] + remark
        row = (algorithm["collective"], algorithm["name"], doc, algorithm["source"])
        grid.add_row(*(Text(str(cell)) for cell in row))
    out.print(console.indented(grid))


def _prices(prices: list[dict[str, Any]], out: Console) -> None:
    console.heading(out, "Prices")
    grid = console.table(out, "price", "value", "unit", "from", "of what", wrap=("of what",))
    for price in prices:
        row = (price["name"], f"{price['value']:g}", price["unit"], price["source"], price["doc"])
        grid.add_row(*(Text(cell) for cell in row))
    out.print(console.indented(grid))


def _measured(measured: dict[str, Any], out: Console) -> None:
    console.heading(out, "What was measured here")
    _line(out, "file", measured_file(measured))
    if measured["error"]:
        _line(out, "for nothing", measured["error"])
    for rule in measured["rules"]:
        _line(out, "rule", f"{tuning.measured_rule(rule)}  ({rule['file']})")


def measured_file(measured: dict[str, Any]) -> str:
    """Where prices are from: "by tune, in /home/x/.cache/sobor/prices"."""
    if not measured["wanted"]:
        return "built-in prices are wanted"
    if measured["file"]:
        return f"by {measured['by']}, in {measured['file']}"
    if not measured["cache"]:
        return "none: SOBOR_CACHE is off; each job measures for itself"
    if not measured["place"]:
        return "none: XDG_CACHE_HOME and HOME are not set; each job measures for itself"
    return f"none yet; sobor tune or the first job writes {measured['place']}"


def _groups(groups: dict[str, Any], out: Console) -> None:
    console.heading(out, "Groups of ranks")
    if groups.get("refusal"):
        _line(out, "none", groups["refusal"])
    for level in groups["levels"]:
        shown = "  ".join(ranks_of(group) for group in level["groups"])
        _line(out, str(level["level"]), shown)


def _placement(placement: dict[str, Any], out: Console) -> None:
    console.heading(out, "Placement of shared memory")
    grid = console.table(out, "rank", "node", "pages on node", "wrong", right=("rank", "wrong"))
    for rank in placement["ranks"]:
        pages = ", ".join(f"{node}: {count}" for node, count in rank["pages"].items())
        wrong = Text(str(rank["wrong"]), style="red" if rank["wrong"] else "green")
        grid.add_row(str(rank["rank"]), str(rank["node"]), pages, wrong)
    out.print(console.indented(grid))
    if len(placement.get("nodes", [])) > 1:
        _pages_of_nodes(placement["nodes"], out)
    if placement.get("placement") == "off":
        out.print("  SOBOR_PLACEMENT is off: all memory is on the first node on purpose")
    total = sum(rank["wrong"] for rank in placement["ranks"])
    out.print(f"  {total} pages are on a wrong node" if total else "  every page is in its place")
    if "huge_pages" in placement:
        out.print(f"  {_huge_pages(placement)}")


def _huge_pages(placement: dict[str, Any]) -> str:
    system, setting = placement["huge_pages"], placement["huge_pages_setting"]
    least = min((rank["huge_bytes"] for rank in placement["ranks"]), default=0)
    if setting == "off":
        return "no huge pages: SOBOR_HUGE_PAGES is off"
    if system in ("never", "deny", "unknown"):
        return f"no huge pages: the system's shmem_enabled is {system}"
    return f"{human_size(least)} of each rank on huge pages; the system's shmem_enabled is {system}"


def _pages_of_nodes(nodes: list[dict[str, Any]], out: Console) -> None:
    grid = console.table(out, "node", "pages", "wrong", right=("node", "pages", "wrong"))
    for node in nodes:
        wrong = Text(str(node["wrong"]), style="red" if node["wrong"] else "green")
        grid.add_row(str(node["node"]), str(node["pages"]), wrong)
    out.print(console.indented(grid))


def _choice(choice: dict[str, Any], out: Console) -> None:
    console.heading(out, _question(choice))
    out.print(Text.assemble("  ", (choice["algorithm"], "bold green"), f": {choice['reason']}"))
    for rule in choice.get("measured", []):
        words = (f"  under {rule['mpi']} ", (rule["algorithm"], "bold green"))
        reason = f": as measured ({rule['file']}), until trials find otherwise (SOBOR_TRIALS)"
        out.print(Text.assemble(*words, reason))
    grid = console.table(out, "candidate", "eligible", "reason", wrap=("reason",))
    for candidate in choice["candidates"]:
        eligible = bool(candidate["eligible"])
        mark = Text("yes" if eligible else "no", style="green" if eligible else "yellow")
        grid.add_row(candidate["name"], mark, Text(candidate["reason"] or ""))
    out.print(console.indented(grid))


def _question(choice: dict[str, Any]) -> str:
    size = f" of {short_size(choice['bytes'])} bytes" if choice["bytes"] else ""
    return f"{choice['collective']}{size} on {counted(choice['ranks'], 'rank')}"


def _spanning(spanning: dict[str, Any], out: Console) -> None:
    dealt = "dealt round" if spanning["dealt"] else "in blocks on"
    ranks, nodes = spanning["ranks"], spanning["nodes"]
    console.heading(
        out,
        f"{spanning['collective']} of {counted(ranks, 'rank')} {dealt} {counted(nodes, 'node')}",
    )
    network = spanning["network"]
    out.print(
        f"  a message takes {network['latency_ns']:g} ns, {network['overhead_ns']:g} ns at each end"
        f" and {network['byte_ns']:.3g} ns a byte"
    )
    if spanning["collective"] == "bcast" and network["file"] is None:
        out.print("  a job goes by what its first messages take (SOBOR_NETWORK_PINGS)")
    columns = ("bytes", "choice", "schedule", "lanes", "segment", "expected", "host", "expected")
    grid = console.table(out, *columns, right=("bytes", "lanes", "segment"))
    for row in spanning["sizes"]:
        hosted = row["algorithm"] == "host"
        grid.add_row(
            short_size(row["bytes"]),
            Text(row["algorithm"], style="yellow" if hosted else "green"),
            row["schedule"],
            str(row["lanes"]),
            short_size(row["segment"]),
            f"{row['expected_us']:.1f} us",
            row["host"],
            f"{row['host_us']:.1f} us",
        )
    out.print(console.indented(grid))
    for reason in dict.fromkeys(row["reason"] for row in spanning["sizes"]):
        out.print(f"  {reason}")
    if any(row["trials"] for row in spanning["sizes"]):
        out.print("  trials of host and Sobor decide while the program runs (SOBOR_TRIALS)")


_VIEWS: dict[str, Callable[[Any, Console], None]] = {
    "variables": _variables,
    "algorithms": _algorithms,
    "prices": _prices,
    "measured": _measured,
    "groups": _groups,
    "placement": _placement,
    "choice": _choice,
    "spanning": _spanning,
}
