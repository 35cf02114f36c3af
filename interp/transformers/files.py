"""Untrusted. Transformer files by suffix: ``.npz`` is the binary form, every other name JSON lines."""

from __future__ import annotations

from pathlib import Path

from interp.files.write import refuse_to_replace, replace_file
from interp.transformers.arrays import write_arrays
from interp.transformers.encode import make_header, write_lines
from interp.transformers.ledger import Phase, decode_phases
from proofs.__main__ import read_transformer
from proofs.kernel.decode import decode_json
from proofs.kernel.errors import InternalFault, InterpError
from proofs.kernel.model import Transformer
from proofs.kernel.rational import DEFAULT_LIMITS, Limits

MAX_HEADER = 1_000_000  # bytes of a first line that is looked at


def write_transformer(transformer: Transformer, path: Path, read_back: Limits | None = None) -> str:
    """Writes the file whole or not at all, block by block, and returns its digest, the same for both forms.

    With ``read_back`` the file is read before it is put in place, and must have that digest.
    Raises: UsageError when the place cannot be written.
    """
    write = write_arrays if path.suffix.lower() == ".npz" else write_lines
    digest = ""

    def check(temporary: Path) -> None:
        if read_back is not None and read_transformer(temporary, read_back).digest != digest:
            raise InternalFault("the encoded transformer is another one", hint="a defect of the program: report it")

    with replace_file(path, check) as stream:
        digest = write(stream, make_header(transformer), transformer.blocks)
    return digest


def convert_transformer(source: Path, target: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Transformer, str]:
    """Writes the transformer in ``source`` to ``target`` in the form of its suffix; returns it and the new digest.

    Raises: MalformedInput, LimitReached, UsageError.
    """
    refuse_to_replace(target, source)
    transformer = read_transformer(source, limits)
    return transformer, write_transformer(transformer, target, limits)


def peek_phases(path: Path) -> list[Phase]:
    """The ledger in the header of a JSON lines file, [] for all else: names to show while the file is checked."""
    try:
        if not path.is_file():
            return []
        with path.open("rb") as stream:
            return decode_phases(decode_json(stream.readline(MAX_HEADER), ""))
    except (InterpError, OSError, AttributeError):
        return []
