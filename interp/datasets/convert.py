"""Untrusted. From one file format to another without loss.

Formats: docs/reference/datasets.md.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from interp.datasets.encode import encode_dataset_json, encode_dataset_lines
from interp.datasets.npz import encode_dataset_npz
from interp.datasets.options import PLAIN, ReadOptions
from interp.datasets.read import SUFFIXES, decode_draft, load_dataset
from interp.files.write import refuse_to_replace, write_file
from proofs.kernel.errors import InternalFault, UsageError
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset

ENCODERS: dict[str, Callable[[Dataset], bytes]] = {
    ".json": encode_dataset_json,
    ".jsonl": encode_dataset_lines,
    ".npz": encode_dataset_npz,
}


def convert_dataset(
    source: Path | str, target: Path, options: ReadOptions = PLAIN, limits: Limits = DEFAULT_LIMITS
) -> Dataset:
    """Writes the dataset in ``source`` to ``target``, in the format of its suffix, and returns it.

    The bytes are read back first: unless they hold the same dataset nothing is written.
    Raises: MalformedInput, LimitReached, UsageError.
    """
    suffix = target.suffix.lower()
    if suffix not in ENCODERS:
        raise UsageError(f"no writer for {suffix!r}", hint=f"write {', '.join(ENCODERS)}", file=str(target))
    refuse_to_replace(target, Path(source))
    dataset = load_dataset(source, options, limits)
    data = ENCODERS[suffix](dataset)
    if decode_draft(data, SUFFIXES[suffix], PLAIN, limits).to_dataset().digest != dataset.digest:
        raise InternalFault("the encoded dataset is another one", hint="a defect of the program: please report it")
    write_file(target, data)
    return dataset
