"""Untrusted. The hypotheses of the theorems on a dataset of arrays, all at once (docs/reference/datasets.md)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from proofs.engine.integers import segment_reduce
from proofs.engine.statement import ArrayDataset


def meets_hypotheses(dataset: ArrayDataset) -> bool:
    """Whether nothing is wrong. (False also when telling takes more than this: then all pairs must be looked at.)

    Tokens of a sequence and of an output are distinct, m_j <= n_j, and the inputs differ: their coordinatewise maxima,
    or the sets where those agree.
    """
    inputs, outputs = dataset.pairs.inputs, dataset.pairs.outputs
    if inputs.has_repeats or outputs.has_repeats or (np.diff(outputs.starts) > np.diff(inputs.starts)).any():
        return False
    corners = segment_reduce(np.maximum, inputs.rows, inputs.starts)
    keys = inputs.keys()
    unique, place, shared = np.unique(corners, axis=0, return_inverse=True, return_counts=True)
    if len(unique) == len(corners):
        return True
    doubtful = np.flatnonzero(shared[place.ravel()] > 1).tolist()
    cuts = list(pairwise(inputs.starts.tolist()))
    return len({frozenset(keys[slice(*cuts[j])]) for j in doubtful}) == len(doubtful)
