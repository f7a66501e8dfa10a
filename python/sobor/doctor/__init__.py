# SPDX-License-Identifier: BSD-3-Clause
"""`sobor doctor`: what is here, what will work, what will not, and the remedy."""
