"""Every format against its published schema, and none silent about a failure, whatever text a report holds."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.reports.formats import FORMATS
from interp.reports.report import Check, check_of_fault, checks_of, make_report
from proofs.guard import Answer
from proofs.kernel.errors import MalformedInput, Status, UsageError

SCHEMAS = Path(__file__).parent / "schemas"
BAD = [status for status in Status if status is not Status.VERIFIED]

texts = st.text(st.characters(codec=None), max_size=30) | st.sampled_from(
    ["a%0Ab\r\n::error::x", "<b>&\"'|`", "\x00\x1b\x08", "\ud800", "::set-env name=A::b", "]]>", "a,b:c"]
)
checks = st.builds(
    Check, texts.filter(bool), texts.filter(bool), st.sampled_from(list(Status)), texts, st.integers(1, 10**6)
)


def report_of(found, command="verify"):
    statuses = [check.status for check in found]
    status = max(statuses, key=lambda status: status.exit_code)
    return make_report(command, found, status, "text", {"a": 1}, "T.jsonl")


reports = st.lists(checks, min_size=1, max_size=5).map(report_of)


@cache
def sarif_schema():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install exact-interp[test]")
    schema = json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8-sig"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


@cache
def junit_schema():
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is not installed: pip install exact-interp[test]")
    return xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))


@settings(max_examples=30)
@given(report=reports)
def test_sarif_follows_its_schema(report):
    record = json.loads(FORMATS["sarif"](report))
    assert not list(sarif_schema().iter_errors(record))
    (run,) = record["runs"]
    assert len(run["results"]) == len(report.failures)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    answered = not any(c.status in (Status.USAGE, Status.MALFORMED, Status.LIMIT, Status.FAULT) for c in report.checks)
    assert run["invocations"][0]["executionSuccessful"] is answered


def test_the_sarif_schema_refuses_what_is_wrong():
    record = json.loads(FORMATS["sarif"](report_of([Check("blocks", "T.jsonl", Status.REFUTED, "9 > 8")])))
    record["runs"][0]["results"][0]["level"] = "fatal"
    assert list(sarif_schema().iter_errors(record))


@settings(max_examples=30)
@given(report=reports)
def test_junit_follows_its_schema(report):
    text = FORMATS["junit"](report).encode("utf-8")
    junit_schema().validate(text.decode())
    root = ElementTree.fromstring(text)
    assert len(list(root.iter("testcase"))) == len(report.checks)
    bad = [*root.iter("failure"), *root.iter("error")]
    assert len(bad) == len(report.failures)
    suites = list(root.iter("testsuite"))
    assert sum(int(s.get("tests")) for s in suites) == len(report.checks)
    assert sum(int(s.get("failures")) + int(s.get("errors")) for s in suites) == len(bad)
    assert [e.get("type") for e in bad if e.tag == "failure"].count("refuted") == sum(
        1 for c in report.checks if c.status is Status.REFUTED
    )


def test_the_junit_schema_refuses_what_is_wrong():
    assert not junit_schema().is_valid('<testsuites><testsuite name="a" tests="1"/></testsuites>')


COMMAND = re.compile(r"::(error|notice) ([^:]*)::([^\r\n]*)")


@given(report=reports)
def test_github_lines_are_our_commands_and_nothing_else(report):
    lines = FORMATS["github"](report).split("\n")
    assert lines.pop() == ""
    assert len(lines) == max(len(report.failures), 1)
    for line, check in zip(lines, report.failures, strict=False):
        match = COMMAND.fullmatch(line)
        assert match
        assert match[1] == "error"
        properties = dict(part.split("=", 1) for part in match[2].split(","))
        assert set(properties) == {"file", "line", "title"}
        assert unescape(properties["file"]) == check.file
        assert unescape(match[3]) == f"{check.status.label}: {check.message}"
    assert ("::error " in lines[0]) is bool(report.failures)


def unescape(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@given(report=reports)
def test_markdown_has_a_row_a_check(report):
    lines = FORMATS["markdown"](report).split("\n")
    rows = lines[6:-1]
    assert len(rows) == len(report.checks)
    for row in rows:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 5
        assert not re.search(r"(?<!\\)(?:\\\\)*<", row)
    assert report.status.label in lines[0]


@pytest.mark.parametrize("status", BAD)
def test_no_format_is_silent_about_a_failure(status):
    passed = Check("hardmax", "T.jsonl", Status.VERIFIED, "fine")
    report = make_report("verify", [passed], status, f"{status.label}: why", {"exit_code": status.exit_code}, "T.jsonl")
    for name, render in FORMATS.items():
        shown = render(report)
        assert status.label in shown or str(status.exit_code) in shown, name
    assert report.failures


def test_nothing_checked_is_no_success():
    with pytest.raises(UsageError, match="nothing would be checked"):
        make_report("audit", [], Status.VERIFIED, "", {}, "T.jsonl")
    with pytest.raises(ValueError, match="failed check"):
        make_report("audit", [Check("a", "b", Status.REFUTED, "c")], Status.VERIFIED, "", {}, "T.jsonl")


def test_a_fault_keeps_its_file_and_line():
    check = check_of_fault(MalformedInput("not a number", "line 7: $.ff.b[0]", "write one", "W.jsonl"), "T.jsonl")
    assert (check.file, check.line, check.rule) == ("W.jsonl", 7, "malformed-input")
    assert check.message == "line 7: $.ff.b[0]: not a number (write one)"


def test_a_disagreement_of_two_checkers_is_shown():
    record = {"obligations": [{"name": "hardmax", "status": "verified", "detail": "1 of 1"}], "second_checker": "no"}
    for status in (Status.FAULT, Status.UNDECIDED):
        found = checks_of(Answer("", record, status), "T.jsonl")
        assert [check.status for check in found] == [Status.VERIFIED, status]
    assert all(check.passed for check in checks_of(Answer("", record, Status.VERIFIED), "T.jsonl"))


def test_places_are_uris():
    for file, uri in (("a b/T%.jsonl", "a%20b/T%25.jsonl"), ("/x/ü", "file:///x/%C3%BC")):
        record = json.loads(FORMATS["sarif"](report_of([Check("a", file, Status.REFUTED, "c")])))
        place = record["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == uri
