"""Untrusted. Makes input and output tokens of time series.

classification   input: the whole series; output: one target token for its class
                 one-hot: e_k for the k-th label of the header (needs as many dimensions as labels)
                 index:   (k, 0, .., 0), k from 1
forecasting      input: all but the last h tokens; output: the last h (h = 1 unless a horizon is given)
"""

from __future__ import annotations

from interp.datasets.draft import Draft, DraftPair, Place, Token
from interp.datasets.options import ReadOptions
from interp.datasets.timeseries import TimeSeries
from interp.datasets.violation import Violation
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Row


def make_pairs(series: TimeSeries, options: ReadOptions) -> Draft:
    """The pairs of a task, classification unless the options say otherwise. Raises: UsageError."""
    if options.task == "forecasting":
        return _forecast(series, options.horizon or 1)
    return _classify(series, options.targets)


def _classify(series: TimeSeries, kind: str | None) -> Draft:
    labels, dimension = series.labels, series.dimension
    if series.cases and not labels:
        raise UsageError("the file has no class labels", "--task", "say --task forecasting")
    targets: dict[str, Token] = {}
    if dimension is not None:
        one_hot = len(labels) <= dimension if kind is None else kind == "one-hot"
        if one_hot and len(labels) > dimension:
            message = f"{len(labels)} classes do not fit into {dimension} dimensions"
            raise UsageError(message, "--targets", "say --targets index")
        targets = {label: _target(k, dimension, one_hot) for k, label in enumerate(labels)}
    pairs = (
        DraftPair(case.tokens, (targets.get(case.label),), _class_places(case.line, len(case.tokens)))
        for case in series.cases
    )
    return Draft(dimension, tuple(pairs), series.violations, series.dimension_path)


def _target(k: int, dimension: int, one_hot: bool) -> Row:
    """The row of the target of the k-th class, k from 0."""
    values = [0] * dimension
    if one_hot:
        values[k] = 1
    else:
        values[0] = k + 1
    return (*values, 1)


def _class_places(line: int, length: int) -> Place:
    return lambda side, i: f"line {line}: class label" if side == "output" else _input_place(line, length, i)


def _input_place(line: int, length: int, token: int | None) -> str:
    return f"line {line}: tokens 1-{length}" if token is None else f"line {line}: token {token + 1}"


def _forecast(series: TimeSeries, horizon: int) -> Draft:
    found, pairs = list(series.violations), []
    for case in series.cases:
        length = len(case.tokens) - horizon
        if length < 1:
            message = f"a series of length {len(case.tokens)} leaves no input at horizon {horizon}"
            found.append(Violation("length", f"line {case.line}", message, "lower --horizon"))
            continue
        pairs.append(
            DraftPair(case.tokens[:length], case.tokens[length:], _forecast_places(case.line, length, horizon))
        )
    return Draft(series.dimension, tuple(pairs), tuple(found), series.dimension_path)


def _forecast_places(line: int, length: int, horizon: int) -> Place:
    def place(side: str, token: int | None) -> str:
        if side == "input":
            return _input_place(line, length, token)
        if token is None:
            return f"line {line}: tokens {length + 1}-{length + horizon}"
        return f"line {line}: token {length + token + 1}"

    return place
