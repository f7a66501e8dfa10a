# SPDX-License-Identifier: BSD-3-Clause
"""A hook of mkdocs: pages of algorithms end with pictures of them, drawn by the simulator.

They are drawn when the site is built, so that they show what the code does. Without the native
parts the pages come without them.
"""

import logging
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from sobor.start import main

_MACHINE = "xeon-e5-2620v4-2s"
#: Page to operations, algorithms and sizes.
PICTURES = {
    "barrier.md": [("barrier", "exchange", None), ("barrier", "dissemination", None)],
    "bcast.md": [("bcast", "ring", "64K"), ("bcast", "numa-pipelined", "64K")],
    "scatter-gather.md": [("gatherv", "queued", "64K")],
    "alltoall.md": [("alltoall", "direct", "256")],
    "reductions.md": [("allreduce", "reduce-scatter-allgather", "64K")],
}
_log = logging.getLogger("mkdocs.hooks.pictures")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for each in [each for page in PICTURES.values() for each in page]:
            path = Path(folder) / "picture.svg"
            said = StringIO()
            with redirect_stdout(StringIO()), redirect_stderr(said):
                status = main([*_words(each), "--timeline", str(path)])
            if status != 0:
                _log.info("no pictures: %s", said.getvalue().strip())
                return files
            text = path.read_text(encoding="utf-8")
            files.append(File.generated(config, _name(each), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adds what shows them to the pages."""
    lines = []
    for each in PICTURES.get(page.file.src_path, ()):
        if files.get_file_from_path(_name(each)) is not None:
            lines += [f"![{each[0]} {each[1]}, simulated]({_name(each)})", ""]
            lines += [f"`sobor {' '.join(_words(each))} --timeline FILE.svg`", ""]
    title = ["", "", "## Pictures from the simulator", ""]
    return markdown + "\n".join([*title, *lines] if lines else [])


def _words(picture: tuple[str, str, str | None]) -> list[str]:
    collective, algorithm, size = picture
    words = ["simulate", collective, "--machine", _MACHINE, "--algorithm", algorithm]
    return [*words, *(["--bytes", size] if size else []), "--calls", "1"]


def _name(picture: tuple[str, str, str | None]) -> str:
    return f"pictures/{picture[0]}-{picture[1]}.svg"
