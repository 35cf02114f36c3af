"""Untrusted. The pytest plugin of interp: fixtures that load files, and an assertion with the project's defaults.

Every pytest run loads this module, so it stands outside the package ``interp`` and imports that only when a fixture
is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from proofs.kernel.check import Verdict
    from proofs.kernel.model import Transformer
    from proofs.kernel.statement import Dataset


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options in the ini file."""
    parser.addini("interp_root", "folder of relative paths of transformers and datasets (default: the root folder)")
    parser.addini("interp_temperatures", "temperatures that assert_interpolates claims (default: 0)")
    parser.addini("interp_paranoid", "check with the kernel alone, without the fast engine", type="bool", default=False)


@pytest.fixture(scope="session")
def interp_transformer(pytestconfig: pytest.Config) -> Callable[[str | Path], Transformer]:
    """Loads a transformer file: ``interp_transformer("models/T.jsonl")``."""
    from interp.api import load_transformer

    return lambda path: load_transformer(_locate(pytestconfig, path))


@pytest.fixture(scope="session")
def interp_dataset(pytestconfig: pytest.Config) -> Callable[[str | Path], Dataset]:
    """Loads a dataset file, or ``bundled:NAME``."""
    from interp.datasets.read import load_dataset

    return lambda path: load_dataset(_locate(pytestconfig, path))


@pytest.fixture(scope="session")
def assert_interpolates(pytestconfig: pytest.Config) -> Callable[..., Verdict]:
    """``interp.testing.assert_interpolates`` with the defaults of the ini file, paths from ``interp_root``."""
    from interp.testing import assert_interpolates as check

    def check_with_defaults(transformer: Any, dataset: Any, **options: Any) -> Verdict:
        __tracebackhide__ = True
        if "attention" not in options and pytestconfig.getini("interp_temperatures"):
            options.setdefault("temperatures", pytestconfig.getini("interp_temperatures"))
        options.setdefault("paranoid", pytestconfig.getini("interp_paranoid"))
        located = [_locate(pytestconfig, x) if isinstance(x, str | Path) else x for x in (transformer, dataset)]
        return check(*located, **options)

    return check_with_defaults


def _locate(config: pytest.Config, path: str | Path) -> str | Path:
    """The path from the folder of the ini file; the name of a bundled dataset stays as it is."""
    if str(path).startswith("bundled:"):
        return path
    root: str = config.getini("interp_root")
    return config.rootpath / root / path
