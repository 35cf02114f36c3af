"""Profiles and markers shared by all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# The same examples in every run, so that a run says something about the code and not about luck.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# Fresh examples and many of them: HYPOTHESIS_PROFILE=explore pytest
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False, max_examples=2000)
# Only whether a test fails, not the smallest example: HYPOTHESIS_PROFILE=mutants
settings.register_profile("mutants", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: left out unless INTERP_SLOW=1 is set or the marker is asked for with -m")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("INTERP_SLOW") == "1" or config.getoption("-m"):
        return
    skip = pytest.mark.skip(reason="slow: set INTERP_SLOW=1")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
