"""A hook of mkdocs: patterns in the ``nav`` of mkdocs.yml stand for the pages that are not named there."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Replaces every pattern by the pages that match it and are not named, in alphabetical order."""
    config.nav = expand(config.nav, Path(config.docs_dir), set(named_pages(config.nav)))
    return config


def named_pages(entry: Any) -> list[str]:
    """All pages of a part of the nav that stand there by name."""
    if isinstance(entry, str):
        return [] if "*" in entry else [entry]
    children = entry.values() if isinstance(entry, dict) else entry
    return [page for child in children for page in named_pages(child)]


def expand(entry: Any, folder: Path, named: set[str]) -> Any:
    """The same part of the nav without patterns."""
    if isinstance(entry, dict):
        return {title: expand(child, folder, named) for title, child in entry.items()}
    if isinstance(entry, list):
        pages: list[Any] = []
        for child in entry:
            expanded = expand(child, folder, named)
            pages += expanded if isinstance(child, str) and "*" in child else [expanded]
        return pages
    if "*" not in entry:
        return entry
    found = (path.relative_to(folder).as_posix() for path in sorted(folder.glob(entry)))
    return [page for page in found if page not in named]
