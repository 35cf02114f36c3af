"""The theory, compiled once per session into a temporary folder."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "proofs" / "coq"
Coqc = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def theory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the compiled theory."""
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not installed (apt-get install coq libcoq-bignums)")
    folder = tmp_path_factory.mktemp("theory")
    result = subprocess.run([str(SOURCE / "build.sh"), str(folder)], capture_output=True, text=True, timeout=600)
    if "Cannot find a physical path bound to logical path" in result.stderr and "Bignums" in result.stderr:
        pytest.skip("the Coq library Bignums is not installed (apt-get install libcoq-bignums)")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def coqc(theory: Path, tmp_path: Path) -> Coqc:
    """Runs coqc on a text."""

    def run(text: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "cert.v"
        path.write_text(text)
        command = ["coqc", "-q", "-Q", str(theory), "Interp", str(path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return run
