"""A second reader of the binary form, written from docs/reference/formats.md with numpy alone: archive in, JSON lines out."""

from __future__ import annotations

import hashlib
import io
import json
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np

FIELDS = ("eta", "W", "U", "b", "rho", "A", "V")


def json_lines(data: bytes) -> bytes:
    """The file of JSON lines that an archive stands for."""
    with np.load(io.BytesIO(data)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = arrays["header"].tobytes()
    dimension = int(json.loads(header)["dimension"])
    lines, number, chunk = [header + b"\n"], 0, 1
    while f"{chunk}/structure" in arrays:
        waiting = {name: deque(_numbers(arrays, f"{chunk}/{name}")) for name in FIELDS}
        for row in arrays[f"{chunk}/structure"].tolist():
            number += 1
            record = {"block": number} | _block(row, dimension, waiting)
            lines.append(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        if any(waiting.values()):
            raise ValueError("numbers are left over")
        chunk += 1
    body = b"".join(lines)
    end = {"end": {"blocks": number, "sha256": hashlib.sha256(body).hexdigest()}}
    return body + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def _integers(arrays: dict[str, Any], name: str) -> list[int] | None:
    if name in arrays:
        return [int(x) for x in arrays[name]]
    if f"{name}_sizes" not in arrays:
        return None
    content, values, place = arrays[f"{name}_bytes"].tobytes(), [], 0
    for size in arrays[f"{name}_sizes"].tolist():
        values.append(int.from_bytes(content[place : place + size], "little", signed=True))
        place += size
    return values


def _numbers(arrays: dict[str, Any], name: str) -> list[int | str]:
    numerators = _integers(arrays, name) or []
    denominators = _integers(arrays, f"{name}_denominators") or [1] * len(numerators)
    found: list[int | str] = []
    for p, q in zip(numerators, denominators, strict=True):
        found.append(p if q == 1 and abs(p) < 2**53 else str(Fraction(p, q)))
    return found


def _block(row: list[int], d: int, waiting: dict[str, deque[Any]]) -> dict[str, Any]:
    ff, W_outer, U_outer, width, sa, A_form, V_form = row

    def take(name: str, count: int) -> list[Any]:
        return [waiting[name].popleft() for _ in range(count)]

    def matrix(name: str, outer: int, rows: int, columns: int) -> Any:
        if outer:
            return {"outer": [take(name, rows), take(name, columns)]}
        return [take(name, columns) for _ in range(rows)]

    def square(name: str, form: int, keys: tuple[str, str, str]) -> dict[str, Any]:
        if form in (4, 5):
            return {"dense": matrix(name, form - 4, d, d)}
        record: dict[str, Any] = {keys[0]: take(name, 1)[0]} if form % 2 else {}
        return record | ({keys[1]: take(name, d), keys[2]: take(name, d)} if form >= 2 else {})

    record: dict[str, Any] = {}
    if ff:
        record["ff"] = {"eta": take("eta", 1)[0]}
    if ff == 2:
        record["ff"] |= {
            "W": matrix("W", W_outer, d, width),
            "U": matrix("U", U_outer, width, d),
            "b": take("b", width),
        }
    if sa:
        record["sa"] = {"rho": take("rho", 1)[0]}
        for name, form, keys in (("A", A_form, ("alpha", "p", "q")), ("V", V_form, ("beta", "r", "t"))):
            if form:
                record["sa"][name] = square(name, form, keys)
        record["sa"] |= {"mask": "causal"} if sa == 2 else {}
    return record
