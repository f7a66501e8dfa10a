# SPDX-License-Identifier: BSD-3-Clause
"""Communicators over several nodes: whether they are served, and by which prices."""

from collections.abc import Iterator

from sobor import network
from sobor.doctor.finding import Finding, Patient, Status

SECTION = "Several nodes"

_SERVED = {
    "auto": "served where the launcher tells that all ranks run with Sobor",
    "on": "served, by the word of SOBOR_CLUSTER: every rank must run with Sobor",
    "off": "left to the host MPI: SOBOR_CLUSTER is off",
}


def check(patient: Patient) -> Iterator[Finding]:
    """Says what SOBOR_CLUSTER and SOBOR_NETWORK come to."""
    values = {v["name"]: v["value"] for v in patient.ask("variables") or []}
    if "SOBOR_CLUSTER" in values:
        wish = values["SOBOR_CLUSTER"]
        status = Status.NOTE if wish == "off" else Status.OK
        yield Finding(SECTION, "communicators", status, _SERVED[wish], data={"cluster": wish})
    answer = patient.ask(*network.QUESTION)
    if answer is None:
        return
    found = answer["network"]
    value = f"{found['latency_ns']:g} ns a message, {found['byte_ns']:.3g} ns a byte"
    if found["error"]:
        remedy = "set SOBOR_NETWORK to a machine file with a network, or unset it"
        yield Finding(SECTION, "network", Status.WARN, found["error"], remedy, found)
    elif found["file"]:
        yield Finding(SECTION, "network", Status.OK, f"{value}, by {found['file']}", data=found)
    else:
        value += ", as is common today; SOBOR_NETWORK names a file of this network's"
        if values.get("SOBOR_NETWORK_PINGS") == "on":
            value += "; broadcasts go by what a job's first messages take"
        yield Finding(SECTION, "network", Status.NOTE, value, data=found)
