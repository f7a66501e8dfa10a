# SPDX-License-Identifier: BSD-3-Clause
"""Runs the checks, draws the conclusion and writes the report."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console, outputs
from sobor.doctor import (
    heap,
    leftovers,
    machine,
    memory,
    mpis,
    nodes,
    parts,
    prices,
    singlecopy,
    trial,
)
from sobor.doctor.finding import Finding, Patient, Status
from sobor.errors import SoborError
from sobor.native import find_native
from sobor.system.cpus import read_cpus
from sobor.system.files import Files
from sobor.version import __version__

_CHECKS = (
    parts.check,
    mpis.check,
    memory.check,
    singlecopy.check,
    heap.check,
    machine.check,
    prices.check,
    nodes.check,
    leftovers.check,
)
_STYLES = {
    Status.OK: "green",
    Status.NOTE: "cyan",
    Status.WARN: "yellow",
    Status.FAIL: "bold red",
}
_NAME_WIDTH = 22


@dataclass(frozen=True)
class Report:
    """All findings and what follows from them."""

    findings: list[Finding]

    @property
    def served(self) -> list[Finding]:
        """The MPIs that Sobor serves; where they were tried, those that passed."""
        failed = {f.name for f in self.findings if f.section == trial.SECTION and f.remedy}
        return [f for f in self._mpis(served=True) if f.name not in failed]

    @property
    def unserved(self) -> list[Finding]:
        """The MPIs that are here but cannot be served, and those whose trial failed."""
        failed = [f for f in self.findings if f.section == trial.SECTION and f.remedy]
        return [f for f in self._mpis(served=False) if f.remedy] + failed

    def _mpis(self, served: bool) -> list[Finding]:
        return [
            f for f in self.findings if f.section == mpis.SECTION and f.data.get("served") is served
        ]

    @property
    def failures(self) -> list[Finding]:
        """What must be mended before anything works."""
        return [f for f in self.findings if f.status is Status.FAIL]

    @property
    def usable(self) -> bool:
        """Whether Sobor will work for at least one MPI here."""
        return bool(self.served) and not self.failures

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return {
            "version": __version__,
            "usable": self.usable,
            "will_work": [f.name for f in self.served] if self.usable else [],
            "will_not_work": _names(self.unserved if self.usable else self.failures),
            "findings": [finding.as_json() for finding in self.findings],
        }


def doctor(launchers: list[str], attempt: bool, short: bool, json_file: str | None) -> int:
    """Writes the report and returns the exit status: 0 usable, 1 not."""
    outputs.check(json_file)
    report = examine(_patient(launchers), attempt)
    outputs.show(report.as_json(), json_file, lambda: write(report, console.out(), short))
    return 0 if report.usable else 1


def examine(patient: Patient, attempt: bool = False) -> Report:
    """Runs all checks; `attempt` starts a small job under each MPI that is served too."""
    mpis.check_words(patient)
    report = Report([finding for check in _CHECKS for finding in check(patient)])
    if not attempt or not report.usable:
        return report
    return Report([*report.findings, *trial.check(patient, report.served)])


def _patient(launchers: list[str]) -> Patient:
    try:
        return Patient(find_native(), launchers=tuple(launchers))
    except SoborError as error:
        return Patient(None, error, launchers=tuple(launchers))


def write(report: Report, out: Console, short: bool) -> None:
    """Writes the report for people; `short` leaves out what is in order."""
    shown = [f for f in report.findings if not short or f.status in (Status.WARN, Status.FAIL)]
    section = None
    for finding in shown:
        if finding.section != section:
            section = finding.section
            console.heading(out, section)
        _write_finding(finding, out)
    _write_verdict(report, out)


def _write_finding(finding: Finding, out: Console) -> None:
    line = Text.assemble(
        "  ",
        (f"{finding.status.value:<5}", _STYLES[finding.status]),
        f"{finding.name:<{_NAME_WIDTH}} ",
    )
    out.print(_hanging(line, finding.value, out))
    if finding.remedy:
        out.print(_hanging(Text.assemble(" " * 7, ("remedy: ", "bold")), finding.remedy, out))


def _hanging(start: Text, text: str, out: Console) -> Any:
    """A start and a text whose further lines stand below its first word."""
    if not out.is_terminal:
        return start + Text(text)
    grid = console.grid(start.cell_len)
    grid.add_row(start, text)
    return grid


def _write_verdict(report: Report, out: Console) -> None:
    console.heading(out, "Verdict")
    if report.usable:
        for finding in report.served:
            out.print(Text(f"  Sobor will work {_with(finding)}: {_advice(finding)}"))
        for finding in report.unserved:
            out.print(Text(f"  It will not work with {finding.name}: {finding.value}"))
        return
    out.print("  Sobor will not work here:")
    for finding in report.failures:
        out.print(Text(f"  - {finding.name}: {finding.value}"))
        if finding.remedy:
            out.print(Text(f"    remedy: {finding.remedy}"))
    if not report.failures:
        out.print("  - no MPI that is here has a back end; see the remedies under MPI")


def _with(finding: Finding) -> str:
    condition = finding.data.get("condition")
    return f"under {finding.name} {condition}" if condition else f"with {finding.name}"


def _advice(finding: Finding) -> str:
    cores = read_cpus(Files()).usable
    return f"sobor run -- {finding.data['launcher']} -n {cores} ./app"


def _names(findings: Iterable[Finding]) -> list[str]:
    return [finding.name for finding in findings]
