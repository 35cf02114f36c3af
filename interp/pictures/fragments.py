"""Untrusted. Pieces of HTML. All text is escaped here; names from a witness become printable ASCII first."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from interp.audit.audit import Audit
from interp.audit.explain import Finding
from interp.pictures.colours import BLUE, GREY, PALETTE
from interp.transformers.ledger import Phase, printable
from proofs.guard import Answer
from proofs.kernel.errors import Status
from proofs.kernel.statement import Claim

RIGHT = ' class="number"'
MAX_PHASES = 200
MAX_ROWS = 10  # of a table of tokens
WORDS = {Status.VERIFIED: "✓ VERIFIED", Status.REFUTED: "✗ REFUTED", Status.UNDECIDED: "? UNDECIDED"}
MARKS = {Status.VERIFIED.label: "✓ holds", Status.REFUTED.label: "✗ FAILS", Status.UNDECIDED.label: "? undecided"}


def escape(text: object) -> str:
    """Text as it stands, for content and for quoted attributes; what a page cannot show is spelled out."""
    return html.escape(str(text).encode("utf-8", "backslashreplace").decode(), quote=True)


def shorten(text: str) -> str:
    """A number, cut in the middle when it is long."""
    return text if len(text) <= 44 else f"{text[:30]}.. ({len(text)} characters)"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "wide") -> str:
    """A table that scrolls sideways (wide) or breaks its words (wrap); integers are set right."""

    def cell(value: object) -> str:
        return f"<td{RIGHT if _is_number(value) else ''}>{escape(value)}</td>"

    found = [list(row) for row in rows]
    right = [bool(found) and all(_is_number(row[i]) for row in found) for i in range(len(columns))]
    head = "".join(
        f'<th scope="col"{RIGHT if numbers else ""}>{escape(name)}</th>'
        for name, numbers in zip(columns, right, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in found)
    top = f"<thead><tr>{head}</tr></thead>" if any(columns) else ""
    return f'<div class="{kind}"><table>{top}<tbody>{body}</tbody></table></div>'


def _is_number(value: object) -> bool:
    return isinstance(value, int) or value == "-"


def render_verdict(answer: Answer, claim: Claim, transformer: str, data: str, command: str) -> str:
    """The verdict of the checker with all that it rests on."""
    record = answer.record
    ledger = [
        ("claim", claim),
        ("transformer", f"{transformer}, {record['transformer']}"),
        ("dataset", f"{data}, {record['dataset']}"),
        ("checked by", f"{', '.join(record['parts'])} (docs/explanation/trusted-base.md)"),
        *(("note", note) for note in record["notes"]),
    ]
    rows = [(MARKS[item["status"]], item["name"], item["detail"]) for item in record["obligations"]]
    return (
        f'<section class="verdict {answer.status.name.lower()}" aria-label="Verdict">'
        f'<div class="word">{escape(WORDS[answer.status])}</div>'
        f"{table(['', 'obligation', 'found'], rows)}"
        f"<h2>What this rests on</h2>{table(['', ''], ledger, 'wrap')}"
        '<p class="quiet">The verdict was computed by the checker when this page was made; nothing in the '
        "file of the transformer decides it. The pictures below are for looking and prove nothing. A page can be "
        "edited; to check again:</p>"
        f"<pre>{escape(command)}</pre></section>"
    )


def render_failure(answer: Answer, findings: Sequence[Finding], explained: str) -> str:
    """Where it went wrong: "" for a claim that holds."""
    failed = [item for item in answer.record["obligations"] if item["status"] != Status.VERIFIED.label]
    if not failed:
        return ""
    parts = ['<section aria-labelledby="h-failure"><h2 id="h-failure">Where it goes wrong</h2>']
    for item in failed:
        parts.append(f"<p><strong>{escape(item['name'])}</strong>: {escape(item['detail'])}</p>")
        if "mismatch" in item:
            parts.append(_render_mismatch(item["mismatch"]))
    if findings:
        rows = [
            (
                "✗ broken" if finding.broken else "",
                printable(finding.phase.name),
                f"{finding.phase.first}-{finding.phase.last}",
                finding.detail,
            )
            for finding in findings[:MAX_PHASES]
        ]
        parts.append(f"<h2>Promises of the phases</h2>{table(['', 'phase', 'blocks', 'found'], rows)}")
    return "".join(parts) + f'<p class="quiet">{escape(explained)}</p></section>'


def _render_mismatch(mismatch: dict[str, Any]) -> str:
    """What one pair should be and what it is."""
    sides = (("expected, not reached", mismatch["missing"]), ("got, not expected", mismatch["surplus"]))
    rows = [(name, f"({', '.join(map(shorten, token))})") for name, tokens in sides for token in tokens[:MAX_ROWS]]
    rows += [(name, f"and {len(tokens) - MAX_ROWS} more") for name, tokens in sides if len(tokens) > MAX_ROWS]
    distance = shorten(mismatch["squared_hausdorff"])
    head = f"<p>Pair {mismatch['pair']}: squared Hausdorff distance {escape(distance)}.</p>"
    return head + table(["", "token"], rows, "wrap")


def render_notes(notes: Iterable[str]) -> str:
    """What a reader must know about the sample."""
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def render_strip(audit: Audit, findings: Sequence[Finding]) -> str:
    """Phases to scale, what the theorem allots them below, and a mark that follows the slider."""
    bounds = [c.allowed for c in audit.comparisons if c.name == "blocks"]
    bound, built = max(bounds, default=0), audit.counts.blocks
    scale = max(bound, built, 1)
    broken = {finding.phase for finding in findings if finding.broken}
    shown = [(i, p) for i, p in enumerate(audit.phases[:MAX_PHASES]) if 0 < p.phase.num_blocks <= built]
    parts = [_choice(i, p.phase, p.phase in broken) for i, p in shown]
    left = built - sum(p.phase.num_blocks for _, p in shown)
    if left > 0:
        parts.append(_part(left, GREY, f"{left} blocks of no phase"))
    parts.append(_rest(scale - built))
    strip = (
        f'<p class="quiet">This transformer: {built} blocks. Choose a phase to go to its first block.</p>'
        f'<div class="strip">{"".join(parts)}</div>'
        '<div class="here" aria-hidden="true"><span id="here">▲</span></div>'
    )
    if not bound:
        return strip
    phases = [(i, p.allotted) for i, p in enumerate(audit.phases[:MAX_PHASES]) if p.allotted]
    total = sum(blocks for _, blocks in phases)
    about = f", of which {total} are allotted to the phases (by us; the theorem gives one number)" if phases else ""
    below = "".join(_part(blocks, _colour(i), str(blocks)) for i, blocks in phases) or _part(bound, GREY, str(bound))
    below += _rest(scale - (total or bound))
    return (
        f'{strip}<p class="quiet">The bound: {bound} blocks{about}.</p>'
        f'<div class="strip allotted" aria-hidden="true">{below}</div>'
    )


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _style(blocks: int, colour: str) -> str:
    """A width and two colours, the second for text on the first."""
    return f"flex-grow:{blocks};background:{colour};color:{'#ffffff' if colour == BLUE else '#000000'}"


def _choice(i: int, phase: Phase, broken: bool) -> str:
    """A phase of the strip that leads to its first block."""
    name = printable(phase.name)
    label = escape(f"{'broken: ' if broken else ''}{name}, blocks {phase.first} to {phase.last}")
    kind = f"{_kind(phase.num_blocks)}{' broken' if broken else ''}"
    return (
        f'<button type="button" class="{kind}" data-block="{phase.first}" title="{label}" aria-label="{label}" '
        f'style="{_style(phase.num_blocks, _colour(i))}">{escape(name)}</button>'
    )


def _kind(blocks: int) -> str:
    return "part thin" if blocks < 3 else "part"


def _part(blocks: int, colour: str, text: str) -> str:
    return f'<span class="{_kind(blocks)}" style="{_style(blocks, colour)}">{text}</span>'


def _rest(blocks: int) -> str:
    """Blocks that are allowed and not used."""
    return f'<span class="part rest" style="flex-grow:{blocks}" aria-hidden="true"></span>' if blocks > 0 else ""


def render_phases(audit: Audit) -> str:
    """The ledger of blocks."""
    rows = [
        (
            printable(p.phase.name) + (" (shares its block)" if p.phase.shared else ""),
            printable(p.phase.lemma),
            "-" if p.phase.last < p.phase.first else f"{p.phase.first}-{p.phase.last}",
            p.phase.num_blocks,
            "-" if p.allotted is None else p.allotted,
            "-" if p.slack is None else p.slack,
        )
        for p in audit.phases[:MAX_PHASES]
    ]
    if not rows:
        return render_notes(["The header has no ledger of phases."])
    more = [f"{len(audit.phases) - MAX_PHASES} more phases are left out."] if len(audit.phases) > MAX_PHASES else []
    columns = ["phase (from the header)", "lemma", "which", "blocks", "allotted", "slack"]
    return table(columns, rows) + render_notes(more)


def render_comparisons(audit: Audit) -> str:
    """Counts against what the theorems allow."""
    rows = [("✓" if c.holds else "✗ no", c.name, c.found, c.allowed, c.source) for c in audit.comparisons]
    return table(["within", "count", "found", "allowed", "source"], rows)


def render_parameters(audit: Audit) -> str:
    """Parameters of every phase and of all blocks."""
    rows = [
        (printable(p.phase.name), *(getattr(p.counts, name) for name in _COUNTS))
        for p in audit.phases[:MAX_PHASES]
        if p.phase.num_blocks > 0
    ]
    total = ("all blocks", *(getattr(audit.counts, name) for name in _COUNTS))
    columns = ["phase", "blocks", "width", "parameters", "with dense A, V", "non-zero", "bits"]
    about = f"Parameters in the low-rank form. Rank of A - alpha I: at most {audit.max_rank}."
    return table(columns, [*rows, total]) + f'<p class="quiet">{about}</p>'


_COUNTS = ("blocks", "width", "parameters", "dense_parameters", "nonzero_parameters", "max_bits")
