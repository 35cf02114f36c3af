"""Untrusted. Markdown with tables, for a job summary or a comment."""

from __future__ import annotations

import re

from interp.reports.report import Check, Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+~|&!$@])")


def render_markdown(report: Report) -> str:
    """A heading with the outcome, and a row for each check."""
    head = f"### interp {report.command}: {report.status.label}"
    rows = [
        f"| {_escape(check.file)} | {_escape(check.rule)} | {_outcome(check)} | {_escape(check.message)} |"
        for check in report.checks
    ]
    held = f"{len(report.checks) - len(report.failures)} of {len(report.checks)} checks hold."
    return "\n".join([head, "", held, "", "| file | check | outcome | detail |", "|---|---|---|---|", *rows]) + "\n"


def _outcome(check: Check) -> str:
    return check.status.label if check.passed else f"**{check.status.label}**"


def _escape(text: str) -> str:
    """Text as it stands: in one cell, without markup."""
    return " ".join(_SPECIAL.sub(r"\\\1", text).split())
