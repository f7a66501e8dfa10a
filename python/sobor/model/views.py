# SPDX-License-Identifier: BSD-3-Clause
"""Writes the answers of the cost model for people."""

from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from sobor import console
from sobor.sizes import human_size, short_size

_line = partial(console.line, width=24)
_REGIMES = {
    "one-fragment": "the message fits one buffer: nothing overlaps (m <= f)",
    "one-ring": "the message fits the ring: no buffer is used twice (f < m <= b)",
    "many-rings": "the ring is filled several times (m > b)",
}


def write(answers: dict[str, Any], wanted: Any, out: Console) -> None:
    """Writes every part of the answers."""
    if "measured" in answers:
        _measured(answers["measured"], out)
    if "bytes" in answers:
        _times(answers, wanted, out)
    if "table" in answers:
        _table(answers["table"], out)


def _prices(prices: dict[str, float], out: Console) -> None:
    for key, symbol, meaning in (
        ("t_ns", "t", "one byte"),
        ("tw_ns", "t_W", "notification"),
        ("two_ns", "t_WO", "opening of a set"),
        ("ta_ns", "t_A", "atomic subtraction"),
    ):
        _line(out, f"{symbol}  {meaning}", f"{prices[key]:.6g} ns")


def _measured(measured: dict[str, Any], out: Console) -> None:
    console.heading(out, f"Prices measured here, {measured['ranks']} processes")
    _prices(measured["prices"], out)
    for row in measured["trees"]:
        waits = f"t_W {row['tw_ns']:.6g} ns, t_WO {row['two_ns']:.6g} ns"
        _line(out, f"{row['tree']}, {row['steps']} steps", waits)
    if measured["shared_processors"]:
        out.print("  The processes shared processors: the waits hold the system's switches.")


def _times(answers: dict[str, Any], wanted: Any, out: Console) -> None:
    console.heading(out, f"Broadcast of {short_size(answers['bytes'])} bytes")
    if answers.get("choice"):
        _line(out, "chosen by", str(wanted.choose))
    _line(out, "f  one buffer", f"{answers['fragment_bytes']} bytes")
    _line(out, "s  buffers", str(answers["slots"]))
    _line(out, "b  ring", f"{answers['ring_bytes']} bytes ({human_size(answers['ring_bytes'])})")
    _line(out, "q  sets", str(answers["sets"]))
    if answers["tree"]:
        tree = answers["tree"]
        steps = f"{tree['name']}, {tree['steps']} steps to the last of {answers['ranks']} ranks"
        _line(out, "notifications", steps)
    if "measured" not in answers or answers["tree"]:
        _prices(answers["prices"], out)
    out.print()
    _line(out, "T  one buffer", f"{answers['t_one_buffer_us']:.3f} us")
    _line(out, "T  s buffers", f"{answers['t_s_buffers_us']:.3f} us")
    _line(out, "T  s buffers, q sets", f"{answers['t_sets_us']:.3f} us")
    _line(out, "regime", _REGIMES[answers["regime"]])
    _line(out, "f* best buffer", f"{answers['f_opt_bytes']} bytes")
    _line(out, "s* buffers then", str(answers["s_opt"]))
    size = answers["segment_bytes"]
    _line(out, f"segment of {answers['ranks']} ranks", f"{size} bytes ({human_size(size)})")


def _table(rows: list[dict[str, Any]], out: Console) -> None:
    divisors = [ring["divisor"] for ring in rows[0]["rings"]]
    console.heading(out, "Ring of s buffers of f bytes")
    names = [f"s = f/{divisor}" for divisor in divisors]
    grid = console.table(out, "f", *names, right=("f", *names))
    for row in rows:
        sizes = (
            Text(human_size(ring["ring_bytes"]), style=ring_colour(ring["ring_bytes"]))
            for ring in row["rings"]
        )
        grid.add_row(str(row["fragment_bytes"]), *sizes)
    out.print(console.indented(grid))
    out.print("  green: to 10 MB; yellow: to 100 MB; red: more")


def ring_colour(size: float) -> str:
    """The published table's colours: up to 10 MB, up to 100 MB, more."""
    return "green" if size <= 10e6 else "yellow" if size <= 100e6 else "red"
