"""Untrusted. How a file becomes a dataset: the options that every command which reads one understands."""

from __future__ import annotations

from dataclasses import dataclass

from proofs.kernel.errors import UsageError

TASKS = ("classification", "forecasting")
TARGETS = ("one-hot", "index")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a reading; the first three are for time series, and None is the default of the format."""

    task: str | None = None  # classification or forecasting
    horizon: int | None = None  # tokens to forecast
    targets: str | None = None  # one-hot or index
    limit: int | None = None  # first pairs only
    append_constant: bool = False
    positions: bool = False
    merge_outputs: bool = False
    merge_pairs: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for options that do not go together."""
        for name, value, choices in (("task", self.task, TASKS), ("targets", self.targets, TARGETS)):
            if value is not None and value not in choices:
                raise UsageError(f"{value!r} is not one of {', '.join(choices)}", f"--{name}")
        for name, number in (("horizon", self.horizon), ("limit", self.limit)):
            if number is not None and number < 1:
                raise UsageError(f"{number} is below 1", f"--{name}")
        if self.horizon is not None and self.task != "forecasting":
            raise UsageError("a horizon is for forecasting", "--horizon", "add --task forecasting")
        if self.targets is not None and self.task == "forecasting":
            raise UsageError("forecasting has no class targets", "--targets", "leave it out")


PLAIN = ReadOptions()
