# SPDX-License-Identifier: BSD-3-Clause
"""`sobor platform`: what the processors and the network of a job do."""
