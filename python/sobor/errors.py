# SPDX-License-Identifier: BSD-3-Clause
"""The one kind of error that ends a command with a message instead of a traceback."""

import sys

EXIT_ERROR = 2


class SoborError(Exception):
    """Something the user can mend: what is wrong and, where known, the remedy."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def write_error(error: SoborError) -> None:
    """Writes an error and its remedy to standard error, plainly where there is no rich."""
    try:
        from sobor import console  # noqa: PLC0415 - what needs rich is loaded when it is needed
    except ModuleNotFoundError:
        write_warning(error.message)
        if error.remedy:
            print(f"  remedy: {error.remedy}", file=sys.stderr)
    else:
        console.print_error(error)


def write_warning(message: str) -> None:
    """Writes a warning to standard error, plainly where there is no rich."""
    try:
        from sobor import console  # noqa: PLC0415
    except ModuleNotFoundError:
        print(f"sobor: {message}", file=sys.stderr)
    else:
        console.print_warning(message)
