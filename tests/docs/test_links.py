"""Every relative link of README.md and of docs/ leads to a file, and to a heading when it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The name of a heading in a link: as GitHub and mkdocs make it."""
    text = re.sub(r"<[^>]*>|[`*\\]", "", heading).strip().lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text, flags=re.ASCII)).strip("-")


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page whose file or heading does not exist."""
    broken = []
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists():
            broken.append(link)
        elif anchor and target.suffix == ".md":
            content = text if target == page else target.read_text()
            if anchor not in map(slug, re.findall(r"^#+ (.*)$", content, re.MULTILINE)):
                broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page, page.read_text()) == []


def test_broken_links_are_seen(tmp_path):
    (tmp_path / "there.md").write_text("# One\n\n## Two: a + b\n")
    text = """# Here and now
    [a](there.md) [b](there.md#two-a-b) [c](#here-and-now) [d](https://nowhere) `[e](not-a-link.md)`
    ![f](missing.svg) [g](there.md#three) [h](#nowhere) [i](gone/)
    """
    page = tmp_path / "here.md"
    page.write_text(text)
    assert broken_links(page, text) == ["missing.svg", "there.md#three", "#nowhere", "gone/"]


def test_the_nav_names_pages_that_exist():
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install exact-interp[test]")
    pages = re.findall(r"[\w/*-]+\.md", str(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert pages
    for page in pages:
        assert list((ROOT / "docs").glob(page)), page
