"""The pre-commit hooks: what they say, and, if asked for, in a scratch repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import interp
from interp.cli.main import run_command
from tests.strategies import dataset_bytes, make_dataset

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install exact-interp[test]")

ROOT = Path(__file__).parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
DATASET = make_dataset(([[0, 0], [1, 2]], [[5, 5]]), ([[0, 0], [3, 1]], [[1, 0]]))
WRONG = make_dataset(([[0, 0], [1, 2]], [[5, 6]]), ([[0, 0], [3, 1]], [[1, 0]]))


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_an_entry_is_a_command_that_refutes(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interp.save_transformer(interp.build(DATASET), "T.jsonl")
    for file, dataset in (("D.json", DATASET), ("wrong.json", WRONG)):
        (tmp_path / file).write_bytes(dataset_bytes(dataset))
    program, *words = HOOKS[name]["entry"].split()
    assert program == "interp"
    assert run_command([*words, "T.jsonl", "D.json"]) == 0
    assert run_command([*words, "T.jsonl", "wrong.json"]) == 10
    assert run_command(words) == 2  # args forgotten
    assert not HOOKS[name]["pass_filenames"]
    assert all(re.search(HOOKS[name]["files"], file) for file in ("T.jsonl", "a/D.json", "D.npz", "D.ts"))


@pytest.mark.slow
def test_in_a_scratch_repository(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    pytest.importorskip("pre_commit", reason="pre-commit is not installed: pip install exact-interp[lint]")
    tool, user = tmp_path / "tool", tmp_path / "user"
    ignore = shutil.ignore_patterns(".git", ".venv", "*.egg-info", "__pycache__", "build", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, tool, ignore=ignore)
    user.mkdir()
    interp.save_transformer(interp.build(DATASET), user / "T.jsonl")
    (user / "D.json").write_bytes(dataset_bytes(DATASET))
    for folder in (tool, user):
        git(folder, "init", "-q")
        commit(folder)
    revision = git(tool, "rev-parse", "HEAD").strip()
    hooks = [{"id": name, "args": ["T.jsonl", "D.json"]} for name in HOOKS]
    config = {"repos": [{"repo": str(tool), "rev": revision, "hooks": hooks}]}
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(user, "add", ".")
    passed = pre_commit(user, tmp_path, "run", "--all-files")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert passed.stdout.count("Passed") == len(HOOKS)
    (user / "D.json").write_bytes(dataset_bytes(WRONG))
    git(user, "add", ".")
    failed = pre_commit(user, tmp_path, "run")
    assert failed.returncode == 1
    assert failed.stdout.count("exit code: 10") == len(HOOKS)
    assert "1 of 2 pairs are wrong, the first is pair 0" in failed.stdout


def git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder):
    git(folder, "add", ".")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--no-verify", "-m", "all")


def pre_commit(folder, home, *arguments):
    environment = os.environ | {"PRE_COMMIT_HOME": str(home / "cache")}
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
