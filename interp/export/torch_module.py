"""A transformer of ReLU layers and hardmax or softmax attention in PyTorch. Needs torch and safetensors, nothing else.

    FF(x)   = eta x + W relu(U x + b)
    SA_i(X) = rho x_i + V (weighted mean of the x_l),  score_il = <A x_i, x_l>
    block   = SA after FF

At temperature 0 (hardmax) all x_l of largest score weigh the same, ties included; at a temperature > 0 (softmax) x_l
weighs exp(score_il / temperature). A and V are scale I + left right^T, or dense, or 0 when they are missing.
In a layer that is causal the mean of token i is over l <= i alone.

    model = load()                           # the weights beside this file, or load("weights.safetensors")
    tokens, mask = pad([x, y], model.dtype)  # x (n, d), y (m, d)
    outputs = model(tokens, mask)            # outputs[0, :n], outputs[1, :m]

Shapes: N sequences of at most n tokens of dimension d; width w. Everything here is floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor, nn


class SquareMatrix(nn.Module):
    """scale I + left right^T, or a dense d x d matrix."""

    def __init__(
        self,
        scale: Tensor | None = None,
        left: Tensor | None = None,
        right: Tensor | None = None,
        dense: Tensor | None = None,
    ) -> None:
        super().__init__()
        if dense is not None and (scale is not None or left is not None or right is not None):
            raise ValueError("dense goes with no other part")
        if (left is None) != (right is None):
            raise ValueError("left and right go together")
        for name, value in (("scale", scale), ("left", left), ("right", right), ("dense", dense)):
            self.register_parameter(name, None if value is None else nn.Parameter(value))

    def forward(self, x: Tensor) -> Tensor:
        """M x for every token, (.., d)."""
        if self.dense is not None:
            return x @ self.dense.T
        parts = []
        if self.scale is not None:
            parts.append(self.scale * x)
        if self.left is not None:
            parts.append((x @ self.right).unsqueeze(-1) * self.left)
        return sum(parts[1:], start=parts[0])

    def scores(self, x: Tensor) -> Tensor:
        """<M x_i, x_l> for all i and l, (N, n, n)."""
        if self.dense is not None:
            return (x @ self.dense.T) @ x.transpose(1, 2)
        parts = []
        if self.scale is not None:
            parts.append(self.scale * (x @ x.transpose(1, 2)))
        if self.left is not None:
            parts.append((x @ self.right).unsqueeze(2) * (x @ self.left).unsqueeze(1))
        return sum(parts[1:], start=parts[0])


class FeedForward(nn.Module):
    """eta x + W relu(U x + b); W (d, w), U (w, d), b (w,), or none of the three."""

    def __init__(self, eta: Tensor, W: Tensor | None = None, U: Tensor | None = None, b: Tensor | None = None) -> None:
        super().__init__()
        if not (W is None) == (U is None) == (b is None):
            raise ValueError("W, U and b go together")
        for name, value in (("eta", eta), ("W", W), ("U", U), ("b", b)):
            self.register_parameter(name, None if value is None else nn.Parameter(value))

    def forward(self, x: Tensor) -> Tensor:
        """Token by token, (N, n, d)."""
        if self.W is None:
            return self.eta * x
        return self.eta * x + torch.relu(x @ self.U.T + self.b) @ self.W.T


class SelfAttention(nn.Module):
    """rho x_i + V (weighted mean of the x_l); without A the mean is plain, without V nothing is added.

    ``causal`` is 1 for a mean over l <= i, 0 or None for one over all l. It is no parameter: training leaves it alone.
    """

    def __init__(
        self,
        rho: Tensor,
        A: SquareMatrix | None = None,
        V: SquareMatrix | None = None,
        causal: Tensor | None = None,
    ) -> None:
        super().__init__()
        if causal is not None and (causal.shape != () or float(causal) not in (0, 1)):
            raise ValueError("causal is 0 or 1")
        self.rho = nn.Parameter(rho)
        self.A, self.V = A, V
        self.register_buffer("causal", causal)

    def forward(self, x: Tensor, mask: Tensor, temperature: float) -> Tensor:
        """On x (N, n, d), where mask (N, n) is true for tokens and false for padding."""
        if self.V is None:
            return self.rho * x
        weights = self.weights(x, mask, temperature)
        mean = (weights @ x) / weights.sum(2, keepdim=True)
        return self.rho * x + self.V(mean)

    def weights(self, x: Tensor, mask: Tensor, temperature: float) -> Tensor:
        """Weights before they are divided by their sum: (N, n, n), or (N, 1, n) when they are the same for all i."""
        keys = self.visible(mask)
        if self.A is None:
            return keys.to(x.dtype)
        scores = self.A.scores(x).masked_fill(~keys, -torch.inf)
        best = scores.amax(2, keepdim=True)
        if temperature == 0:
            return ((scores == best) & keys).to(x.dtype)
        return torch.exp((scores - best) / temperature)

    def visible(self, mask: Tensor) -> Tensor:
        """Whether token i attends to x_l: (N, n, n), or (N, 1, n) when it is the same for all i."""
        keys = mask.unsqueeze(1)
        if self.causal is None or not bool(self.causal):
            return keys
        earlier = torch.ones(mask.shape[1], mask.shape[1], dtype=torch.bool, device=mask.device).tril()
        # Padding looks at all tokens: before the first token it would have none, and the gradient would be NaN.
        return keys & (earlier | ~mask.unsqueeze(2))


class Block(nn.Module):
    """Self-attention after feed-forward."""

    def __init__(self, feed_forward: FeedForward, attention: SelfAttention) -> None:
        super().__init__()
        self.feed_forward, self.attention = feed_forward, attention

    def forward(self, x: Tensor, mask: Tensor, temperature: float) -> Tensor:
        """On x (N, n, d); what stands in the padding is 0 before attention looks at it."""
        x = self.feed_forward(x).masked_fill(~mask.unsqueeze(2), 0)
        return self.attention(x, mask, temperature)


class Transformer(nn.Module):
    """The blocks one after the other. ``temperature`` 0 is hardmax."""

    def __init__(self, dimension: int, blocks: Sequence[Block], temperature: float = 0.0) -> None:
        super().__init__()
        if not temperature >= 0:
            raise ValueError(f"temperature {temperature}")
        self.blocks = nn.ModuleList(blocks)
        self.register_buffer("dimension", torch.tensor(dimension))
        self.register_buffer("temperature", torch.tensor(temperature, dtype=torch.float64))

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return next((weight.dtype for weight in self.parameters()), torch.float64)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """The final tokens (N, n, d) of tokens (N, n, d); mask (N, n) is false for padding, which ends as 0."""
        if tokens.ndim != 3 or tokens.shape[2] != int(self.dimension):
            raise ValueError(f"tokens have shape {tuple(tokens.shape)}, expected (N, n, {int(self.dimension)})")
        if mask is None:
            mask = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        if mask.dtype != torch.bool or mask.shape != tokens.shape[:2]:
            raise ValueError(f"mask has shape {tuple(mask.shape)}, expected {tuple(tokens.shape[:2])}, of bool")
        if not bool(mask.any(1).all()):
            raise ValueError("a sequence has no token")
        temperature = float(self.temperature)
        for block in self.blocks:
            tokens = block(tokens, mask, temperature)
        return tokens.masked_fill(~mask.unsqueeze(2), 0)


def pad(sequences: Sequence[Tensor], dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Tokens (N, n, d) filled up with 0, and the mask (N, n)."""
    tokens = nn.utils.rnn.pad_sequence([sequence.to(dtype) for sequence in sequences], batch_first=True)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return tokens, torch.arange(tokens.shape[1]) < lengths.unsqueeze(1)


