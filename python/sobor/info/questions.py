# SPDX-License-Identifier: BSD-3-Clause
"""Asks the core what the options of `sobor info` want to know."""

import os
from dataclasses import dataclass
from typing import Any

from sobor import console, outputs, tuning
from sobor.errors import SoborError
from sobor.info import picture, views
from sobor.machines import network_file_of, processor_of, topology_of
from sobor.native import Native, find_native
from sobor.sizes import counted, parse_size
from sobor.version import __version__

MAPS = ("core", "numa", "socket", "none")
#: Of ranks on several nodes.
MAPS_OF_NODES = ("core", "node")


@dataclass(frozen=True)
class Wanted:
    """The options of `sobor info`."""

    variables: bool = False
    algorithms: bool = False
    prices: bool = False
    placement: bool = False
    groups: bool = False
    collective: str | None = None
    size: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    oversubscribed: bool | None = None
    mapping: str | None = None
    machine: str | None = None
    dot: str | None = None
    svg: str | None = None

    @property
    def is_overview(self) -> bool:
        """Whether no single part was asked for."""
        lists = (self.variables, self.algorithms, self.prices)
        return not any((*lists, self.placement, self.groups, self.collective))


def info(wanted: Wanted, json_file: str | None) -> None:
    """Writes the answers."""
    outputs.check(json_file)
    native = find_native()
    if wanted.collective:
        tuning.check(native, os.environ)
    answers = ask(native, wanted)
    _draw(answers, wanted)
    outputs.show(answers, json_file, lambda: views.write(answers, console.out()))


def _draw(answers: dict[str, Any], wanted: Wanted) -> None:
    """Writes the pictures of the groups."""
    title = f"{counted(wanted.ranks, 'rank')} by {wanted.mapping or 'core'}"
    title += f" on {wanted.machine}" if wanted.machine else ""
    if wanted.dot:
        outputs.write_text("--dot", wanted.dot, picture.dot(answers["groups"]))
    if wanted.svg:
        outputs.write_text("--svg", wanted.svg, picture.svg(answers["groups"], title))


def ask(native: Native, wanted: Wanted) -> dict[str, Any]:
    """The answers, one entry for each part asked for."""
    _check(wanted)
    answers: dict[str, Any] = {}
    if wanted.is_overview:
        answers |= _overview(native, wanted)
    if wanted.variables:
        answers["variables"] = native.query("variables")
    if wanted.algorithms:
        answers["algorithms"] = native.query("algorithms")
    if wanted.prices:
        answers["prices"] = native.query("prices", *_ranks(wanted))
        answers["measured"] = native.query("measured", *_ranks(wanted))
    if wanted.groups:
        answers["groups"] = native.query("groups", *_ranks(wanted), *_shape(wanted))
    if wanted.placement:
        answers["placement"] = native.query("placement", *_ranks(wanted))
    if wanted.collective and wanted.nodes is not None:
        answers["spanning"] = _spanning(native, wanted)
    elif wanted.collective:
        answers["choice"] = _choice(native, wanted)
    return answers


def _overview(native: Native, wanted: Wanted) -> dict[str, Any]:
    return {
        "version": {**native.query("version"), "command": __version__},
        "paths": {"prefix": str(native.prefix), "preload": str(native.preload)},
        "topology": native.query("topology", *_machine(wanted), *_processor(wanted)),
        "tuning": tuning.ask(native, os.environ),
        "measured": native.query("measured"),
        "changed": [v for v in native.query("variables") if v["source"] != "default"],
    }


def _ranks(wanted: Wanted) -> list[str]:
    return [] if wanted.ranks is None else ["--ranks", str(wanted.ranks)]


def _shape(wanted: Wanted) -> list[str]:
    options = ["--map", wanted.mapping] if wanted.mapping else []
    return options + _machine(wanted)


def _machine(wanted: Wanted) -> list[str]:
    return ["--machine", topology_of(wanted.machine)] if wanted.machine else []


def _processor(wanted: Wanted) -> list[str]:
    processor = processor_of(wanted.machine) if wanted.machine else None
    return ["--processor", processor] if processor else []


def _choice(native: Native, wanted: Wanted) -> dict[str, Any]:
    size = 0 if wanted.size is None else parse_size(wanted.size, "--bytes")
    options = ["--collective", wanted.collective, "--bytes", str(size), *_ranks(wanted)]
    options += _shape(wanted) + _processor(wanted)
    if wanted.oversubscribed is not None:
        options += ["--oversubscribed", str(int(wanted.oversubscribed))]
    question = {"collective": wanted.collective, "bytes": size, "ranks": wanted.ranks}
    return {**question, **native.query("choice", *options)}


def _spanning(native: Native, wanted: Wanted) -> dict[str, Any]:
    options = ["--collective", wanted.collective, "--nodes", str(wanted.nodes), *_ranks(wanted)]
    if wanted.size is not None:
        options += ["--bytes", str(parse_size(wanted.size, "--bytes"))]
    if wanted.mapping:
        options += ["--map", wanted.mapping]
    if wanted.oversubscribed is not None:
        options += ["--oversubscribed", str(int(wanted.oversubscribed))]
    if wanted.machine:
        options += ["--network", network_file_of(wanted.machine)]
    return native.query("spanning", *options)


def _check(wanted: Wanted) -> None:
    """Refuses options that the parts asked for would ignore."""
    maps = MAPS if wanted.nodes is None else MAPS_OF_NODES
    if wanted.mapping and wanted.mapping not in maps:
        raise SoborError(f"--map: expected {', '.join(maps)}, found {wanted.mapping}")
    for option, value, parts, needed in (
        (
            "--ranks",
            wanted.ranks,
            "--prices, --groups, --placement or --collective",
            _uses_ranks(wanted),
        ),
        ("--bytes", wanted.size, "--collective", wanted.collective),
        ("--nodes", wanted.nodes, "--collective", wanted.collective),
        ("--oversubscribed", wanted.oversubscribed, "--collective", wanted.collective),
        ("--map", wanted.mapping, "--groups or --collective", _uses_map(wanted)),
        (
            "--machine",
            wanted.machine,
            "--groups, --collective or alone",
            _uses_map(wanted) or wanted.is_overview,
        ),
        ("--dot", wanted.dot, "--groups", wanted.groups),
        ("--svg", wanted.svg, "--groups", wanted.groups),
    ):
        if value is not None and not needed:
            raise SoborError(f"{option} goes with {parts}")
    if wanted.ranks is None and (wanted.groups or wanted.collective):
        raise SoborError(
            f"{'--groups' if wanted.groups else '--collective'} needs the number of ranks",
            "add, for example, --ranks 8",
        )


def _uses_map(wanted: Wanted) -> bool:
    return wanted.groups or bool(wanted.collective)


def _uses_ranks(wanted: Wanted) -> bool:
    return wanted.prices or wanted.groups or wanted.placement or bool(wanted.collective)
