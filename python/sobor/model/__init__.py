# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model`: what a broadcast should cost, and which buffers it should have."""
