# SPDX-License-Identifier: BSD-3-Clause
"""The pages of docs/ as a site: built strictly, so that every link leads somewhere."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None,
    reason="mkdocs is not installed (make test-setup installs it where pip can)",
)


def build(folder, site):
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_it_is_built_whole(tmp_path, real_native):
    made = build(ROOT, tmp_path)
    assert made.returncode == 0, made.stderr
    pictures = list((tmp_path / "pictures").glob("*.svg"))
    assert len(pictures) > 5
    assert all("simulated " in picture.read_text() for picture in pictures)
    assert 'src="pictures/bcast-ring.svg"' in (tmp_path / "bcast.html").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        html = tmp_path / str(name).replace("README", "index")
        text = html.read_text()
        # Lists and tables that the site's Markdown does not take for such.
        unseen = re.findall(r"<p>[^<]*\n(?:- |\d\. |\|).*", text)
        assert not unseen, (page.name, unseen)
        # It can be read without a network.
        assert not re.search(r'<(?:script|img|link)[^>]+(?:src|href)="https?:', text), page.name


def test_a_link_to_nowhere_is_found(tmp_path):
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    # Without the hook that draws: its pictures are not asked for here.
    config = (ROOT / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"^hooks:\n.*\n", "", config, flags=re.MULTILINE))
    with (tmp_path / "docs/bench.md").open("a") as page:
        page.write("\n[nowhere](tuning.md#no-such-heading)\n")
    made = build(tmp_path, tmp_path / "site")
    assert made.returncode != 0 and "no-such-heading" in made.stderr
