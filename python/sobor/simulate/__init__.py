# SPDX-License-Identifier: BSD-3-Clause
"""`sobor simulate`: collectives on simulated machines."""
