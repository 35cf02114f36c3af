"""The overview that a newcomer sees first, and shell completion."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from interp.cli.main import SECTIONS, cli, run_command


@pytest.fixture
def overview(capsys):
    assert run_command(["--help"]) == 0
    return capsys.readouterr().out


def test_the_overview_fits_on_a_screen_and_cuts_nothing_off(overview):
    lines = overview.splitlines()
    assert len(lines) <= 55
    assert max(map(len, lines)) <= 80
    assert "...\n" not in overview.split("Commands")[1]


def test_the_overview_starts_with_the_three_jobs(overview):
    places = [overview.index(text) for text in ("interp build DATA", "interp verify T.jsonl", "interp audit T.jsonl")]
    assert places == sorted(places)
    assert max(places) < overview.index("Commands")


def test_every_command_stands_in_one_section_with_its_line(overview):
    listed = [command for commands in SECTIONS.values() for command in commands]
    assert sorted(str(command.name) for command in listed) == sorted(cli.commands)
    for commands in SECTIONS.values():
        for command, line in commands.items():
            assert f"{command.name} " in overview
            assert overview.count(f"  {line}\n") == 1


def test_a_command_of_no_section_is_listed_too(capsys):
    @cli.command()
    def stray() -> None:
        """Found all the same."""

    try:
        assert run_command(["--help"]) == 0
        assert "stray        Found all the same.\n" in capsys.readouterr().out
    finally:
        del cli.commands["stray"]


@pytest.mark.parametrize("group", ["dataset", "import", "fgd", "boolean"])
def test_groups_list_whole_sentences(capsys, group):
    assert run_command([group, "--help"]) == 0
    listed = capsys.readouterr().out.split("Commands:")[1]
    assert "..." not in listed
    assert all(f"  {name} " in listed for name in cli.commands[group].commands)


@pytest.mark.parametrize(("shell", "word"), [("zsh", "#compdef interp"), ("fish", "complete --no-files")])
def test_completion_scripts(capsys, shell, word):
    assert run_command(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert word in script
    assert f"_INTERP_COMPLETE={shell}_complete" in script


def test_completion_of_another_shell_is_a_usage_error(capsys):
    assert run_command(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None or shutil.which("interp") is None, reason="bash or interp is missing")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["interp", "ver"], {"verify"}),
        (["interp", "build", "--constr"], {"--construction"}),
        (["interp", "build", "--construction", "com"], {"compact"}),
        (["interp", "dataset", "con"], {"convert"}),
    ],
)
def test_bash_completes(words, expected):
    script = subprocess.run(["interp", "completion", "bash"], capture_output=True, text=True, check=True).stdout
    line = f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _interp_completion interp; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", f"{script}\n{line}"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == expected, done.stderr
