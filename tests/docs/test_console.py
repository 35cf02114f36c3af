"""The runner of console blocks must be able to fail; then the tutorial and the page about datasets are run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.console import Command, matches, read_page, run_commands

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*sorted((DOCS / "tutorial").glob("*.md")), DOCS / "reference" / "datasets.md"]

PAGE = """
```text title="a.txt"
one
```
```console
$ cat a.txt
one
$ false
$ echo $?
1
```
"""


@pytest.mark.parametrize(
    ("shown", "printed", "answer"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a\nb\n", "a\n", False),
        ("", "a\n", False),
        ("", "", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("in ... s\n", "in 0.03 s\n", True),
        ("in ... s\n", "in 0.03\n s\n", False),
        ("1.5 (x)\n", "1x5 (x)\n", False),
    ],
)
def test_matches(shown, printed, answer):
    assert matches(shown, printed) is answer


def test_a_page_is_read():
    files, commands = read_page(PAGE)
    assert files == {"a.txt": "one\n"}
    assert commands == [Command(6, "cat a.txt", "one\n"), Command(8, "false", ""), Command(9, "echo $?", "1\n")]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_commands_are_run_in_one_shell(tmp_path):
    files, commands = read_page(PAGE)
    (tmp_path / "a.txt").write_text(files["a.txt"])
    assert run_commands(commands, tmp_path) == ["one\n", "", "1\n"]
    with pytest.raises(ValueError, match="the shell stopped"):
        run_commands([Command(1, "exit 3", ""), Command(2, "echo", "")], tmp_path)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_true(page, tmp_path):
    files, commands = read_page(page.read_text())
    assert commands
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    for command, printed in zip(commands, run_commands(commands, tmp_path), strict=True):
        assert matches(command.shown, printed), f"{page.name}:{command.line}: $ {command.text}\n{printed}"
