"""Untrusted. Trains encoders on a Boolean function (needs torch) and reads the weights back exactly.

A float32 weight is a dyadic rational, so the encoder that is certified is the trained one; only its arithmetic is
exact where torch rounds. The training itself is approximate and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from interp.export.rounding import exact_rational
from interp.optional import load_optional
from proofs.boolean.check import unpack_table
from proofs.boolean.functions import parse_function
from proofs.boolean.model import MLP, Block, Encoder, Head, Norm, Vector


@dataclass(frozen=True, slots=True)
class Settings:
    """The architecture y <- LN(y' + W2 relu(W1 y' + b1) + b2), y' = y + attention, and the optimiser (AdamW)."""

    depth: int = 2
    dimension: int = 16
    heads: int = 2
    updates: int = 1500
    rate: float = 3e-3
    decay: float = 0.1
    epsilon: str = "1/100000"


@dataclass(frozen=True, slots=True)
class Trained:
    """The encoder, and how it did while training (float arithmetic)."""

    encoder: Encoder
    loss: float
    accuracy: float


def train_encoder(function: str, bits: int, settings: Settings, seed: int = 0) -> Trained:
    """Trains on all 2^N strings at once, with the logistic loss of the sign. Raises: UsageError without torch."""
    torch = load_optional("torch")
    torch.set_num_threads(1)  # the matrices are too small to share
    generator = torch.Generator().manual_seed(seed)
    weights = _initial_weights(torch, settings, bits, generator)
    strings = torch.tensor([[t >> (bits - 1 - i) & 1 for i in range(bits)] for t in range(1 << bits)])
    table = torch.from_numpy(unpack_table(parse_function(function, bits), bits))
    wanted = table.to(torch.float32) * 2 - 1
    optimiser = torch.optim.AdamW(list(weights.values()), lr=settings.rate, weight_decay=settings.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.updates)
    for _ in range(settings.updates):
        values = approx_values(torch, weights, settings, strings)
        loss = torch.nn.functional.softplus(-wanted * values).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimiser.step()
        schedule.step()
    accuracy = ((approx_values(torch, weights, settings, strings) > 0) == table).to(torch.float32).mean()
    encoder = read_back(weights, settings, bits, f"{function}, trained with seed {seed}")
    return Trained(encoder, loss.item(), accuracy.item())


def _initial_weights(torch: Any, settings: Settings, bits: int, generator: Any) -> dict[str, Any]:
    L, D, H = settings.depth, settings.dimension, settings.heads
    r, m = D // H, 2 * D
    shapes = {
        "embeddings": (3, D),
        "positions": (bits + 1, D),
        "Q": (L, H, r, D),
        "K": (L, H, r, D),
        "V": (L, H, D, D),
        "W1": (L, m, D),
        "b1": (L, m),
        "W2": (L, D, m),
        "b2": (L, D),
        "gain": (L, D),
        "bias": (L, D),
        "w": (D,),
        "omega": (),
    }
    weights = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    for name in ("Q", "K", "V", "W1", "W2", "w"):
        weights[name] /= shapes[name][-1] ** 0.5
    for name in ("b1", "b2", "bias", "omega"):
        weights[name] *= 0
    weights["gain"] = torch.ones(shapes["gain"])
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def approx_values(torch: Any, weights: dict[str, Any], settings: Settings, strings: Any) -> Any:
    """T on the rows of ``strings`` (B x N), in torch's arithmetic."""
    embedded = weights["embeddings"][strings]
    end = weights["embeddings"][2].expand(len(strings), 1, -1)
    y = torch.cat([embedded, end], dim=1) + weights["positions"]
    epsilon = float(Fraction(settings.epsilon))
    for l in range(settings.depth):
        Q, K, V = (torch.einsum("hrd,bnd->bhnr", weights[name][l], y) for name in ("Q", "K", "V"))
        alpha = torch.softmax(Q @ K.transpose(2, 3) / weights["Q"].shape[2] ** 0.5, dim=3)
        y = y + (alpha @ V).sum(dim=1)
        hidden = torch.relu(y @ weights["W1"][l].T + weights["b1"][l])
        y = y + hidden @ weights["W2"][l].T + weights["b2"][l]
        y = torch.nn.functional.layer_norm(y, y.shape[2:], weights["gain"][l], weights["bias"][l], epsilon)
    return y[:, -1] @ weights["w"] + weights["omega"]


def _vector(tensor: Any) -> Vector:
    return tuple(map(exact_rational, tensor.detach().tolist()))


def _matrix(tensor: Any) -> fmpq_mat:
    return fmpq_mat([[exact_rational(x) for x in row] for row in tensor.detach().tolist()])


def read_back(weights: dict[str, Any], settings: Settings, bits: int, comment: str) -> Encoder:
    """The encoder whose weights are exactly the floats."""
    blocks = []
    for l in range(settings.depth):
        scale = fmpq(1, weights["Q"].shape[2])
        triples = zip(*(weights[name][l] for name in ("Q", "K", "V")), strict=True)
        heads = tuple(Head(_matrix(Q), _matrix(K), _matrix(V), scale) for Q, K, V in triples)
        W1, b1, W2, b2 = (weights[name][l] for name in ("W1", "b1", "W2", "b2"))
        mlp = MLP(_matrix(W1), _vector(b1), _matrix(W2), _vector(b2), "relu", True)
        blocks.append(Block(heads, None, mlp, Norm(_vector(weights["gain"][l]), _vector(weights["bias"][l]))))
    zero, one, end = map(_vector, weights["embeddings"])
    epsilon = Fraction(settings.epsilon)
    return Encoder(
        settings.dimension,
        fmpq(epsilon.numerator, epsilon.denominator),
        (zero, one, end),
        {bits: tuple(map(_vector, weights["positions"]))},
        tuple(blocks),
        _vector(weights["w"]),
        exact_rational(float(weights["omega"].detach())),
        comment,
    )
