# SPDX-License-Identifier: BSD-3-Clause
"""scripts/write_figures.py: which page shows what of a measurement."""

import runpy

from conftest import ROOT

FIGURES = runpy.run_path(str(ROOT / "scripts" / "write_figures.py"))
RESULTS, README = ROOT / "docs" / "results.md", ROOT / "README.md"


def made():
    """Rows as of sobor bench, for 3 and 5 ranks; one point is lost."""
    return [
        {"collective": name, "ranks": ranks, "bytes": size, "host": "Open MPI 4.1.4"}
        | {"host_us": 2.0, "sobor_us": 1.0, "ratio": 0.5 if lost else 2.0, "line_us": 0.3}
        for ranks in (3, 5)
        for name in FIGURES["COLLECTIVES"]
        for size in ((0,) if name == "barrier" else FIGURES["SIZES"])
        for lost in [(ranks, name, size) == (5, "bcast", 8)]
    ]


def test_the_first_page_has_the_fewest_ranks():
    pages = FIGURES["pages"](made())
    shown = {
        page: text.split(FIGURES["BEGIN"])[1].split(FIGURES["END"])[0]
        for page, text in pages.items()
    }
    assert shown[RESULTS].count("\n| 3 |") == shown[RESULTS].count("\n| 5 |") == 6
    assert (shown[README].count("\n| 3 |"), shown[README].count("\n| 5 |")) == (6, 0)
    # The lost point is told on both.
    for text in shown.values():
        assert "bcast at 5 ranks, 8 B" in " ".join(text.split())
    for page, text in pages.items():
        assert (
            text.partition(FIGURES["BEGIN"])[0] == page.read_text().partition(FIGURES["BEGIN"])[0]
        )
