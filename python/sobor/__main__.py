# SPDX-License-Identifier: BSD-3-Clause
"""Entry point of `python -m sobor`, and of `python -I FOLDER/sobor`, wherever the folder is."""

import os
import sys

if not __package__:
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from sobor.start import main

sys.exit(main())
