"""The public Python API: load, build, save, verify, audit."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flint import fmpq

from interp.audit.audit import Audit, audit_transformer
from interp.audit.compare import find_best, rescale_for
from interp.constructions.catalogue import CAUSAL, Construction, find_construction, run_construction
from interp.constructions.causal import find_causal_violations
from interp.datasets.arrays import meets_hypotheses
from interp.datasets.doctor import find_violations
from interp.datasets.violation import Violation
from interp.transformers.encode import encode_transformer
from interp.transformers.files import write_transformer
from interp.transformers.ledger import Ledger, encode_phases
from interp.version import VERSION
from proofs.__main__ import Options, choose_passes, read_transformer
from proofs.engine.statement import ArrayDataset
from proofs.kernel.check import Progress, Verdict, check
from proofs.kernel.decode import TRANSFORMER_FORMAT, decode_transformer
from proofs.kernel.errors import InternalFault, MalformedInput, UsageError
from proofs.kernel.model import Block, Transformer, identity_feed_forward
from proofs.kernel.rational import DEFAULT_LIMITS, Limits
from proofs.kernel.statement import Dataset, parse_temperatures
from proofs.shards.check import Sharding, check_in_shards


def build(
    dataset: Dataset,
    construction: str = "hardmax",
    seed: int = 0,
    pad: bool = False,
    allow_repeats: bool = False,
    attention: str | None = None,
    minimise: str = "blocks",
    **options: Any,
) -> Transformer:
    """A transformer that interpolates the dataset; the kernel has not seen it yet: call ``verify``.

    ``pad`` appends identity blocks up to the theorem's number; ``allow_repeats`` accepts sequences with repeated
    tokens, whose copies travel together. The construction ``auto`` is the one with the fewest blocks, parameters, bits
    or the smallest norm (``minimise``) among those that hold for ``attention``. With ``norm`` the weights are rescaled,
    those of a construction that is named as well; the others have no effect on it.
    Raises: MalformedInput when the theorem's hypotheses do not hold, UsageError.
    """
    if construction == CAUSAL.name:
        if allow_repeats:
            raise UsageError("a token may not repeat under a mask", "--allow-repeats")
        raise_first(find_causal_violations(dataset))
    else:
        check_hypotheses(dataset, allow_repeats)
    if construction == "auto":
        for name, value in options.items():
            if value is not None:
                raise UsageError("an option of one construction", f"--{name.replace('_', '-')}", "not with auto")
        best = find_best(dataset, seed, attention, minimise)
        chosen, ledger = best.construction, best.ledger
    else:
        chosen = find_construction(construction)
        ledger = run_construction(chosen, dataset, seed, options)
        if minimise == "norm":
            ledger = rescale_for(chosen, ledger)
    if ledger is None:
        raise InternalFault("no construction was built")
    bound = chosen.count_blocks(dataset)
    if pad and len(ledger.blocks) < bound:
        padding = Block(identity_feed_forward(dataset.dimension))
        ledger.add("padding", "identity", [padding] * (bound - len(ledger.blocks)))
    return make_transformer(ledger, chosen, dataset, seed, options.get("temperature"))


def make_transformer(
    ledger: Ledger, construction: Construction, dataset: Dataset, seed: int, temperature: fmpq | None = None
) -> Transformer:
    """The transformer of a ledger; its header says where it comes from and what it claims."""
    reached = parse_temperatures(construction.temperatures)
    if temperature is not None:
        reached = replace(reached, upper=temperature)
    header = {
        "format": TRANSFORMER_FORMAT,
        "dimension": dataset.dimension,
        "blocks": len(ledger.blocks),
        "attention": construction.attention,
        "temperatures": str(reached),
        "construction": construction.name,
        "generator": f"exact-interp {VERSION}",
        "seed": seed,
        "dataset": dataset.digest,
        "phases": encode_phases(ledger.phases),
    }
    return Transformer(dataset.dimension, tuple(ledger.blocks), header)


def check_hypotheses(dataset: Dataset, allow_repeats: bool = False) -> None:
    """Raises MalformedInput naming the first violated hypothesis of the theorems and how many more there are."""
    if isinstance(dataset, ArrayDataset) and meets_hypotheses(dataset):
        return
    raise_first(find_violations(dataset, allow_repeats))


def raise_first(violations: list[Violation]) -> None:
    """Raises MalformedInput naming the first violation, if there is one, and how many more there are."""
    if violations:
        first = violations[0]
        more = f"; {len(violations) - 1} more: run `interp dataset check`" if len(violations) > 1 else ""
        raise MalformedInput(first.message, first.path, f"{first.fix}{more}")


def save_transformer(transformer: Transformer, path: str | Path) -> str:
    """Writes the file atomically (``.npz``: the binary form, any other suffix: JSON lines) and returns its digest.

    Raises: UsageError when the place cannot be written.
    """
    return write_transformer(transformer, Path(path))


def load_transformer(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> Transformer:
    """Reads a transformer file. Raises: MalformedInput, LimitReached."""
    return read_transformer(Path(path), limits)


def verify(
    transformer: Transformer,
    dataset: Dataset,
    *,
    attention: str | None = None,
    temperatures: str | None = None,
    max_width: int | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
    mask: str = "none",
    readout: str = "all",
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
    paranoid: bool = False,
    jobs: int = 1,
    dask: str | None = None,
    resume: str | Path | None = None,
) -> Verdict:
    """The verdict on the claim that these options and the dataset make (defaults as for ``interp verify``).

    ``mask`` is "none" or "causal", ``readout`` "all" or "last": the last m_j tokens (causal-and-heads.md).
    ``paranoid`` runs the kernel's dense pass alone, without the fast engine. ``jobs`` processes, or the workers of a
    ``dask`` scheduler, check ranges of pairs; ``resume`` is a journal of those that are done (docs/how-to/cluster.md).
    Raises: UsageError for options that make no claim, LimitReached.
    """
    claim = Options(attention, temperatures, max_width, max_blocks, max_parameters, mask, readout).claim(dataset)
    if not transformer.digest:
        data = encode_transformer(transformer)
        transformer = replace(transformer, digest="sha256:" + hashlib.sha256(data).hexdigest())
    sharding = Sharding(jobs, dask, None if resume is None else Path(resume))
    passes = choose_passes(paranoid)
    if not sharding.wanted:
        return check(dataset, transformer, claim, limits, progress, passes)
    content = encode_transformer(transformer)
    sent = decode_transformer(content, limits)
    if tuple(sent.blocks) != tuple(transformer.blocks):
        raise InternalFault("what the workers are sent is not this transformer")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "transformer.jsonl"
        file.write_bytes(content)
        witness = str(file) if dask is None else content
        verdict = check_in_shards(dataset, sent, witness, claim, sharding, limits, progress, passes)
    return replace(verdict, transformer_digest=transformer.digest)


def audit(
    transformer: Transformer,
    dataset: Dataset | None = None,
    *,
    temperatures: str | None = None,
    max_blocks: int | None = None,
    max_parameters: int | None = None,
    max_bits: int | None = None,
    max_width: int | None = None,
) -> Audit:
    """Counts per phase against the theorems' numbers for the dataset, and against explicit maxima. Proves nothing.

    ``temperatures`` is the claim that selects the theorem (hardmax by default). Raises: MalformedInput, UsageError.
    """
    claimed = parse_temperatures(temperatures) if temperatures is not None else None
    return audit_transformer(transformer, dataset, claimed, max_blocks, max_parameters, max_bits, max_width)
