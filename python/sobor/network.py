# SPDX-License-Identifier: BSD-3-Clause
"""The machine file that SOBOR_NETWORK names: found and looked at before a job is started."""

import os
from collections.abc import Mapping

from sobor.errors import SoborError
from sobor.native import Native

VARIABLE = "SOBOR_NETWORK"
#: Any question about several nodes tells of the network.
QUESTION = ("spanning", "--collective", "barrier", "--ranks", "4", "--nodes", "2")


def find(chosen: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variable with its file by a path that holds wherever ranks are started; or nothing.

    The library opens what it is told, so names of machines become files here.
    """
    text = chosen.get(VARIABLE, environ.get(VARIABLE, ""))
    if not text:
        return {}
    if not os.path.isfile(text):
        from sobor.machines import file_of  # noqa: PLC0415 - few starts of a program need it

        text = str(file_of(text, VARIABLE))
    return {VARIABLE: os.path.abspath(text)}


def check(native: Native, environ: Mapping[str, str]) -> None:
    """Refuses a file that the library would not take."""
    if not environ.get(VARIABLE):
        return
    error = native.query(*QUESTION, environ=environ)["network"]["error"]
    if error:
        raise SoborError(
            f"{VARIABLE}: {error}", f"name a machine file with a network, or leave {VARIABLE} unset"
        )
