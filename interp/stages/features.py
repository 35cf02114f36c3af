"""Untrusted. Trained features (lemma ``codes``): four ReLUs of the tokens, added before the mean, that help codes.

Shapes: K tokens in N sequences of C classes, d dimension. Gradient descent (torch, extra ``torch``) looks for a layer
x -> x + W relu(U x + b) after whose mean some half-spaces give the classes different codes. It is rounded to
hundredths; what it is worth is decided afterwards by exact arithmetic, so nothing here can make a wrong transformer.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from interp.optional import load_optional
from interp.stages.clouds import Cloud, Floats
from interp.stages.hat import MAX_UNITS
from interp.stages.tokens import TokenState
from proofs.kernel.model import FeedForward

STEPS, RATE = 4000, 0.05
STARTS = 4  # random starts; the first that separates with margin 1 is kept
DENOMINATOR = 100
TRIED = 40  # half-spaces among which the code to be trained for is chosen


def train_features(state: TokenState, cloud: Cloud, seed: int) -> FeedForward:
    """The layer of the best start. Raises: UsageError without torch."""
    torch = load_optional("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small tensors: more threads only wait, and sums would depend on their number
    try:
        return _train(torch, state, cloud, seed)
    finally:
        torch.set_num_threads(threads)


def _train(torch: Any, state: TokenState, cloud: Cloud, seed: int) -> FeedForward:
    wanted = torch.tensor(_choose_signs(cloud))
    tokens = torch.tensor(np.array(state.numerators / state.denominator, dtype=np.float64))
    weights = state.copies / np.add.reduceat(state.copies, state.starts[:-1])[state.owner]
    owner, weight = torch.tensor(state.owner), torch.tensor(weights)[:, None]
    centre, scale = tokens.mean(0), tokens.std(0)
    scale[scale == 0] = 1
    best: tuple[float, list[Any]] = (float("inf"), [])
    for start in range(STARTS):
        loss, layer = _descend(torch, (tokens - centre) / scale, owner, weight, wanted, seed + start)
        if loss < best[0]:
            best = loss, layer
        if loss == 0:
            break
    U, b, W = (part.numpy() for part in best[1])
    # undo the scaling: u' = u / scale, b' = b - <u', centre>, w' = scale w
    rows = U / scale.numpy()
    return _round_layer(rows, b - rows @ centre.numpy(), W * scale.numpy()[:, None])


def _descend(torch: Any, tokens: Any, owner: Any, weight: Any, wanted: Any, seed: int) -> tuple[float, list[Any]]:
    """Adam on squared hinge losses; 0 means that every margin is positive."""
    generator = torch.Generator().manual_seed(seed)
    d, (size, bits) = tokens.shape[1], wanted.shape

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    U, b, W, heads = draw(MAX_UNITS, d), draw(MAX_UNITS), draw(d, MAX_UNITS), draw(bits, d)
    bias = torch.zeros(bits, dtype=torch.float64)
    parameters = [U, b, W, heads, bias]
    for parameter in parameters:
        parameter.requires_grad_(True)
    optimizer = torch.optim.Adam(parameters, lr=RATE)
    excess = None
    for _ in range(STEPS):
        moved = (tokens + torch.relu(tokens @ U.T + b) @ W.T) * weight
        means = torch.zeros(size, d, dtype=torch.float64).index_add_(0, owner, moved)
        excess = torch.relu(1 - (means @ heads.T + bias) * wanted)
        if excess.max() < 1:
            break
        optimizer.zero_grad()
        excess.square().sum().backward()
        optimizer.step()
    wrong = torch.relu(excess.detach() - 1).sum().item() if excess is not None else float("inf")
    return float(wrong), [part.detach() for part in (U, b, W)]


def _round_layer(rows: Floats, bias: Floats, columns: Floats) -> FeedForward:
    def exact(values: Floats) -> list[fmpq]:
        return [fmpq(int(x), DENOMINATOR) for x in np.rint(values * DENOMINATOR).ravel()]

    d = rows.shape[1]
    W, U = fmpq_mat(d, MAX_UNITS, exact(columns)), fmpq_mat(MAX_UNITS, d, exact(rows))
    return FeedForward(fmpq(1), W, U, fmpq_mat(MAX_UNITS, 1, exact(bias)))


def _choose_signs(cloud: Cloud) -> Floats:
    """Signs (N, R) of a code whose half-spaces least squares misses least."""
    size, classes = len(cloud.labels), range(cloud.num_classes)
    points = cloud.approx_points - cloud.approx_points.mean(axis=0)
    design = np.hstack([points, np.ones((size, 1))])
    inverse = np.linalg.pinv(design)
    scored = []
    for count in range(1, cloud.num_classes // 2 + 1):
        for inside in combinations(classes, count):
            signs = np.where(np.isin(cloud.approx_labels, inside), 1.0, -1.0)
            scored.append((float(np.maximum(0, 1 - signs * (design @ (inverse @ signs))).sum()), inside))
    scored = sorted(scored)[:TRIED]
    num_bits = min(MAX_UNITS, cloud.num_classes - 1)
    best = min(
        (
            chosen
            for chosen in combinations(scored, num_bits)
            if len({tuple(c in inside for _, inside in chosen) for c in classes}) == cloud.num_classes
        ),
        key=lambda chosen: sum(score for score, _ in chosen),
        default=tuple(scored[:num_bits]),
    )
    return np.stack([np.where(np.isin(cloud.approx_labels, inside), 1.0, -1.0) for _, inside in best], axis=1)
