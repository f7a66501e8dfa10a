# SPDX-License-Identifier: BSD-3-Clause
"""The `sobor` command: run programs under Sobor, explain it, measure it."""

from sobor.version import __version__

__all__ = ["__version__"]
