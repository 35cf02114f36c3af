"""Bars on a terminal, lines when asked for, nothing otherwise; never on standard output."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from interp.cli import progress
from interp.cli.main import run_command
from interp.transformers.ledger import Phase
from tests.strategies import sign

PHASES = [Phase("separation", "", 1, 2), Phase("collapse", "", 2, 2, shared=True), Phase("inter\x1b[31m", "", 3, 4)]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Makes standard error a terminal of 200 columns."""
    for name, value in (("TERM", "xterm"), ("COLUMNS", "200"), ("LINES", "40")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def make():
        """Called by the test itself: pytest sets the streams before each of its parts."""
        stream = Terminal()
        monkeypatch.setattr("sys.stderr", stream)
        return stream

    return make


@pytest.fixture
def files(tmp_path):
    data, file = tmp_path / "data.json", tmp_path / "T.jsonl"
    assert run_command(["example", "plane", "-o", str(data)]) == 0
    assert run_command(["build", str(data), "-o", str(file), "--quiet"]) == 0
    return str(file), str(data)


def test_a_bar_has_phase_block_rate_and_time_left(terminal):
    stream = terminal()
    with progress.progress_bar("verify", phases=PHASES) as watch:
        for k in range(1, 5):
            watch(k, 4)
    shown = stream.getvalue()
    assert "verify, inter\\x1b[31m" in shown
    assert "block" in shown
    assert "4 of 4" in shown
    assert "/s" in shown
    assert "left" in shown


def test_a_spinner_names_the_step(terminal):
    stream = terminal()
    with progress.step_spinner("compare") as announce:
        announce("compact")
    assert "compare: compact" in stream.getvalue()


def test_nothing_is_shown_without_a_terminal(capsys):
    with progress.progress_bar("verify") as watch:
        watch(1, 2)
    with progress.step_spinner("compare") as announce:
        announce("compact")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("done", "name"), [(0, "verify"), (1, "verify, separation"), (2, "verify, separation"), (5, "verify")]
)
def test_the_phase_of_a_block(done, name):
    assert progress._describe("verify", PHASES, done) == name


def test_commands_show_bars_on_a_terminal_only(files, terminal):
    file, data = files
    stream = terminal()
    assert run_command(["build", data, "-o", file]) == 0
    assert "build, interpolation" in stream.getvalue()
    for command in (["run", file, data, "--pair", "0"], ["norm", file]):
        stream.truncate(0)
        assert run_command(command) == 0
        assert "11 of 11" in stream.getvalue()


@pytest.mark.parametrize(
    "command",
    ["verify", "audit", "run", "norm", "diff", "convert", "dataset check", "dataset convert", "compare", "distance"],
)
def test_quiet_and_verbose(command, files, tmp_path, capfd):
    file, data = files
    arguments = {
        "run": [file, data, "--pair", "0"],
        "norm": [file],
        "diff": [file, file],
        "convert": [file, str(tmp_path / "T.npz")],
        "dataset check": [data],
        "dataset convert": [data, str(tmp_path / "d.npz")],
        "compare": [data],
    }.get(command, [file, data])
    capfd.readouterr()
    assert run_command([*command.split(), *arguments]) == 0
    plain = capfd.readouterr()
    assert plain.err == ""
    assert run_command([*command.split(), *arguments, "--quiet"]) == 0
    assert capfd.readouterr().err == ""
    assert run_command([*command.split(), *arguments, "--verbose"]) == 0
    told = capfd.readouterr()
    assert told.err.strip()
    if command != "compare":  # it prints seconds
        assert told.out == plain.out
    assert run_command([*command.split(), *arguments, "--quiet", "--verbose"]) == 2


def test_verbose_lines_are_few_and_end_with_the_last_block(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = progress._Lines("verify", "block", [])
    for k in range(1, 101):
        now[0] += 0.1
        lines.watch(k, 100)
    shown = capsys.readouterr().err.splitlines()
    assert 4 <= len(shown) <= 6
    assert shown[-1] == "verify: block 100 of 100, 10.0 s, 10/s, 0 s left"


def test_a_name_in_a_header_cannot_write_to_the_terminal(files, tmp_path, capfd):
    file, data = files
    header, *blocks = Path(file).read_text().splitlines()[:-1]
    record = json.loads(header)
    record["phases"][-1]["name"] = "\x1b]0;owned\x07\x1b[2J"
    hostile = tmp_path / "hostile.jsonl"
    hostile.write_bytes(sign([json.dumps(record), *blocks]))
    assert run_command(["verify", str(hostile), data, "--verbose"]) == 0
    shown = capfd.readouterr().err
    assert "\\x1b]0;owned" in shown
    assert "\x1b" not in shown


def test_a_header_that_is_no_header_is_the_checkers_to_refuse(tmp_path, files, capfd):
    for content in (b"", b"[]\n", b"\xff\n", b'{"phases": 1}\n', b'{"phases": [1]}\n'):
        (tmp_path / "bad.jsonl").write_bytes(content)
        assert run_command(["verify", str(tmp_path / "bad.jsonl"), files[1], "--verbose"]) == 12
    assert run_command(["verify", str(tmp_path / "none.jsonl"), files[1], "--verbose"]) == 12
