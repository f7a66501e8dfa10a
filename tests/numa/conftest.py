# SPDX-License-Identifier: BSD-3-Clause
"""Lets the tests of this folder find its modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
