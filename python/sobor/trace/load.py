# SPDX-License-Identifier: BSD-3-Clause
"""Loads the part of the report that needs numpy, or says that it is missing."""

from types import ModuleType

from sobor.errors import SoborError
from sobor.native import packages_remedy


def load() -> ModuleType:
    """The module sobor.trace.report."""
    try:
        from sobor.trace import report  # noqa: PLC0415 - only here it is known to be there
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise SoborError("sobor report needs the Python package numpy", packages_remedy()) from None
    return report
