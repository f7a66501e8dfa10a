# SPDX-License-Identifier: BSD-3-Clause
"""`sobor model`: what operations should cost, by formulas."""
