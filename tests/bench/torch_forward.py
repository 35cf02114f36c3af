"""The same transformer in floating point: float64 PyTorch, batched and padded, no Python loop over tokens.

``python -m tests.bench.torch_forward DATA.npz T.jsonl`` is the whole process: import, reading, one forward pass. Attention
is skipped where V = 0 and is a mean where A = 0. Nothing is proved here; it is what the exact check is compared with.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch


def number(value: Any) -> float:
    numerator, _, denominator = str(value).partition("/")
    return float(numerator) / float(denominator) if denominator else float(numerator)


def matrix(value: Any) -> torch.Tensor:
    if isinstance(value, dict):
        column, row = (torch.tensor([number(x) for x in part], dtype=torch.float64) for part in value["outer"])
        return torch.outer(column, row)
    return torch.tensor([[number(x) for x in row] for row in value], dtype=torch.float64)


def square(value: dict[str, Any], names: tuple[str, str, str], d: int) -> torch.Tensor:
    if "dense" in value:
        return matrix(value["dense"])
    result = number(value.get(names[0], 0)) * torch.eye(d, dtype=torch.float64)
    return result + matrix({"outer": [value[names[1]], value[names[2]]]}) if names[1] in value else result


def read_transformer(data: bytes) -> list[dict[str, Any]]:
    """Blocks as tensors."""
    lines = data.splitlines()
    d = int(json.loads(lines[0])["dimension"])
    blocks = []
    for line in lines[1:-1]:
        record = json.loads(line)
        block: dict[str, Any] = {}
        if "ff" in record:
            block["eta"] = number(record["ff"]["eta"])
            if "W" in record["ff"]:
                b = torch.tensor([number(x) for x in record["ff"]["b"]], dtype=torch.float64)
                block |= {
                    "W": matrix(record["ff"]["W"]).T.contiguous(),
                    "U": matrix(record["ff"]["U"]).T.contiguous(),
                    "b": b,
                }
        if "sa" in record:
            block["rho"] = number(record["sa"]["rho"])
            A = square(record["sa"].get("A", {}), ("alpha", "p", "q"), d)
            V = square(record["sa"].get("V", {}), ("beta", "r", "t"), d)
            block["V"] = V.T.contiguous() if bool((V != 0).any()) else None
            block["A"] = A.T.contiguous() if bool((A != 0).any()) else None
        blocks.append(block)
    return blocks


def pad(inputs: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (N, n, d) and which of them are real (N, n)."""
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]
    tokens = np.zeros((*mask.shape, inputs.shape[1]))
    tokens[mask] = inputs
    return torch.from_numpy(tokens), torch.from_numpy(mask)


@torch.inference_mode()
def forward(blocks: list[dict[str, Any]], tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The tokens after all blocks."""
    shape = tokens.shape
    x = tokens.clone().view(-1, shape[2])
    inside = mask[:, :, None].to(torch.float64)
    for block in blocks:
        if "W" in block:
            hidden = torch.addmm(block["b"], x, block["U"]).relu_()
            x.addmm_(hidden, block["W"], beta=block["eta"])
        elif "eta" in block:
            x *= block["eta"]
        if "rho" in block and block["V"] is None:
            x = x * block["rho"] if block["rho"] != 1 else x
        elif "rho" in block:
            y = x.view(shape)
            if block["A"] is None:
                mean = (y * inside).sum(1, keepdim=True) / inside.sum(1, keepdim=True)
            else:
                scores = (y @ block["A"]) @ y.transpose(1, 2)
                scores.masked_fill_(~mask[:, None, :], -torch.inf)
                best = (scores == scores.amax(2, keepdim=True)).to(torch.float64)
                mean = (best @ y) / best.sum(2, keepdim=True)
            x = (block["rho"] * y + mean @ block["V"]).reshape(-1, shape[2])
    return x.view(shape)


def main(data: str | None = None, witness: str = "") -> None:
    """Reads both and runs once; without files it only starts."""
    torch.set_num_threads(1)
    if data is None:
        return
    with np.load(data) as arrays:
        inputs = arrays["inputs"].astype(np.float64)
        if "input_denominators" in arrays:
            inputs /= arrays["input_denominators"][:, None]
        tokens, mask = pad(inputs, arrays["input_lengths"])
    print(forward(read_transformer(Path(witness).read_bytes()), tokens, mask).sum().item())


if __name__ == "__main__":
    main(*sys.argv[1:])
