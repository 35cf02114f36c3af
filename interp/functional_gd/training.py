"""Untrusted. Trains transformers on random tasks (needs torch) and compares what they learn with the theorems' family.

By theorems 1 and 2, B_l = b_l Sigma^(-1/2), C_l = c_l Sigma^(-1/2), A_l = a_l I is a stationary family for covariates
Sigma^(1/2) xi with rotation-invariant xi. Only B_l^T C_l acts, so after training from random matrices we measure how
far Sigma^(1/2) B_l^T C_l Sigma^(1/2) and A_l are from multiples of I. Everything here is approximate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from interp.optional import load_optional


@dataclass(frozen=True, slots=True)
class Training:
    """One training run: relative distances, one a layer, between 0 (a multiple of I) and 1."""

    activation: str
    layers: int
    first_loss: float
    last_loss: float
    start_distance: float  # of Sigma^(1/2) B^T C Sigma^(1/2), mean over the layers, before training
    score_distances: tuple[float, ...]
    value_distances: tuple[float, ...]  # of A_l, 0 where A_l = 0
    rhos: tuple[float, ...]


def approx_forward(torch: Any, activation: str, X: Any, labels: Any, weights: dict[str, Any]) -> Any:
    """Predictions for tasks x (n+1) x d covariates and tasks x n labels."""
    n = X.shape[1] - 1
    row = torch.cat([labels, torch.zeros_like(labels[:, :1])], dim=1)
    for A, B, C, rho in zip(*(weights[name] for name in ("A", "B", "C", "rho")), strict=True):
        scores = (X[:, :n] @ B.T) @ (X @ C.T).transpose(1, 2)  # keys i < n only: the mask
        if activation == "linear":
            H = scores
        elif activation == "relu":
            H = torch.relu(scores)
        elif activation == "exp":
            H = torch.exp(scores)
        else:
            H = torch.softmax(scores, dim=1)
        row = row + rho * torch.einsum("ti,tij->tj", row[:, :n], H)
        X = X + H.transpose(1, 2) @ (X[:, :n] @ A.T)
    return -row[:, -1]


def draw_batch(torch: Any, data: str, root: Any, size: int, num_points: int, generator: Any) -> tuple[Any, Any]:
    """Covariates Sigma^(1/2) xi with xi on the unit sphere, and labels with covariance K of the xi."""
    raw = torch.randn(size, num_points + 1, len(root), generator=generator, dtype=torch.float64)
    xi = raw / raw.norm(dim=2, keepdim=True)
    scores = xi @ xi.transpose(1, 2)
    gram = {"linear": scores, "relu": torch.relu(scores), "exp": torch.exp(scores)}[data]
    values, vectors = torch.linalg.eigh(gram)
    noise = torch.randn(size, num_points + 1, 1, generator=generator, dtype=torch.float64)
    draws = vectors @ (values.clamp(min=0).sqrt()[..., None] * (vectors.transpose(1, 2) @ noise))
    return xi @ root, draws[..., 0]


def train(
    data: str,
    activation: str,
    layers: int,
    train_values: bool,
    updates: int = 1000,
    dimension: int = 5,
    num_points: int = 14,
    batch: int = 128,
    seed: int = 0,
) -> Training:
    """Adam on the mean squared loss from random matrices; ``train_values`` also trains the A_l (theorem 2)."""
    torch = load_optional("torch")
    generator = torch.Generator().manual_seed(seed)

    def random(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    directions, _ = torch.linalg.qr(random(dimension, dimension))
    scales = torch.tensor([1.0, 1.0, 0.5, 1.5, 1.0][:dimension], dtype=torch.float64)
    root = directions @ torch.diag(scales) @ directions.T
    weights = {
        "A": 0.01 * random(layers, dimension, dimension) * float(train_values),
        "B": random(layers, dimension, dimension) / math.sqrt(dimension),
        "C": random(layers, dimension, dimension) / math.sqrt(dimension),
        "rho": -0.05 * torch.ones(layers, dtype=torch.float64),
    }
    trained = [name for name in weights if name != "A" or train_values]
    for name in trained:
        weights[name].requires_grad_(True)
    start = _score_distances(torch, weights, root)
    optimiser = torch.optim.Adam([weights[name] for name in trained], lr=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, updates)
    losses = []
    for _ in range(updates):
        X, Y = draw_batch(torch, data, root, batch, num_points, generator)
        loss = ((approx_forward(torch, activation, X, Y[:, :-1], weights) - Y[:, -1]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weights[name] for name in trained], 1.0)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
    tail = losses[-max(1, updates // 20) :]
    return Training(
        activation,
        layers,
        losses[0],
        sum(tail) / len(tail),
        sum(start) / layers,
        _score_distances(torch, weights, root),
        tuple(approx_distance(torch, A) for A in weights["A"].detach()),
        tuple(weights["rho"].detach().tolist()),
    )


def _score_distances(torch: Any, weights: dict[str, Any], root: Any) -> tuple[float, ...]:
    products = zip(weights["B"].detach(), weights["C"].detach(), strict=True)
    return tuple(approx_distance(torch, root @ B.T @ C @ root) for B, C in products)


def approx_distance(torch: Any, matrix: Any) -> float:
    """min over alpha of |M - alpha I| / |M| in the Frobenius norm; 0 for M = 0."""
    size = float(matrix.norm())
    alpha = float(matrix.trace()) / len(matrix)
    identity = torch.eye(len(matrix), dtype=matrix.dtype)
    return float((matrix - alpha * identity).norm()) / size if size else 0.0
