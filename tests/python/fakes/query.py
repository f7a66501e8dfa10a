# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for sobor-query: few answers, of the same form."""

import json
import os
import sys

VARIABLES = {
    "SOBOR": ("switch", "on", "Kill switch."),
    "SOBOR_VERBOSE": ("count", "0", "What is reported."),
    "SOBOR_RING": ("bytes", "512KiB", "Size of a ring."),
    "SOBOR_TUNING": ("text", "", "A tuning file."),
    "SOBOR_CLUSTER": ("choice", "auto", "Whether communicators on several nodes are served."),
    "SOBOR_NETWORK": ("text", "", "A machine file."),
    "SOBOR_NETWORK_PINGS": ("switch", "on", "Whether messages are tried."),
    "SOBOR_TRACE": ("text", "", "A folder for traces."),
    "SOBOR_PROFILE": ("text", "", "A folder for sums."),
    "SOBOR_HEAP": ("switch", "off", "A shared heap."),
    "SOBOR_COLLECTIVES": ("text", "all", "What is served."),
    "SOBOR_WAIT": ("choice", "auto", "How a rank waits."),
}
ALGORITHMS = [
    *(("barrier", "flat"), ("barrier", "tree"), ("bcast", "slots"), ("bcast", "ring")),
    *((name, kind) for name in ("scatterv", "gatherv") for kind in ("direct", "queued", "p2p")),
    *(
        (name, kind)
        for name in ("allreduce", "reduce")
        for kind in ("slots", "reduce-scatter-allgather")
    ),
]


def variable(name):
    kind, default, doc = VARIABLES[name]
    found = os.environ.get(name)
    wrong = kind == "bytes" and found is not None and not found[0].isdigit()
    return {
        "name": name,
        "type": kind,
        "default": default,
        "value": default if found is None or wrong else found,
        "source": "default" if found is None else "environment",
        "doc": doc,
        "error": f'expected a size such as 512KiB, found "{found}"' if wrong else None,
    }


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def choice():
    if option("--collective") not in ("barrier", "bcast"):
        sys.exit("sobor: --collective: expected barrier or bcast")
    return {
        "algorithm": "slots",
        "reason": "small message",
        "candidates": [
            {"name": "slots", "eligible": True, "reason": "small message"},
            {"name": "ring", "eligible": False, "reason": "message too small"},
        ],
    }


def tuning():
    """Every file is wrong whose name says so."""
    path = os.environ["SOBOR_TUNING"]
    if "wrong" in path:
        return {"file": path, "error": f"{path}: rule 1: expected x, found y", "rules": []}
    rule = {
        "number": 1,
        "collective": "bcast",
        "bytes": {"from": 1024, "to": 65536},
        "ranks": {"from": 0, "to": 8},
        "oversubscribed": False,
        "measured": True,
        "sets": {"algorithm": "ring", "fragment": 4096},
        "overruled": {"fragment": "SOBOR_FRAGMENT"},
    }
    return {"file": path, "error": None, "rules": [rule]}


ANSWERS = {
    "variables": lambda: [variable(name) for name in VARIABLES],
    "algorithms": lambda: [
        {
            "collective": c,
            "name": n,
            "doc": f"The {n} {c}.",
            "source": f"src/coll/{c}/{n}.c",
            "former": ["loop"] if (c, n) == ("bcast", "ring") else [],
            "baseline": n == "p2p",
        }
        for c, n in ALGORITHMS
    ],
    "measured": lambda: {
        "wanted": True,
        "cache": True,
        "place": "/home/me/.cache/sobor/prices",
        "file": "/etc/sobor/prices",
        "by": "tune",
        "error": None,
        "processor": "Some Processor",
        "rules": [
            {
                **{"mpi": "Open MPI 4.1.4", "collective": "bcast", "from": 0, "to": 4096},
                **{"ranks": 8, "oversubscribed": False, "algorithm": "host"},
                "file": "/etc/sobor/prices",
            }
        ],
    },
    "prices": lambda: [
        {
            "name": "line",
            "value": 70.0,
            "unit": "ns",
            "doc": "A line from another core.",
            "source": "measured",
        },
        {
            "name": "byte",
            "value": 0.06,
            "unit": "ns",
            "doc": "One more byte copied.",
            "source": "built in",
        },
    ],
    "topology": lambda: {
        "machine": option("--machine") or "this machine",
        "processor": {"name": "zen4", "doc": "AMD EPYC 9004"},
        "levels": [{"name": "package", "count": 1, "cores_per_unit": 2}],
        "cores": 2,
        "pus": 4,
        "numa_nodes": 1,
        "allowed_pus": 4,
        "binding": "0-3",
        "quota_cpus": None,
    },
    "groups": lambda: {
        "levels": [{"level": "numa", "groups": [list(range(int(option("--ranks"))))]}]
    },
    "choice": choice,
    "spanning": lambda: {
        "collective": option("--collective"),
        "ranks": int(option("--ranks")),
        "nodes": int(option("--nodes")),
        "dealt": option("--map") == "node",
        "network": {
            "latency_ns": 1500,
            "overhead_ns": 400,
            "byte_ns": 0.08 if option("--network") is None else 0.67,
            "eager_bytes": 8192,
            "file": os.environ.get("SOBOR_NETWORK"),
            "error": os.environ.get("FAKE_NETWORK_ERROR"),
        },
        "sizes": [
            {
                "bytes": int(option("--bytes") or size),
                "algorithm": "cluster",
                "reason": "the ranks are on several nodes",
                "trials": False,
                "schedule": "ring",
                "lanes": 8,
                "segment": 32768,
                "expected_us": 12.5,
                "host": "rabenseifner",
                "host_us": 25.0,
            }
            for size in (8, 65536)
        ],
    },
    "placement": lambda: {
        "ranks": [{"rank": 0, "node": 0, "pages": {"0": 8}, "wrong": 0, "huge_bytes": 4 << 20}],
        "huge_pages": os.environ.get("FAKE_HUGE", "advise"),
        "huge_pages_setting": os.environ.get("SOBOR_HUGE_PAGES", "auto"),
    },
    "segment": lambda: (
        json.loads(os.environ.get("FAKE_SEGMENT", "null"))
        or {
            "memfd": {"ok": True, "detail": ""},
            "named": {"ok": True, "detail": ""},
            "cma": {"ok": True, "detail": ""},
            "shm_free_bytes": 1 << 30,
            "memory_limit_bytes": None,
            "memory_limit_left_bytes": None,
            "memory_limit_version": 0,
            "bound_bytes": 64 << 20,
        }
    ),
    "tuning": tuning,
    "version": lambda: {"version": "0.1.0", "backends": ["ompi40", "mpich12"]},
}

try:
    answer = ANSWERS[sys.argv[1]]()
except SystemExit as leaving:
    print(leaving.code, file=sys.stderr)
    sys.exit(2)
print(json.dumps(answer))
