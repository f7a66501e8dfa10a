# SPDX-License-Identifier: BSD-3-Clause
"""Communicators over several nodes: whether they are served, and by which prices."""

from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status

SECTION = "Several nodes"

_SERVED = {
    "auto": "served where the launcher tells that all ranks run with Sobor",
    "on": "served, by the word of SOBOR_CLUSTER: every rank must run with Sobor",
    "off": "left to the host MPI: SOBOR_CLUSTER is off",
}
#: Any question about several nodes tells of the network.
_QUESTION = ("spanning", "--collective", "barrier", "--ranks", "4", "--nodes", "2")


def check(patient: Patient) -> Iterator[Finding]:
    """Says what SOBOR_CLUSTER and SOBOR_NETWORK come to."""
    values = {v["name"]: v["value"] for v in patient.ask("variables") or []}
    if "SOBOR_CLUSTER" in values:
        wish = values["SOBOR_CLUSTER"]
        status = Status.NOTE if wish == "off" else Status.OK
        yield Finding(SECTION, "communicators", status, _SERVED[wish], data={"cluster": wish})
    answer = patient.ask(*_QUESTION)
    if answer is None:
        return
    network = answer["network"]
    value = f"{network['latency_ns']:g} ns a message, {network['byte_ns']:.3g} ns a byte"
    if network["error"]:
        remedy = "set SOBOR_NETWORK to a machine file with a network, or unset it"
        yield Finding(SECTION, "network", Status.WARN, network["error"], remedy, network)
    elif network["file"]:
        yield Finding(SECTION, "network", Status.OK, f"{value}, by {network['file']}", data=network)
    else:
        value += ", as is common today; SOBOR_NETWORK names a file of this network's"
        if values.get("SOBOR_NETWORK_PINGS") == "on":
            value += "; broadcasts go by what a job's first messages take"
        yield Finding(SECTION, "network", Status.NOTE, value, data=network)
