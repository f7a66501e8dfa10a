# SPDX-License-Identifier: BSD-3-Clause
"""`sobor info`: what the core knows and would do, asked from sobor-query."""
