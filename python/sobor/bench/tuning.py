# SPDX-License-Identifier: BSD-3-Clause
"""Makes rules of a tuning file out of what was measured.

For each collective, number of ranks and size the fastest of what was measured wins, the host MPI
included: everything is compared by the host's time in the same job divided by its own. What is
within the noise of the automatic choice gets no rule.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from sobor.bench.job import Row
from sobor.bench.request import PASSTHROUGH

AUTO = "auto"
HOST = "host"
# A ratio this near to another is noise.
_NOISE = 0.05
# A barrier has no bytes; of the others the ranks do not know each other's.
_WITHOUT_BYTES = frozenset(
    {"barrier", "scatterv", "gatherv", "allgatherv", "alltoallv", "alltoallw"}
)

Rule = dict[str, Any]
Ratios = dict[str, list[float]]


@dataclass(frozen=True)
class Span:
    """Neighbouring sizes with one winner, and the ratios that were measured there."""

    winner: str
    low: int
    high: int
    ratios: Ratios


def nodes_of(rows: Iterable[Row]) -> int:
    """The most nodes that ranks of a row were on."""
    return max((row["nodes"] for row in rows), default=1)


def rules_of(rows: Iterable[Row]) -> list[Rule]:
    """The rules for the first launcher of the rows.

    Whether its ranks share processors is what Sobor found there: it goes by that when it looks
    whether a rule holds. Rules are of the ranks of one node: what several did together gives none.
    """
    points: dict[tuple[str, int, bool], dict[int, Ratios]] = {}
    launcher = None
    for row in rows:
        launcher = launcher or row["launcher"]
        name = _name(row)
        if row["launcher"] != launcher or name is None or row["nodes"] > 1:
            continue
        size = 0 if row["collective"] in _WITHOUT_BYTES else row["bytes"]
        key = (row["collective"], row["ranks"], row["oversubscribed"])
        sizes = points.setdefault(key, {})
        sizes.setdefault(size, defaultdict(list))[name].append(row["ratio"])
    return [
        _rule(*key, span)
        for key, sizes in points.items()
        for span in _spans(sizes)
        if span.winner != AUTO
    ]


def _name(row: Row) -> str | None:
    """What the row measured, or None where it says nothing: refused, wrong or host alone."""
    wrong = row.get("checked") is False or not row["ratio"] or row["algorithm"] == HOST
    if wrong or row["collective"] == PASSTHROUGH:
        return None
    forced = row.get("forced") or AUTO
    return forced if forced in (AUTO, row["algorithm"]) else None


def _winner(ratios: Ratios) -> str:
    scores = {name: geometric_mean(values) for name, values in ratios.items()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] <= scores.get(AUTO, 0) * (1 + _NOISE):
        best = AUTO
    return HOST if scores[best] * (1 + _NOISE) < 1 else best


def _spans(sizes: dict[int, Ratios]) -> list[Span]:
    """Ends midway, by ratio, between the sizes that were measured; nothing lies beyond those."""
    spans: list[Span] = []
    for size in sorted(sizes):
        winner = _winner(sizes[size])
        last = spans[-1] if spans else None
        if last is not None and last.winner == winner:
            joined = {
                name: last.ratios.get(name, []) + sizes[size].get(name, [])
                for name in {**last.ratios, **sizes[size]}
            }
            spans[-1] = Span(winner, last.low, size, joined)
            continue
        low = size
        if last is not None:
            middle = math.isqrt(last.high * size)
            spans[-1] = Span(last.winner, last.low, middle, last.ratios)
            low = middle + 1
        spans.append(Span(winner, low, size, dict(sizes[size])))
    return spans


def _rule(collective: str, ranks: int, oversubscribed: bool, span: Span) -> Rule:
    rule: Rule = {"collective": collective}
    if span.high:
        rule["bytes"] = {"from": span.low, "to": span.high}
    rule |= {"ranks": ranks, "oversubscribed": oversubscribed, "algorithm": span.winner}
    rule |= {"measured": True}
    means = {name: geometric_mean(values) for name, values in span.ratios.items()}
    ordered = sorted(means, key=lambda name: -means[name])
    return {**rule, "note": ", ".join(f"{name} {means[name]:.2f}" for name in ordered)}


def line_of(rule: Rule) -> str:
    """The rule as the file of what was measured on this machine has it (src/select/cache.h)."""
    sizes = rule.get("bytes", {"from": 0, "to": "-"})
    words = (rule["collective"], sizes["from"], sizes["to"], rule["ranks"])
    return " ".join(map(str, (*words, int(rule["oversubscribed"]), rule["algorithm"])))


def write(path: str, rules: list[Rule], launcher: str) -> None:
    """Writes the file: a rule is a line."""
    note = f"by sobor bench under {launcher}; in notes: host time divided by that of the algorithm"
    lines = ",\n".join(f"    {json.dumps(rule)}" for rule in rules)
    body = f"[\n{lines}\n  ]" if rules else "[]"
    text = f'{{\n  "note": {json.dumps(note)},\n  "rules": {body}\n}}\n'
    Path(path).write_text(text, encoding="utf-8")
