"""What is measured: datasets, and transformers built for them, in memory and as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interp.api import check_hypotheses, make_transformer, save_transformer
from interp.constructions.catalogue import find_construction, run_construction
from interp.datasets.npz import encode_dataset_npz
from interp.datasets.read import load_dataset
from proofs.__main__ import read_transformer
from proofs.engine.packed import PackedTransformer
from proofs.engine.passes import ENGINE
from proofs.engine.statement import ArrayDataset, ArrayPairs, Side, pack_dataset
from proofs.kernel.check import check
from proofs.kernel.errors import Status
from proofs.kernel.rational import DEFAULT_LIMITS
from proofs.kernel.statement import Dataset, make_claim
from tests.bench.measure import best

LARGEST = 1000  # of the absolute values of coordinates


def synthetic(N: int, n: int, d: int, m: int) -> ArrayDataset:
    """N sequences of n random tokens, m targets each; no token is shared."""
    rng = np.random.default_rng(N)
    sides = (Side.from_arrays(rng.integers(-LARGEST, LARGEST, (N * k, d)), None, np.full(N, k)) for k in (n, m))
    return ArrayDataset(d, ArrayPairs(*sides))


def vocabulary(N: int, n: int, d: int, m: int) -> ArrayDataset:
    """The same with tokens from a vocabulary of n sqrt(N): most are shared, so that sequences must be separated."""
    rng = np.random.default_rng(N)
    words = rng.integers(-LARGEST, LARGEST, (int(n * N**0.5), d))
    inputs = np.concatenate([words[rng.choice(len(words), n, replace=False)] for _ in range(N)])
    targets = Side.from_arrays(rng.integers(-LARGEST, LARGEST, (N * m, d)), None, np.full(N, m))
    return ArrayDataset(d, ArrayPairs(Side.from_arrays(inputs, None, np.full(N, n)), targets))


@dataclass
class Prepared:
    """A dataset with its transformer, and the seconds of the build and of finding steps and counts."""

    dataset: Dataset
    transformer: PackedTransformer
    data: Path
    witness: Path
    binary: Path
    build: float
    prepare: float

    def check(self, temperatures: str = "0") -> None:
        """Claim, budgets, forward pass, comparison, verdict. Raises: SystemExit unless verified."""
        claim = make_claim(self.dataset, temperatures=temperatures, max_blocks=len(self.transformer.blocks))
        verdict = check(self.dataset, self.transformer, claim, passes=ENGINE)
        if verdict.status is not Status.VERIFIED:
            raise SystemExit(str(verdict.failed))


def prepare(dataset: Dataset, folder: str, construction: str = "hardmax") -> Prepared:
    """Builds, writes the files and reads them back."""
    data, witness, binary = (Path(folder) / name for name in ("D.npz", "T.jsonl", "T.npz"))
    data.write_bytes(encode_dataset_npz(dataset))
    found = find_construction(construction)

    def build() -> None:
        check_hypotheses(dataset)
        transformer = make_transformer(run_construction(found, dataset, 0, {}), found, dataset, 0)
        save_transformer(transformer, witness)
        save_transformer(transformer, binary)

    seconds = best(build, 1)
    read = read_transformer(witness, DEFAULT_LIMITS)
    packed = PackedTransformer(read.dimension, tuple(read.blocks), read.header, read.digest)
    ready = best(lambda: (packed.program, packed.counts), 1)
    prepared = Prepared(pack_dataset(load_dataset(data)), packed, data, witness, binary, seconds, ready)
    prepared.dataset.digest  # noqa: B018 - what identifies the data belongs to reading them
    return prepared
