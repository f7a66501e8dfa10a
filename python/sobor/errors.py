# SPDX-License-Identifier: BSD-3-Clause
"""The one kind of error that ends a command with a message instead of a traceback."""

EXIT_ERROR = 2


class SoborError(Exception):
    """Something the user can mend: what is wrong and, where known, the remedy."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(message)
        self.message = message
        self.remedy = remedy
