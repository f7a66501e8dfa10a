# SPDX-License-Identifier: BSD-3-Clause
"""Single copy between processes (CMA): whether the system allows it, and what forbids it."""

import platform
from collections.abc import Iterator

from sobor.doctor.finding import Finding, Patient, Status

SECTION = "Single copy"
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_CAP_SYS_PTRACE = 1 << 19
_SCOPES = {
    1: "only a parent may read its child",
    2: "only with the capability SYS_PTRACE",
    3: "forbidden for everyone until the next start",
}


def check(patient: Patient) -> Iterator[Finding]:
    """Says whether one rank may read another's memory, and the reason if not."""
    tried = (patient.ask("segment") or {}).get("cma")
    reason = _reason(patient)
    data = {"tried": tried, "reason": reason, "ptrace_scope": patient.files.read_int(_YAMA)}
    if tried["ok"] if tried else not reason:
        yield Finding(SECTION, "CMA", Status.OK, "allowed", data=data)
        return
    detail = (tried or {}).get("detail") or "not allowed"
    value = f"{detail}; {reason}" if reason else detail
    remedy = "sysctl kernel.yama.ptrace_scope=0" if data["ptrace_scope"] in (1, 2) else ""
    yield Finding(
        SECTION, "CMA", Status.NOTE, f"{value}; large messages take two copies", remedy, data
    )


def _reason(patient: Patient) -> str:
    scope = patient.files.read_int(_YAMA) or 0
    if scope in _SCOPES and not (scope == 2 and _has_ptrace(patient)):
        return f"kernel.yama.ptrace_scope={scope}: {_SCOPES[scope]}"
    if platform.system() != "Linux":
        return f"{platform.system()} has no process_vm_readv"
    return ""


def _has_ptrace(patient: Patient) -> bool:
    effective = patient.files.field("/proc/self/status", "CapEff") or "0"
    return bool(int(effective, 16) & _CAP_SYS_PTRACE)
