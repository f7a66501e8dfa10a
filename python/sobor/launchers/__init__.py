# SPDX-License-Identifier: BSD-3-Clause
"""Launchers: which one a command starts with, and how it hands variables to its ranks."""

from sobor.launchers.forward import Forward, Launch
from sobor.launchers.plan import plan_launch
from sobor.launchers.recognition import Family, Launcher, known_on_path, recognise

__all__ = [
    "Family",
    "Forward",
    "Launch",
    "Launcher",
    "known_on_path",
    "plan_launch",
    "recognise",
]
