"""Untrusted. Every format by its name."""

from __future__ import annotations

import json
from collections.abc import Callable

from interp.reports.github import render_github
from interp.reports.junit import render_junit
from interp.reports.markdown import render_markdown
from interp.reports.report import Report
from interp.reports.sarif import render_sarif


def render_text(report: Report) -> str:
    """What the command prints for people."""
    return report.text + "\n"


def render_json(report: Report) -> str:
    """What the command prints for programs."""
    return json.dumps(report.record, indent=2) + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": render_text,
    "json": render_json,
    "junit": render_junit,
    "sarif": render_sarif,
    "github": render_github,
    "markdown": render_markdown,
}
