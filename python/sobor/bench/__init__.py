# SPDX-License-Identifier: BSD-3-Clause
"""`sobor bench`: times the host MPI and Sobor side by side under the user's launchers."""
