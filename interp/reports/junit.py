"""Untrusted. JUnit XML (the schema junit-10 of the Jenkins xUnit plugin): a suite a file, a test case a check."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import groupby

from interp.reports.report import ERRORS, Report

# XML 1.0 has no code for other characters, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report) -> str:
    """``<failure>`` for a check that does not hold or is undecided, ``<error>`` where there is no answer."""
    root = ElementTree.Element("testsuites", name=f"interp {report.command}")
    for file, group in groupby(report.checks, key=lambda check: check.file):
        checks = list(group)
        errors = sum(1 for check in checks if check.status in ERRORS)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_clean(file),
            tests=str(len(checks)),
            failures=str(sum(1 for check in checks if not check.passed) - errors),
            errors=str(errors),
            skipped="0",
        )
        for check in checks:
            case = ElementTree.SubElement(suite, "testcase", name=_clean(check.rule), classname=_clean(file))
            name = "error" if check.status in ERRORS else "failure"
            output = case
            if not check.passed:
                output = ElementTree.SubElement(case, name, type=check.status.label, message=_clean(check.message))
            else:
                output = ElementTree.SubElement(case, "system-out")
            output.text = _clean(check.message)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: ascii(match[0])[1:-1], text)
