"""Untrusted. One dataset from one file of any format. JSON and JSON lines are decoded by the kernel.

Formats: docs/reference/datasets.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from interp.datasets.bundle import resolve
from interp.datasets.draft import SIDES, Draft, check_dimension, check_structure, draft_of, json_places, line_places
from interp.datasets.fixes import apply_options
from interp.datasets.npz import read_npz, read_npz_arrays
from interp.datasets.options import PLAIN, ReadOptions
from interp.datasets.scan import scan_json
from interp.datasets.tasks import make_pairs
from interp.datasets.timeseries import read_ts
from interp.datasets.violation import Violation
from proofs.__main__ import check_kind, read_bytes, read_head
from proofs.kernel.decode import decode_dataset, is_lines
from proofs.kernel.errors import InterpError, LimitReached, MalformedInput, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset

SUFFIXES = {".json": "json", ".jsonl": "json", ".npz": "npz", ".ts": "ts"}


def load_dataset(path: Path | str, options: ReadOptions = PLAIN, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """The dataset in a file (or ``bundled:NAME``), by suffix, or by content when the suffix says nothing.

    Exactness: a decimal is the rational that is written, a double the dyadic that it is.
    Raises: MalformedInput for the first fault, LimitReached, UsageError.
    """
    with _named(path):
        if options == PLAIN and (dataset := _load_arrays(path, limits)) is not None:
            return dataset
        draft = load_draft(path, options, limits)
        try:
            return draft.to_dataset()
        except MalformedInput as fault:
            if more := len(draft.violations) - 1:
                fault.hint = "; ".join(filter(None, (fault.hint, f"{more} more: run `interp dataset check`")))
            raise


def _load_arrays(path: Path | str, limits: Limits) -> Dataset | None:
    """The dataset in a faultless archive of integers, without a Python object for every number; None for the rest."""
    file = resolve(path)
    if SUFFIXES.get(file.suffix.lower()) != "npz":
        return None
    dataset = read_npz_arrays(read_bytes(file, limits), limits)
    if dataset is not None:
        check_tokens((len(side.rows) for side in (dataset.pairs.inputs, dataset.pairs.outputs)), limits)
    return dataset


def is_kernel_format(path: Path | str, options: ReadOptions = PLAIN) -> bool:
    """Whether the kernel itself can decode the file, because it is JSON and no option changes what it says.

    Raises: MalformedInput when it is a transformer.
    """
    if options != PLAIN:
        return False
    with _named(path):
        file = resolve(path)
        try:
            head = read_head(file) if file.is_file() else b""
        except OSError:
            head = b""
        if not head:
            return False  # whoever reads the file says what is wrong
        check_kind(head, "dataset")
        return (SUFFIXES.get(file.suffix.lower()) or _find_kind(head)) == "json"


def load_draft(path: Path | str, options: ReadOptions = PLAIN, limits: Limits = DEFAULT_LIMITS) -> Draft:
    """Whatever can be read of a file, with every fault that makes it no dataset.

    Raises: MalformedInput when there is nothing to read, LimitReached, UsageError.
    """
    with _named(path):
        file = resolve(path)
        data = read_bytes(file, limits)
        check_kind(data, "dataset")
        return decode_draft(data, _find_format(file, data), options, limits)


def decode_draft(data: bytes, kind: str, options: ReadOptions = PLAIN, limits: Limits = DEFAULT_LIMITS) -> Draft:
    """The draft in the bytes of a json, npz or ts file. Raises: as load_draft."""
    if kind != "ts":
        for name in ("task", "horizon", "targets"):
            if getattr(options, name) is not None:
                raise UsageError("the option is for time series (.ts)", f"--{name}", "leave it out")
    if kind == "json":
        draft = _decode_json(data, limits)
    elif kind == "npz":
        draft = check_structure(read_npz(data, limits))
    else:
        draft = check_structure(make_pairs(read_ts(data, options.limit, limits), options))
    draft = replace(draft, pairs=draft.pairs[: options.limit])
    check_tokens((len(pair.side(side)) for pair in draft.pairs for side in SIDES), limits)
    return check_dimension(apply_options(draft, options))


def check_tokens(sizes: Iterable[int], limits: Limits) -> None:
    """Raises LimitReached for a dataset of more tokens than the limit."""
    if (total := sum(sizes)) > limits.max_tokens:
        raise LimitReached(f"{total} tokens, more than {limits.max_tokens}", hint="raise --max-tokens")


def _decode_json(data: bytes, limits: Limits) -> Draft:
    """The kernel's dataset; where the kernel refuses, what a tolerant scan finds (d = 1 is for the options to mend)."""
    try:
        return draft_of(decode_dataset(data, limits), line_places if is_lines(data) else json_places)
    except MalformedInput as fault:
        draft = check_structure(scan_json(data, limits))
        is_low = draft.dimension in (0, 1) and fault.path == draft.dimension_path
        if draft.violations or is_low:
            return draft
        return replace(draft, violations=(Violation("format", fault.path, fault.message, fault.hint),))


def _find_format(path: Path, data: bytes) -> str:
    kind = SUFFIXES.get(path.suffix.lower()) or _find_kind(data)
    if kind is None:
        raise MalformedInput("not a dataset file", hint=f"the formats are {', '.join(SUFFIXES)}")
    return kind


def _find_kind(data: bytes) -> str | None:
    """The kind of file that starts like this."""
    if data.startswith(b"PK"):
        return "npz"
    return {b"{": "json", b"#": "ts", b"@": "ts"}.get(data.lstrip()[:1])


@contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """Faults carry the file's name."""
    try:
        yield
    except InterpError as error:
        error.file = str(path)
        raise
