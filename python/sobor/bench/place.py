# SPDX-License-Identifier: BSD-3-Clause
"""What studies need to know of where they run: ranks, the launcher, the folder of their files."""

import os
from pathlib import Path
from typing import Any

from sobor import drawing, outputs, variables
from sobor.bench.target import Target, make_target
from sobor.errors import SoborError
from sobor.native import Native
from sobor.sizes import parse_counts


def make_folder(wanted: Any, asked_by: str) -> Path:
    """The folder of --out, which there is from now on; --json and Matplotlib are looked at too."""
    folder = Path(wanted.out)
    if folder.exists() and not folder.is_dir():
        raise SoborError(f"--out: expected a folder, found {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SoborError(f"--out: {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise SoborError(f"--out: expected a folder that can be written, found {folder}")
    outputs.check(wanted.json_file)
    drawing.load(asked_by)
    return folder


def count_ranks(wanted: Any, otherwise: int) -> int:
    """The one number of --ranks."""
    counts = parse_counts(wanted.ranks, "--ranks") if wanted.ranks else [otherwise]
    if len(counts) != 1 or counts[0] < 2:
        raise SoborError(
            f"--ranks: a study needs one number of at least 2, found {wanted.ranks or otherwise}"
        )
    return counts[0]


def target_here(wanted: Any, native: Native) -> Target:
    """The launcher of this machine, where it has a back end."""
    native.check_bench()
    variables.refuse_unserved("a study of this machine", native, variables.SWITCH)
    target = make_target(wanted.launcher, native, wanted.libmpi)
    if not target.preloads:
        raise SoborError(f"{target.launcher.label}: no back end {target.library.abi}")
    return target
