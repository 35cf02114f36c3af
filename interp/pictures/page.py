"""Untrusted. The page of ``interp report``: one file that opens without a network.

A policy in the page lets nothing run but the two scripts whose digests it names, and forbids every request: text that
escaped from its place could do nothing. Size: plotly.js (under 5 MB) and at most ``MAX_NUMBERS`` positions of four
bytes; every other part is bounded too, and 12 MB are never exceeded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from interp.audit.audit import Audit
from interp.audit.explain import Finding
from interp.optional import load_optional
from interp.pictures import fragments
from interp.pictures.axes import Axis, bound_axes
from interp.pictures.colours import PALETTE
from interp.pictures.motion import MAX_BLOCKS, MAX_LAYERS, MAX_TOKENS, Frame, Motion
from interp.transformers.ledger import printable
from proofs.guard import Answer
from proofs.kernel.counts import count_block
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Claim, Dataset

MAX_NUMBERS = 600_000
MAX_BARS = 1000


@dataclass(frozen=True)
class Subject:
    """What a page is about."""

    transformer_name: str
    data_name: str
    command: str  # that checks again
    transformer: Transformer
    dataset: Dataset
    claim: Claim
    answer: Answer  # of the checker
    audit: Audit
    findings: Sequence[Finding]
    explained: str  # what the findings are, or why there are none


def load_plotly() -> str:
    """plotly.js as text. Raises: UsageError without plotly."""
    text: str = load_optional("plotly.offline", "exact-interp[report]").get_plotlyjs()
    return text.replace("\r\n", "\n").replace("\r", "\n")


def bound_tokens(transformer: Transformer) -> int:
    """How many tokens fit into a page."""
    frames = min(len(transformer.blocks), MAX_BLOCKS) + 1 + MAX_LAYERS
    return max(1, min(MAX_TOKENS, MAX_NUMBERS // (frames * bound_axes(transformer))))


def render_page(subject: Subject, motion: Motion, axes: Sequence[Axis], plotly: str) -> bytes:
    """The page, in UTF-8."""
    style, script, template = (_asset(f"page.{suffix}") for suffix in ("css", "js", "html"))
    audit = subject.audit
    last = _last_choice(motion)
    record = _make_data(subject, motion, axes)
    text = Template(template).substitute(
        policy=_policy(plotly, script),
        title=fragments.escape(f"{subject.transformer_name} on {subject.data_name}"),
        style=style,
        verdict=fragments.render_verdict(
            subject.answer, subject.claim, subject.transformer_name, subject.data_name, subject.command
        ),
        failure=fragments.render_failure(subject.answer, subject.findings, subject.explained),
        notes=fragments.render_notes(motion.notes),
        leaders="in some layer that is not uniform (here: none)" if last is None else f"in block {last.block}",
        positions=_explain_positions(motion),
        strip=fragments.render_strip(audit, subject.findings),
        phases=fragments.render_phases(audit),
        comparisons=fragments.render_comparisons(audit),
        bars=_binned(record),
        parameters=fragments.render_parameters(audit),
        data=embed(record),
        plotly=plotly,
        script=script,
    )
    return text.encode("utf-8", "backslashreplace")


def embed(record: Any) -> str:
    """JSON for a script element of data: no character that HTML gives a meaning to."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _asset(name: str) -> str:
    return (files("interp.pictures") / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """A content security policy: these scripts, styles, pictures made in the page, nothing from elsewhere."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _explain_positions(motion: Motion) -> str:
    if motion.temperature == "0":
        return "Positions at temperature 0: exact rationals, rounded for the screen."
    shown = fragments.escape(motion.temperature)
    return f"Positions: centers of boxes that hold the tokens at every temperature in {shown}."


def _last_choice(motion: Motion) -> Any:
    """The last attention layer that singles out tokens, or None."""
    return next((layer for layer in reversed(motion.attention) if not layer.uniform), None)


def _make_data(subject: Subject, motion: Motion, axes: Sequence[Axis]) -> dict[str, Any]:
    last = _last_choice(motion)
    leaders = [] if last is None else [weights.list_leaders() for weights in last.sequences]
    audit = subject.audit
    built = audit.counts.blocks
    scale = max([built, 1, *(c.allowed for c in audit.comparisons if c.name == "blocks")])
    return {
        "palette": list(PALETTE),
        "pairs": motion.pairs,
        "owner": [s for s, _ in motion.tokens],
        "token": [i for _, i in motion.tokens],
        "leader": [bool(leaders) and i in leaders[s] for s, i in motion.tokens],
        "targetOwner": [s for s, _ in motion.targets],
        "followed": sum(len(subject.dataset.pairs[j].input) for j in motion.pairs),
        "wanted": sum(len(set(subject.dataset.pairs[j].output)) for j in motion.pairs),
        "numBlocks": built,
        "builtShare": built / scale,
        "frames": [_frame_record(frame, subject) for frame in motion.frames],
        "axes": [_axis_record(axis) for axis in axes],
        "attention": [
            {
                "name": f"block {layer.block}" + (f", head {layer.head}" if layer.head else ""),
                "uniform": layer.uniform,
                "causal": layer.causal,
                "sequences": [
                    {"length": w.length, "uniform": True}
                    if w.uniform
                    else {"length": w.length, "keys": [[[l, round(x, 3)] for l, x in keys] for keys in w.keys]}
                    for w in layer.sequences
                ],
            }
            for layer in motion.attention
        ],
        "bits": _bits(subject.transformer),
        "start": _start(subject, motion, axes, last),
    }


def _frame_record(frame: Frame, subject: Subject) -> dict[str, Any]:
    label = "Input" if frame.block == 0 else f"After block {frame.block} of {subject.audit.counts.blocks}"
    if frame.layer == "feed-forward":
        label = f"In block {frame.block} of {subject.audit.counts.blocks}, before its attention"
    phases = [
        p.phase for p in subject.audit.phases[: fragments.MAX_PHASES] if p.phase.first <= frame.block <= p.phase.last
    ]
    if frame.block and phases:
        label += f" ({', '.join(printable(phase.name) for phase in phases[:3])})"
    return {
        "block": frame.block,
        "label": label,
        "places": frame.num_places,
        "reached": frame.num_reached,
        "bits": frame.bits,
    }


def _axis_record(axis: Axis) -> dict[str, Any]:
    return {
        "name": axis.name,
        "title": axis.name,
        "values": _pack([value for frame in axis.frames for value in frame]),
        "targets": _pack(axis.targets),
    }


def _pack(values: Sequence[float]) -> str:
    return base64.b64encode(np.array(values, dtype="<f4").tobytes()).decode()


def _bits(transformer: Transformer) -> dict[str, list[int]]:
    """The largest number of bits of each block, or of as many blocks together as one bar has to show."""
    found = [count_block(block, transformer.dimension).max_bits for block in transformer.blocks]
    step = -(-len(found) // MAX_BARS) or 1
    starts = range(0, len(found), step)
    return {"blocks": [k + 1 for k in starts], "weights": [max(found[k : k + step]) for k in starts]}


def _binned(record: dict[str, Any]) -> str:
    blocks = record["bits"]["blocks"]
    step = blocks[1] - blocks[0] if len(blocks) > 1 else 1
    return f", one bar for {step} blocks" if step > 1 else ""


def _start(subject: Subject, motion: Motion, axes: Sequence[Axis], last: Any) -> dict[str, Any]:
    """What the page shows first: a wrong pair at its end, else the input."""
    wrong = find_wrong_pair(subject.answer)
    shown = wrong in motion.pairs
    names = [axis.name for axis in axes]
    across = names.index("PCA 1") if "PCA 1" in names else 0
    extents = [
        max((abs(value) for axis in axes[across : across + 2] for value in axis.frames[k]), default=0.0)
        for k in range(len(motion.frames))
    ]
    return {
        "across": across,
        "up": min(across + 1, max(len(axes) - 1, 0)),
        "fit": shown or (bool(extents) and max(extents) > 20 * max(extents[0], 1e-9)),
        "sequence": motion.pairs.index(wrong) if wrong is not None and shown else None,
        "frame": len(motion.frames) - 1 if shown and motion.frames else 0,
        "layer": motion.attention.index(last) if last is not None else 0,
    }


def find_wrong_pair(answer: Answer) -> int | None:
    """The first pair that the checker found wrong."""
    for item in answer.record["obligations"]:
        if "mismatch" in item:
            return int(item["mismatch"]["pair"])
    return None
