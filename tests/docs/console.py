"""Runs the console blocks of a page in order, in one shell, and compares what they print with what the page shows.

A fence ``console`` holds commands (``$ ...``) and the output of each; a fence with ``title="NAME"`` is a file. In shown
output ``...`` stands for any text within a line, and on a line of its own for any number of lines, none included.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(?P<kind>\w+)(?P<attributes>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([\w.-]+)"')
MARK = "-- end of command --"


@dataclass(frozen=True)
class Command:
    line: int
    text: str
    shown: str


def read_page(text: str) -> tuple[dict[str, str], list[Command]]:
    """The files that a page has its reader write, and its commands with the output it shows."""
    files, commands = {}, []
    for fence in FENCE.finditer(text):
        first = text.count("\n", 0, fence.start()) + 2
        if title := TITLE.search(fence["attributes"]):
            files[title[1]] = fence["body"]
        elif fence["kind"] == "console":
            commands += _read_console(fence["body"], first)
    return files, commands


def _read_console(body: str, first: int) -> list[Command]:
    commands: list[Command] = []
    for number, line in enumerate(body.splitlines(keepends=True), first):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:].rstrip("\n"), ""))
        elif commands:
            last = commands.pop()
            commands.append(Command(last.line, last.text, last.shown + line))
        else:
            raise ValueError(f"line {number}: output before the first command")
    return commands


def matches(shown: str, printed: str) -> bool:
    """Whether the output is the shown one. Empty lines are compared too, except where ``...`` stands for them."""
    pattern = ""
    for line in shown.splitlines():
        pieces = [re.escape(piece) for piece in line.split("...")]
        pattern += r"(?:[^\n]*\n)*?" if line == "..." else "[^\n]*".join(pieces) + r"\n"
    return re.fullmatch(pattern, printed) is not None


def run_commands(commands: list[Command], folder: Path) -> list[str]:
    """What each command prints, standard output and error together; ``$?`` is that of the command before."""
    script = "".join(f"{command.text}\n__code=$?; echo '{MARK}'; (exit $__code)\n" for command in commands)
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    arguments = ["bash", "--noprofile", "--norc", "-c", script]
    done = subprocess.run(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    printed = done.stdout.split(f"{MARK}\n")
    if len(printed) != len(commands) + 1:
        raise ValueError(f"the shell stopped: {printed[-1]}")
    return printed[:-1]
