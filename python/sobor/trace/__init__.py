# SPDX-License-Identifier: BSD-3-Clause
"""`sobor trace` and `sobor report`: what the ranks of a job recorded, and what it says."""
