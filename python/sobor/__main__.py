# SPDX-License-Identifier: BSD-3-Clause
"""Entry point of `python -m sobor`, and of `python -I FOLDER/sobor`, wherever the folder is."""

import os
import sys

if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What is imported below is no program to an older Python, which whoever starts this may have found.
if sys.version_info < (3, 10):  # noqa: UP036
    found = ".".join(map(str, sys.version_info[:3]))
    message = "sobor: needs Python 3.10 or later, found {} ({}); set SOBOR_PYTHON to a later one"
    print(message.format(found, sys.executable), file=sys.stderr)
    sys.exit(2)

from sobor.start import main

sys.exit(main())
