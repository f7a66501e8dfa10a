# SPDX-License-Identifier: BSD-3-Clause
"""Profiles: where a program's communication time goes, and what Sobor makes of it."""
