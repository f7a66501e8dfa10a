# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the groups that ranks form: for Graphviz, and as SVG."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

_CHARACTER = 7.2
_PADDING = 10
_HEIGHT = 30
_GAP = 14
_ROW = 84
_MARGIN = 16
_NAMES = 90
#: Fill and line of the groups, by how far up they are.
_COLOURS = (
    ("#e8f1fa", "#3b6ea5"),
    ("#e9f5e9", "#3f8f4f"),
    ("#fdf1e0", "#c07a1c"),
    ("#f6e8f3", "#96438a"),
    ("#eeeeee", "#555555"),
)


@dataclass
class Group:
    """A group of ranks at one level, with the groups below whose leaders are its members."""

    level: str
    row: int
    members: list[int]
    below: list["Group"] = field(default_factory=list)
    left: float = 0
    width: float = 0

    @property
    def label(self) -> str:
        """Its ranks, short."""
        return ranks_of(self.members)

    @property
    def middle(self) -> float:
        """Where its middle is."""
        return self.left + self.width / 2


def ranks_of(members: list[int]) -> str:
    """Ranks in a set's braces, three or more in a row as a range: {0-31}, {0,4,8,12}."""
    parts: list[str] = []
    for first, last in _runs(members):
        parts += [f"{first}-{last}"] if last - first > 1 else map(str, range(first, last + 1))
    return "{" + ",".join(parts) + "}"


def _runs(members: list[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for member in members:
        if last is not None and member == last + 1:
            last = member
            continue
        if first is not None:
            yield first, last
        first = last = member
    if first is not None:
        yield first, last


def arrange(groups: dict[str, Any]) -> list[list[Group]]:
    """The groups by row, from the lowest level up, joined where a leader goes on."""
    rows: list[list[Group]] = []
    waiting: dict[int, Group] = {}
    for number, level in enumerate(groups["levels"]):
        row = [Group(str(level["level"]), number, members) for members in level["groups"]]
        for group in row:
            group.below = [waiting.pop(m) for m in group.members if m in waiting]
        waiting |= {group.members[0]: group for group in row}
        rows.append(row)
    return rows


def dot(groups: dict[str, Any]) -> str:
    """The groups in Graphviz' language."""
    rows = arrange(groups)
    lines = ["graph groups {", "  rankdir=BT;", '  node [shape=box, style="rounded,filled"];']
    for row in rows:
        fill, line = _colours(row[0])
        lines.append("  {")
        lines.append(f'    rank=same; node [fillcolor="{fill}", color="{line}"];')
        lines += [f'    {_name(g)} [label="{g.level}\\n{g.label}"];' for g in row]
        lines.append("  }")
    for group in (group for row in rows for group in row):
        lines += [f'  {_name(b)} -- {_name(group)} [label="{b.members[0]}"];' for b in group.below]
    if groups.get("refusal"):
        lines.append(f'  none [label="no groups: {groups["refusal"]}"];')
    return "\n".join([*lines, "}", ""])


def _name(group: Group) -> str:
    return f"{group.level}_{group.members[0]}"


def _colours(group: Group) -> tuple[str, str]:
    return _COLOURS[min(group.row, len(_COLOURS) - 1)]


def svg(groups: dict[str, Any], title: str) -> str:
    """The groups as a drawing: the lowest level at the bottom, leaders as lines up."""
    rows = arrange(groups)
    right = _place(rows)
    height = 2 * _MARGIN + 24 + _ROW * max(1, len(rows))
    width = max(right + _MARGIN, _NAMES + _CHARACTER * len(title))
    body = [_text(_MARGIN, _MARGIN + 12, title, "start", bold=True)]
    if groups.get("refusal"):
        body.append(_text(_MARGIN, _MARGIN + 48, f"no groups: {groups['refusal']}", "start"))
    for row in rows:
        top = _top(row[0], len(rows))
        body.append(_text(_MARGIN, top + _HEIGHT / 2 + 4, row[0].level, "start", bold=True))
        for group in row:
            body += [_line(below, group, len(rows)) for below in group.below]
            body.append(_box(group, top))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="white"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _place(rows: list[list[Group]]) -> float:
    """Gives every group its place: those above others over the middle of these."""
    right = float(_NAMES)
    for row in rows:
        edge = float(_NAMES)
        for group in sorted(row, key=_wished):
            group.width = _CHARACTER * len(group.label) + 2 * _PADDING
            group.left = max(edge, _wished(group) - group.width / 2)
            edge = group.left + group.width + _GAP
        right = max(right, edge - _GAP)
    return right


def _wished(group: Group) -> float:
    if not group.below:
        return 0
    return sum(below.middle for below in group.below) / len(group.below)


def _top(group: Group, rows: int) -> float:
    return _MARGIN + 24 + _ROW * (rows - 1 - group.row) + (_ROW - _HEIGHT) / 2


def _box(group: Group, top: float) -> str:
    fill, line = _colours(group)
    middle = _text(group.middle, top + _HEIGHT / 2 + 4, group.label, "middle")
    title = f"<title>{escape(group.level)}, led by {group.members[0]}</title>"
    return (
        f'<g>{title}<rect x="{group.left:.1f}" y="{top:.1f}" width="{group.width:.1f}" '
        f'height="{_HEIGHT}" rx="6" fill="{fill}" stroke="{line}"/>{middle}</g>'
    )


def _line(below: Group, above: Group, rows: int) -> str:
    start, end = _top(below, rows), _top(above, rows) + _HEIGHT
    label = _text((below.middle + above.middle) / 2 + 4, (start + end) / 2, str(below.members[0]))
    return (
        f'<path d="M {below.middle:.1f} {start:.1f} L {above.middle:.1f} {end:.1f}" '
        f'stroke="{_colours(below)[1]}" fill="none"/>{label}'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
