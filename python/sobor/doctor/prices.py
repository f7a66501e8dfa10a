# SPDX-License-Identifier: BSD-3-Clause
"""Whether what was measured on this machine is in use."""

from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status
from sobor.info.views import measured_file

SECTION = "Prices"


def check(patient: Patient) -> Iterator[Finding]:
    """Says where the prices are from that algorithms are chosen by."""
    measured = patient.ask("measured")
    if measured is None:
        return
    data = {name: measured[name] for name in ("file", "by", "place", "error")}
    value = measured_file(measured)
    if measured["error"]:
        remedy = "remove the file, or ask its owner to"
        # One of the system or of the installation takes nothing from the user's own.
        used = f"; in use: {value}" if measured["file"] else ""
        remedy += "" if used else "; the next job measures anew"
        yield Finding(SECTION, "measured", Status.WARN, measured["error"] + used, remedy, data)
    elif measured["file"] or not measured["wanted"]:
        yield Finding(SECTION, "measured", Status.OK, value, data=data)
    else:
        yield Finding(SECTION, "measured", Status.NOTE, value, data=data)
