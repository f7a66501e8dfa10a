# SPDX-License-Identifier: BSD-3-Clause
"""What the running system says of itself, read from /proc and /sys."""
