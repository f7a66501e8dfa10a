# SPDX-License-Identifier: BSD-3-Clause
"""`sobor study`: the experiments of the papers, with the published values beside ours."""
