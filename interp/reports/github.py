"""Untrusted. Workflow commands of GitHub Actions: an annotation for each check that does not hold.

Every line is a command whose data is escaped, so no text of a file that was read can be a command of its own.
"""

from __future__ import annotations

from interp.reports.report import Report

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}


def render_github(report: Report) -> str:
    """``::error`` lines, or one ``::notice`` when every check holds."""
    if not report.failures:
        files = len({check.file for check in report.checks})
        return f"::notice title=interp {report.command}::{len(report.checks)} checks hold for {files} file(s)\n"
    lines = []
    for check in report.failures:
        place = f"file={_escape(check.file, _PROPERTY)},line={check.line}"
        title = _escape(f"interp {report.command}: {check.rule}", _PROPERTY)
        lines.append(f"::error {place},title={title}::{_escape(f'{check.status.label}: {check.message}', _DATA)}\n")
    return "".join(lines)


def _escape(text: str, codes: dict[str, str]) -> str:
    return "".join(codes.get(character, character) for character in text)
