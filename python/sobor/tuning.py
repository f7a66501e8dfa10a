# SPDX-License-Identifier: BSD-3-Clause
"""The tuning file that SOBOR_TUNING names: looked at before a job is started, and described."""

import os
from collections.abc import Mapping
from typing import Any

from sobor.errors import SoborError
from sobor.native import Native
from sobor.sizes import counted, short_size

VARIABLE = "SOBOR_TUNING"
# As many as the library takes (SB_RULES_MOST).
RULES_MOST = 64


def find(chosen: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variable with its file by a path that holds wherever ranks are started; or nothing."""
    path = chosen.get(VARIABLE, environ.get(VARIABLE, ""))
    return {VARIABLE: os.path.abspath(path)} if path else {}


def ask(native: Native, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The file, its rules and what is wrong with it; None where there is no file."""
    return native.query("tuning", environ=environ) if environ.get(VARIABLE) else None


def check(native: Native, environ: Mapping[str, str]) -> None:
    """Refuses a file that the library would not take."""
    answer = ask(native, environ)
    if answer is not None and answer["error"]:
        raise SoborError(
            f"{VARIABLE}: {answer['error']}", f"mend the file, or leave {VARIABLE} unset"
        )


def conditions(rule: Mapping[str, Any]) -> str:
    """When the rule holds: "bcast up to 64K bytes, 2 to 8 ranks"."""
    words = [rule["collective"]]
    for name, show in (("bytes", short_size), ("ranks", str)):
        words.append(_range(rule[name], name, show))
    if rule["oversubscribed"] is not None:
        words.append("ranks share cores" if rule["oversubscribed"] else "a core for each rank")
    if rule["measured"]:
        words.append("measured")
    return ", ".join(filter(None, words))


def _range(limits: Mapping[str, int | None], name: str, show) -> str:
    low, high = limits["from"], limits["to"]
    if high is None:
        return f"{show(low)} {name} and more" if low else ""
    if low == high:
        return f"{show(low)} {name}"
    return f"{show(low)} to {show(high)} {name}" if low else f"up to {show(high)} {name}"


def settings(rule: Mapping[str, Any]) -> str:
    """What the rule sets: "algorithm ring, fragment 4096"; what variables overrule is marked."""
    words = []
    for name, value in rule["sets"].items():
        variable = rule["overruled"].get(name)
        words.append(f"{name} {value}" + (f" (overruled by {variable})" if variable else ""))
    return ", ".join(words)


def measured_rule(rule: Mapping[str, Any]) -> str:
    """A rule of the file of what was measured: "Open MPI 4.1.4: bcast, 1K to 4K bytes, ..."."""
    sizes = _range({"from": rule["from"], "to": rule["to"]}, "bytes", short_size)
    cores = "ranks share cores" if rule["oversubscribed"] else "a core for each rank"
    words = [rule["collective"], sizes, counted(rule["ranks"], "rank"), cores]
    return f"{rule['mpi']}: {', '.join(filter(None, words))}: {rule['algorithm']}"
