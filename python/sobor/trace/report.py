# SPDX-License-Identifier: BSD-3-Clause
"""`sobor report`: reads a trace and writes what it says."""

from dataclasses import dataclass

from sobor import console, outputs
from sobor.native import find_native
from sobor.times import parse_time
from sobor.trace import analysis, exports, page, views
from sobor.trace.files import read
from sobor.trace.otherwise import otherwise


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor report`."""

    trace: str
    collective: str | None = None
    transfer: str | None = None
    html: str | None = None
    json_file: str | None = None
    events: str | None = None
    arrival: str | None = None
    machine: str | None = None


def report(wanted: Wanted) -> None:
    """Writes the report and the files that were asked for."""
    outputs.check(wanted.json_file)
    transfer = None if wanted.transfer is None else parse_time(wanted.transfer, "--transfer")
    trace = read(wanted.trace)
    rows = analysis.chosen(trace, wanted.collective)
    calls = analysis.match(trace, rows)
    result = analysis.analyse(trace, wanted.collective, transfer)
    if wanted.machine is not None:
        result["otherwise"], notes = otherwise(trace, calls, wanted.machine, find_native())
        result["notes"] = [*result["notes"], *notes]
    if wanted.html is not None:
        outputs.write_text("--html", wanted.html, page.page(trace, rows, calls, result))
    if wanted.events is not None:
        exports.write_events(trace, rows, wanted.events)
    if wanted.arrival is not None:
        exports.write_arrival(calls, wanted.arrival)
    # Last: who reads the terminal's output may have seen enough.
    others = (wanted.html, wanted.events, wanted.arrival)
    outputs.show(result, wanted.json_file, lambda: views.write(result, console.out()), *others)
