"""Untrusted. SARIF 2.1.0 (OASIS): a result for each check that does not hold, a rule for each kind of check."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from interp.reports.report import ERRORS, Check, Report
from interp.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render_sarif(report: Report) -> str:
    """One run. ``executionSuccessful`` says whether every question got an answer, not whether the answer was good."""
    rules = sorted({check.rule for check in report.checks})
    answered = not any(check.status in ERRORS for check in report.checks)
    invocation: dict[str, Any] = {"executionSuccessful": answered, "exitCode": report.status.exit_code}
    run = {
        "tool": {"driver": {"name": "interp", "version": VERSION, "rules": [_rule(rule) for rule in rules]}},
        "invocations": [invocation],
        "results": [_result(check, rules.index(check.rule)) for check in report.failures],
        "properties": {"command": report.command, "outcome": report.status.label, "checks": len(report.checks)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: str) -> dict[str, Any]:
    return {"id": rule, "shortDescription": {"text": f"interp: {rule}"}, "defaultConfiguration": {"level": "error"}}


def _result(check: Check, index: int) -> dict[str, Any]:
    region = {"startLine": check.line}
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(check.file)}, "region": region}}
    return {
        "ruleId": check.rule,
        "ruleIndex": index,
        "level": "error",
        "message": {"text": f"{check.status.label}: {check.message}"},
        "locations": [place],
    }


def _uri(file: str) -> str:
    """A relative reference, or file:// for an absolute path."""
    path = quote(file.replace(os.sep, "/"), errors="surrogatepass")
    return f"file://{path}" if os.path.isabs(file) else path
