"""Untrusted. ``interp import``: weights of other programs as an exact transformer file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path

import click

from interp.api import save_transformer
from interp.cli.output import Decorator, json_option, limit_options, output_option, pack_options, print_result
from interp.cli.progress import progress_options, step_spinner
from interp.cli.sections import SentenceGroup
from interp.export.safetensors_file import decode_exact
from interp.export.state import ExactState
from interp.files.write import write_file
from interp.imports.transformer import HeaderOptions, import_transformer
from interp.imports.weights import decode_npz, decode_safetensors
from proofs.__main__ import read_bytes
from proofs.kernel.counts import count_transformer
from proofs.kernel.errors import InterpError
from proofs.kernel.rational import Limits

header_options = pack_options(
    HeaderOptions,
    "header",
    click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: what the temperature says."),
    click.option("--temperatures", help="What the header claims. Default: the temperature in FILE, or 0."),
)


@click.group(name="import", cls=SentenceGroup)
def import_() -> None:
    """Exact transformers from the float weights of other programs; no weight is rounded, nothing is unpickled."""


def import_command(*further: Decorator) -> Decorator:
    """A command of the group that reads FILE and writes a transformer, with further options."""
    parts = [
        import_.command(),
        click.argument("file", type=click.Path(path_type=Path)),
        output_option("The transformer file to write."),
        *further,
        limit_options,
        json_option,
        progress_options,
    ]
    return lambda command: reduce(lambda wrapped, part: part(wrapped), reversed(parts), command)


@import_command(header_options)
def torch(file: Path, output: Path, header: HeaderOptions, limits: Limits, as_json: bool) -> None:
    """From a PyTorch state dict in safetensors FILE, with the names that `interp export --to torch` writes."""
    _import(file, output, header, decode_safetensors, limits, as_json)


@import_command(header_options)
def numpy(file: Path, output: Path, header: HeaderOptions, limits: Limits, as_json: bool) -> None:
    """From arrays in an .npz FILE, with the names that `interp export --to numpy` writes."""
    _import(file, output, header, partial(decode_npz, limits=limits), limits, as_json)


@import_command()
def safetensors(file: Path, output: Path, limits: Limits, as_json: bool) -> None:
    """The exact numbers that `interp export --to safetensors` put into FILE: the very file that was exported.

    The floats beside them must be their roundings; if they were changed, FILE is refused.
    """
    data = read_bytes(file, limits)
    try:
        exact = decode_exact(data, limits)
    except InterpError as error:
        error.file = str(file)
        raise
    write_file(output, exact)
    digest = "sha256:" + hashlib.sha256(exact).hexdigest()
    print_result(f"{output}: the exported file\n  {digest}", {"output": str(output), "digest": digest}, as_json)


def _import(
    file: Path,
    output: Path,
    header: HeaderOptions,
    decode: Callable[[bytes], ExactState],
    limits: Limits,
    as_json: bool,
) -> None:
    data = read_bytes(file, limits)
    try:
        with step_spinner("import") as announce:
            announce(file.name)
            transformer = import_transformer(decode(data), header, limits)
    except InterpError as error:
        error.file = str(file)
        raise
    digest = save_transformer(transformer, output)
    counts = count_transformer(transformer)
    size = f"{counts.blocks} blocks, width {counts.width}, {counts.parameters} parameters, {counts.max_bits} bits"
    claimed = transformer.header["temperatures"]
    words = "" if claimed == "0" else f' --temperatures "{claimed}"'
    check = words + (" --mask causal" if counts.masked and not counts.unmasked else "")
    text = (
        f"{output}: {size}, every weight exact\n  {digest}\n  not verified: interp verify {output} DATA{check}; "
        f"how far off: interp distance {output} DATA{words}"
    )
    record = {"output": str(output), "digest": digest, "blocks": counts.blocks, "parameters": counts.parameters}
    print_result(text, record | {"max_bits": counts.max_bits, "width": counts.width}, as_json)
