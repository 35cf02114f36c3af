"""The site: patterns of the nav, and a build that needs nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_hook():
    spec = importlib.util.spec_from_file_location("navigation", ROOT / "docs" / "navigation.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_pattern_stands_for_the_pages_that_are_not_named(tmp_path):
    hook = load_hook()
    (tmp_path / "a").mkdir()
    for name in ("index.md", "a/z.md", "a/y.md", "a/x.md", "a/picture.svg"):
        (tmp_path / name).touch()
    nav = [{"Home": "index.md"}, {"A": ["a/y.md", "a/*.md"]}, {"Rest": "*.md"}]
    expanded = hook.expand(nav, tmp_path, set(hook.named_pages(nav)))
    assert expanded == [{"Home": "index.md"}, {"A": ["a/y.md", "a/x.md", "a/z.md"]}, {"Rest": []}]


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_asks_no_server(tmp_path):
    for package in ("mkdocs", "material", "mkdocstrings", "mkdocs_click"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install exact-interp[docs]")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]*src=\"?([^\"> ]+)|<link[^>]*href=\"?([^\"> ]+)", page.read_text()
        )
        assert loaded
        assert [a or b for a, b in loaded if re.match(r"(https?:)?//", a or b)] == []
