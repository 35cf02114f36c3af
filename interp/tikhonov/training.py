"""Untrusted, approximate. Trains the architecture of ``model`` in double precision with torch.

The penalty eps |theta|^2 is part of the objective. That is what weight_decay = 2 eps means in torch's SGD and Adam
(gradient + weight_decay * theta); AdamW's decoupled decay minimises something else and is not used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from interp.optional import load_optional
from interp.tikhonov.model import Architecture, Weights
from proofs.kernel.errors import UsageError
from proofs.kernel.rational import Row
from proofs.kernel.statement import Dataset

Announce = Callable[[int], None]  # epochs done


@dataclass(frozen=True)
class Schedule:
    """How a run is made. Same seed, options, torch and machine: same weights."""

    epochs: int = 2000
    learning_rate: float = 0.01
    seed: int = 0
    continuation: bool = False  # start at the best weights of the next larger eps with the same seed


@dataclass(frozen=True, slots=True)
class Run:
    """One training run, approximate numbers throughout; the weights are those of the epoch with the smallest J."""

    eps: float
    seed: int
    losses: tuple[float, ...]  # one an epoch, before its step; the last is after the last step
    squares: tuple[float, ...]  # |theta|^2
    best_epoch: int
    gradient_norm: float  # |grad J| at the best epoch, for one choice of subgradient
    weights: Weights

    @property
    def objectives(self) -> list[float]:
        """J, one an epoch."""
        return [loss + self.eps * size for loss, size in zip(self.losses, self.squares, strict=True)]


@dataclass(frozen=True)
class Batch:
    """All pairs, padded: X (N, n, d) and Y (N, m, d) doubles, masks (N, n) and (N, m) of what is there."""

    X: Any
    X_mask: Any
    Y: Any
    Y_mask: Any


def make_batch(torch: Any, dataset: Dataset) -> Batch:
    """The tensors of a dataset, numbers rounded to doubles. Raises: UsageError for numbers beyond them."""
    X, X_mask = _pad(torch, [pair.input for pair in dataset.pairs])
    Y, Y_mask = _pad(torch, [pair.output for pair in dataset.pairs])
    return Batch(X, X_mask, Y, Y_mask)


def _pad(torch: Any, sequences: Sequence[Sequence[Row]]) -> tuple[Any, Any]:
    longest, d = max(map(len, sequences)), len(sequences[0][0]) - 1
    tokens = torch.zeros(len(sequences), longest, d, dtype=torch.float64)
    mask = torch.zeros(len(sequences), longest, dtype=torch.bool)
    for j, rows in enumerate(sequences):
        try:
            tokens[j, : len(rows)] = torch.tensor(
                [[x / row[-1] for x in row[:-1]] for row in rows], dtype=torch.float64
            )
        except OverflowError as error:
            raise UsageError(f"pair {j}: a token beyond the range of doubles", hint="rescale the data") from error
        mask[j, : len(rows)] = True
    return tokens, mask


def approx_forward(torch: Any, theta: dict[str, Any], X: Any, mask: Any, temperature: float) -> Any:
    """The tokens (N, n, d) after all blocks; what the mask (N, n) leaves out is not attended to."""
    away = torch.zeros_like(mask, dtype=X.dtype).masked_fill(~mask, -torch.inf)[:, None, :]
    for eta, W, U, b, rho, A, V in zip(
        *(theta[n].unbind(0) for n in ("eta", "W", "U", "b", "rho", "A", "V")), strict=True
    ):
        X = eta * X + torch.relu(X @ U.T + b) @ W.T
        scores = (X @ A.T) @ X.transpose(1, 2) / temperature
        X = rho * X + torch.softmax(scores + away, dim=2) @ X @ V.T
    return X


def approx_loss(torch: Any, outputs: Any, batch: Batch) -> Any:
    """The mean over the pairs of the squared Hausdorff distance of tokens and targets."""
    distances = ((outputs[:, :, None, :] - batch.Y[:, None, :, :]) ** 2).sum(3)
    far = torch.inf
    to_target = distances.masked_fill(~batch.Y_mask[:, None, :], far).amin(2).masked_fill(~batch.X_mask, 0)
    to_token = distances.masked_fill(~batch.X_mask[:, :, None], far).amin(1).masked_fill(~batch.Y_mask, 0)
    return torch.maximum(to_target.amax(1), to_token.amax(1)).mean()


def draw_weights(torch: Any, architecture: Architecture, seed: int) -> dict[str, Any]:
    """Where training starts: eta = rho = 1, all else uniform in +- 1 / sqrt(number of inputs)."""
    generator = torch.Generator().manual_seed(seed)
    theta = {}
    for name, shape in architecture.shapes().items():
        inputs = architecture.width if name == "W" else architecture.dimension
        drawn = 2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1
        theta[name] = torch.ones_like(drawn) if name in ("eta", "rho") else drawn / math.sqrt(inputs)
    return theta


def train(
    dataset: Dataset,
    architecture: Architecture,
    eps: float,
    schedule: Schedule,
    announce: Announce = lambda epoch: None,
    start: Weights | None = None,
) -> Run:
    """One run of Adam on J, all pairs at once, with a learning rate that falls to 0 along a cosine.

    It starts at random weights of the seed, or at ``start``.
    Raises: UsageError without torch, when numbers are out of range, or when J is no number from the start.
    """
    torch = load_optional("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in one order, whatever the machine
    try:
        if start is None:
            theta = draw_weights(torch, architecture, schedule.seed)
        else:
            theta = {name: torch.tensor(start[name], dtype=torch.float64) for name in architecture.shapes()}
        return _train(torch, make_batch(torch, dataset), theta, architecture, eps, schedule, announce)
    finally:
        torch.set_num_threads(threads)


def _train(
    torch: Any,
    batch: Batch,
    theta: dict[str, Any],
    architecture: Architecture,
    eps: float,
    schedule: Schedule,
    announce: Announce,
) -> Run:
    parameters = [theta[name].requires_grad_(True) for name in theta]
    temperature = int(architecture.temperature.p) / int(architecture.temperature.q)
    optimiser = torch.optim.Adam(parameters, lr=schedule.learning_rate)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(schedule.epochs, 1))
    losses, squares = [], []
    best, best_epoch, gradient_norm = math.inf, -1, math.nan
    weights: Weights = {}
    for epoch in range(schedule.epochs + 1):
        outputs = approx_forward(torch, theta, batch.X, batch.X_mask, temperature)
        loss = approx_loss(torch, outputs, batch)
        size = sum((parameter**2).sum() for parameter in parameters)
        objective = loss + eps * size
        optimiser.zero_grad()
        objective.backward()
        losses.append(float(loss.detach()))
        squares.append(float(size.detach()))
        if losses[-1] + eps * squares[-1] < best:
            best, best_epoch = losses[-1] + eps * squares[-1], epoch
            gradient_norm = math.sqrt(sum(float((parameter.grad**2).sum()) for parameter in parameters))
            weights = {name: theta[name].detach().tolist() for name in theta}
        if epoch < schedule.epochs:
            optimiser.step()
            cosine.step()
        announce(epoch)
    if not weights:
        raise UsageError("J is not a finite number at any epoch", hint="rescale the data or lower --learning-rate")
    return Run(eps, schedule.seed, tuple(losses), tuple(squares), best_epoch, gradient_norm, weights)
