# SPDX-License-Identifier: BSD-3-Clause
"""Entry point of `python -m sobor`."""

import sys

from sobor.cli import main

sys.exit(main())
