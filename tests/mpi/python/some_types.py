# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's own suite, its arrays of some types.

Usage: some_types.py MAIN TYPECODES ELSEWHERE [OPTION...]

ELSEWHERE: what another run makes its arrays of. A type that is in neither is met by none.
"""

import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
path, typecodes, elsewhere, *options = sys.argv[1:]
sys.argv[:] = [path, *options]
sys.path[0] = str(Path(path).parent)
main = importlib.import_module("main")
set_up = main.setup_modules


def set_up_with_some(options):
    """What arrays are made of is known once the options have said which kinds there are."""
    set_up(options)
    for backend in importlib.import_module("arrayimpl").ArrayBackends:
        forgotten = set(backend.TypeMap) - {*typecodes, *elsewhere}
        assert not forgotten, f"{backend.__name__} has types that no run is made with: {forgotten}"
        backend.TypeMap = {t: kind for t, kind in backend.TypeMap.items() if t in typecodes}
        assert backend.TypeMap, f"{backend.__name__} has none of {typecodes}"
    # Whether its arrays are tried is settled. Modules that need it themselves, as mpi4py.util.sync
    # does, must not be left out, nor their tests.
    if sys.modules.get("array", sys) is None:
        del sys.modules["array"]


main.setup_modules = set_up_with_some
main.main(module=None)
