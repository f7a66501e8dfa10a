# SPDX-License-Identifier: BSD-3-Clause
"""The native parts: where they are, and what sobor-query says."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sobor.errors import SoborError

PREFIX_VARIABLE = "SOBOR_PREFIX"
_PACKAGE = Path(__file__).resolve().parent
_QUERY_SECONDS = 60
# It measures for three seconds, but of many cores each for some milliseconds at least.
_TUNE_SECONDS = 600
#: What tools say has words of users and names of files in it, which may be no text: as Python has
#: those of its own command line.
AS_GIVEN = "surrogateescape"


@dataclass(frozen=True)
class Native:
    """An installed or built tree of native parts."""

    prefix: Path

    @property
    def libraries(self) -> Path:
        """The folder of the preload object and the back ends."""
        return self.prefix / "lib" / "sobor"

    @property
    def preload(self) -> Path:
        """The preload object."""
        return self.libraries / "libsobor.so"

    @property
    def heap(self) -> Path:
        """The preload object with the heap."""
        return self.libraries / "libsobor-heap.so"

    @property
    def profiling_preload(self) -> Path:
        """The preload object that counts the host's other calls as well."""
        return self.libraries / "libsobor-profile.so"

    @property
    def query_tool(self) -> Path:
        """The tool that answers questions about the core."""
        return self.prefix / "libexec" / "sobor" / "sobor-query"

    @property
    def model_tool(self) -> Path:
        """The tool that evaluates the cost models."""
        return self.prefix / "libexec" / "sobor" / "sobor-model"

    @property
    def bench(self) -> Path:
        """The host program of the bench."""
        return self.prefix / "bin" / "sobor-bench"

    def check_bench(self) -> None:
        """Says that the bench is missing, where it is."""
        if not self.bench.is_file():
            raise SoborError(f"{self.bench} is missing", build_remedy())

    @property
    def simulator(self) -> Path:
        """The tool that runs collectives on a simulated machine."""
        return self.prefix / "libexec" / "sobor" / "sobor-simulate"

    @property
    def calibrator(self) -> Path:
        """The tool that measures this machine."""
        return self.prefix / "libexec" / "sobor" / "sobor-calibrate"

    @property
    def tuner(self) -> Path:
        """The tool that measures this machine's prices and keeps them."""
        return self.prefix / "libexec" / "sobor" / "sobor-tune"

    def backend(self, abi: str) -> Path:
        """The back end for one MPI ABI."""
        return self.libraries / f"sobor-{abi}.so"

    def query(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Any:
        """Asks sobor-query and returns its JSON answer."""
        return _ask(self.query_tool, arguments, environ)

    def tune(self, *arguments: str) -> Any:
        """Has sobor-tune measure and returns its JSON answer."""
        return _ask(self.tuner, arguments, seconds=_TUNE_SECONDS)

    def model(self, *arguments: str) -> Any:
        """Asks sobor-model and returns its JSON answer."""
        return _ask(self.model_tool, arguments)


def _ask(
    tool: Path,
    arguments: tuple[str, ...],
    environ: Mapping[str, str] | None = None,
    seconds: float = _QUERY_SECONDS,
) -> Any:
    """Runs a tool of the native parts and returns its JSON answer."""
    command = [str(tool), *arguments]
    try:
        answer = subprocess.run(
            command,
            env=None if environ is None else dict(environ),
            capture_output=True,
            text=True,
            errors=AS_GIVEN,
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        raise SoborError(f"{tool}: {error.strerror}", build_remedy()) from None
    except subprocess.TimeoutExpired:
        raise SoborError(f"{' '.join(command)}: no answer in {seconds} s") from None
    if answer.returncode != 0:
        detail = answer.stderr.strip() or f"exit status {answer.returncode}"
        raise SoborError(detail.removeprefix("sobor: "))
    try:
        return json.loads(answer.stdout)
    except json.JSONDecodeError as error:
        raise SoborError(f"{' '.join(command)}: no JSON in its answer ({error})") from None


def candidates(package: Path = _PACKAGE) -> list[Path]:
    """The prefixes to look at, best first: in the package, the checkout's build, the install."""
    checkout = _checkout(package)
    built = package.parents[3] if checkout is None else checkout / "build" / "release"
    return [package / "native", built]


def find_native(environ: Mapping[str, str] | None = None) -> Native:
    """Finds the native parts, or says where they were looked for."""
    environ = os.environ if environ is None else environ
    chosen = environ.get(PREFIX_VARIABLE)
    places = [Path(chosen).absolute()] if chosen else candidates()
    for place in places:
        native = Native(place)
        if native.preload.is_file():
            return native
    looked = ", ".join(str(Native(place).preload) for place in places)
    if chosen:
        raise SoborError(
            f"{PREFIX_VARIABLE}: expected a folder with lib/sobor/libsobor.so, found {chosen}",
            f"unset {PREFIX_VARIABLE}, or set it to a build or install folder of Sobor",
        )
    raise SoborError(f"the native parts are not here; looked for {looked}", build_remedy())


def _checkout(package: Path = _PACKAGE) -> Path | None:
    root = package.parents[1]
    return root if (root / "pyproject.toml").is_file() else None


def build_remedy(
    otherwise: str = "install Sobor again: pip install . or cmake --install in its source",
) -> str:
    """What to do where a part is missing; `otherwise`: where this is no checkout."""
    checkout = _checkout()
    if checkout is not None:
        return f"make -C {checkout} build"
    return otherwise


def packages_remedy() -> str:
    """What to do where this Python lacks the packages of pictures and of sobor report."""
    if sys.prefix != sys.base_prefix:
        return build_remedy(f"{sys.executable} -I -m pip install numpy matplotlib")
    return build_remedy(
        f"install numpy and matplotlib for {sys.executable}; with Debian's: apt install "
        "python3-numpy python3-matplotlib"
    )
