# SPDX-License-Identifier: BSD-3-Clause
"""`sobor simulate --list`: the machines, and where the numbers of one come from."""

from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.bench.figures import plain
from sobor.machines import PARAMETERS, Machine, find_machine, machine_files, read_machine


def list_machines(name: str | None, json_file: str | None) -> None:
    """Writes all machines, or all numbers of one."""
    outputs.check(json_file)
    out = console.out()
    if name is None:
        machines = [read_machine(path) for path in machine_files().values()]
        answers = [_brief(machine) for machine in machines]
        outputs.show(answers, json_file, lambda: _show_all(machines, out))
        return
    machine = find_machine(name, "--list")
    outputs.show(_full(machine), json_file, lambda: _show_one(machine, out))


def _brief(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "title": machine.title,
        "nodes": machine.nodes,
        "topology": machine.topology,
        "file": str(machine.path),
        "parameters": len(machine.parameters),
        "assumed": len(machine.assumed),
    }


def _full(machine: Machine) -> dict[str, Any]:
    parameters = {
        name: {"value": p.value, "unit": p.unit, "source": p.source, "assumed": p.assumed}
        for name, p in machine.parameters.items()
    }
    return {
        **_brief(machine),
        "parameters": parameters,
        "assumed": machine.assumed,
        "references": dict(machine.references),
    }


def _show_all(machines: list[Machine], out: Console) -> None:
    console.heading(out, "Machines that can be simulated")
    grid = console.table(
        out, "name", "what it is", "numbers", "assumed", right=("numbers", "assumed")
    )
    for machine in machines:
        counts = (str(len(machine.parameters)), str(len(machine.assumed)))
        grid.add_row(Text(machine.name, style="bold"), Text(machine.title), *counts)
    out.print(console.indented(grid))
    out.print("  sobor simulate --list NAME shows the numbers and where each comes from")


def _show_one(machine: Machine, out: Console) -> None:
    console.heading(out, machine.title)
    out.print(Text(f"  {machine.path}"))
    out.print(Text(f"  {machine.nodes} × {machine.topology}"))
    for name, parameter in machine.parameters.items():
        value = parameter.value if isinstance(parameter.value, str) else plain(parameter.value)
        line = Text.assemble("  ", (name, "bold cyan"), f" = {value} {parameter.unit}".rstrip())
        line.append(f"  ({PARAMETERS[name].doc})", style="dim")
        out.print(line)
        out.print(console.indented(Text(parameter.source), 6))
    console.heading(out, "References")
    for name, text in machine.references.items():
        out.print(console.indented(Text.assemble((name, "bold"), f": {text}")))
