# SPDX-License-Identifier: BSD-3-Clause
"""A machine file of what was measured: this node's calibration, and the network's part."""

from typing import Any

from sobor.errors import SoborError
from sobor.machines import PARAMETERS, SUFFIX
from sobor.native import Native
from sobor.outputs import check_writable
from sobor.simulate.calibrate import calibrate

_SECONDS = 3.0


def check(file: str) -> None:
    """Refuses a name that is none, before anything is measured."""
    if not file.endswith(SUFFIX):
        raise SoborError(f"--write: expected a file name that ends in {SUFFIX}, found {file}")
    check_writable(file, "--write")


def write(native: Native, file: str, answers: dict[str, Any], seconds: float = _SECONDS) -> None:
    """Calibrates this node, and adds the network of the job."""
    if answers["job"]["nodes"] < 2:
        raise SoborError(
            "--write: expected a job of several nodes, found one",
            "sobor simulate --calibrate writes a machine of one node",
        )

    def complete(content: dict[str, Any]) -> None:
        content["nodes"] = answers["job"]["nodes"]
        content["parameters"] |= network(answers)

    calibrate(native, file, seconds, complete)


def network(answers: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The parameters net_*, as machine files have them."""
    overhead = answers["overhead_us"]["value"]
    # What a message takes is a latency and an overhead at each end.
    latency = max(answers["ts_us"]["value"] - 2 * overhead, 0.1 * answers["ts_us"]["value"])
    switch = answers["switch"]["value"]
    told = switch in ("star", "crossbar")
    narrow = answers["switch"]["blocking"] if switch == "blocking" else 1.0
    rate = answers["injection"]["value"] / narrow
    entries = {
        "net_latency": (latency * 1e3, "measured: least squares, less the overhead of two ends"),
        "net_byte": (1e9 / answers["bandwidth"]["value"], "measured: streams of 4 MiB"),
        "net_switch": (
            switch if told else "crossbar",
            f"measured: {switch}, {answers['switch']['ratio']:.2f} times one pair by all",
        ),
        "net_injection": (rate / 1e9, f"measured: pairs of two nodes; divided by {narrow:.2f}"),
        "net_overhead": (overhead * 1e3, "measured: short messages in a row"),
        # A limit of 0 stands for none, by which all messages would leave.
        "net_eager": (
            max(1, answers["eager_bytes"]["value"]),
            "measured: the longest that leaves without its receiver",
        ),
    }
    return {
        name: {
            "value": value,
            "unit": PARAMETERS[name].unit,
            "source": source,
            "assumed": name == "net_switch" and not told,
        }
        for name, (value, source) in entries.items()
    }