def from_state(state: dict[str, Tensor]) -> Transformer:
    """The transformer of a state dict, whose names say which parts there are."""
    parts: dict[int, dict[str, Tensor]] = {}
    for name, value in state.items():
        if name not in ("dimension", "temperature"):
            _, index, part = name.split(".", 2)
            parts.setdefault(int(index), {})[part] = value
    blocks = []
    for k in range(len(parts)):
        square = {}
        for name in "AV":
            prefix = f"attention.{name}."
            found = {key.removeprefix(prefix): x for key, x in parts[k].items() if key.startswith(prefix)}
            square[name] = SquareMatrix(**found) if found else None
        layer = {name: parts[k].get(f"feed_forward.{name}") for name in "WUb"}
        feed_forward = FeedForward(parts[k]["feed_forward.eta"], **layer)
        attention = SelfAttention(parts[k]["attention.rho"], **square, causal=parts[k].get("attention.causal"))
        blocks.append(Block(feed_forward, attention))
    return Transformer(int(state["dimension"]), blocks, float(state["temperature"]))


def load(path: str | Path | None = None) -> Transformer:
    """The transformer whose weights are in a safetensors file, by default in that of this module's name beside it."""
    return from_state(safetensors.torch.load_file(path or Path(__file__).with_suffix(".safetensors")))


def save(model: Transformer, path: str | Path) -> None:
    """Writes the weights; ``interp import torch`` reads them, every float as the rational that it is."""
    safetensors.torch.save_file(model.state_dict(), path)


def random_transformer(
    dimension: int,
    num_blocks: int,
    width: int = 4,
    temperature: float = 0.0,
    dtype: torch.dtype = torch.float64,
    generator: torch.Generator | None = None,
) -> Transformer:
    """A transformer to train: A = scale I + left right^T and V = scale I with small random weights, eta = rho = 1."""

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=dtype, generator=generator) / dimension**0.5

    blocks = []
    for _ in range(num_blocks):
        eta, rho = torch.ones((), dtype=dtype), torch.ones((), dtype=dtype)
        feed_forward = FeedForward(eta, draw(dimension, width), draw(width, dimension), draw(width))
        A, V = SquareMatrix(draw(), draw(dimension), draw(dimension)), SquareMatrix(draw())
        blocks.append(Block(feed_forward, SelfAttention(rho, A, V)))
    return Transformer(dimension, blocks, temperature)
