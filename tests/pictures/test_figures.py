"""Figures for papers: the same bytes, fonts inside, no dates, and names that are no markup."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

import interp
from interp.datasets.examples import make_plane, make_vowels
from interp.pictures.colours import PALETTE
from interp.pictures.figures import KINDS, draw, find_format, list_panels, style_of
from interp.pictures.motion import follow
from interp.transformers.ledger import decode_phases
from proofs.kernel.errors import UsageError
from proofs.kernel.model import Transformer
from proofs.kernel.statement import Temperatures

ZERO = Temperatures(zero=True)
needs_matplotlib = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("matplotlib"), reason="needs matplotlib (extra plot)"
)


@needs_matplotlib
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_again_without_dates_and_with_fonts(kind):
    dataset = make_plane()
    transformer = interp.build(dataset)
    inside = {"pdf": rb"/FontFile2", "svg": rb'<path id="DejaVuSans-'}  # TrueType, outlines
    for form, fonts in inside.items():
        content = draw(kind, transformer, dataset, ZERO, form).content
        assert content == draw(kind, transformer, dataset, ZERO, form).content
        assert not re.search(rb"CreationDate|<dc:date>|D:20\d\d|<text", content)
        assert re.search(fonts, content)
    assert draw(kind, transformer, dataset, ZERO, "png").content.startswith(b"\x89PNG")


@needs_matplotlib
@pytest.mark.parametrize("kind", ["stages", "bits"])
def test_names_of_phases_are_no_markup(kind):
    dataset = make_plane()
    transformer = interp.build(dataset)
    phases = [phase | {"name": r"$\frac{a$ _^ <b>"} for phase in transformer.header["phases"]]
    hostile = replace(transformer, header=transformer.header | {"phases": phases})
    assert b"<b>" not in draw(kind, hostile, dataset, ZERO, "svg").content


@needs_matplotlib
def test_more_dimensions_are_drawn_by_main_directions_and_samples_are_noted():
    dataset = make_vowels()
    drawing = draw("stages", interp.build(dataset), dataset, ZERO, "svg")
    assert drawing.notes == ("9 of 30 sequences are drawn, evenly chosen.",)


@needs_matplotlib
def test_a_transformer_without_blocks_or_ledger():
    dataset = make_plane()
    assert draw("stages", Transformer(2, ()), dataset, ZERO, "svg").content
    assert draw("counts", Transformer(2, ()), dataset, ZERO, "svg").content
    with pytest.raises(UsageError, match="nothing to draw"):
        draw("bits", Transformer(2, ()), dataset, ZERO, "svg")


def test_a_panel_for_the_input_and_each_phase_before_the_next_shares_its_block():
    dataset = make_plane()
    transformer = interp.build(dataset)
    phases = decode_phases(transformer.header)
    motion = follow(dataset, transformer, ZERO, phases)
    panels = list_panels(motion, phases, len(transformer.blocks))
    assert [title for title, _ in panels] == ["input", *(phase.name for phase in phases)]
    states = [motion.frames[frame] for _, frame in panels]
    assert [(s.block, s.layer) for s in states[2:4]] == [(6, "feed-forward"), (6, "block")]
    assert states[-1].num_reached == 5


def test_neighbours_differ_in_colour_and_marker():
    styles = [style_of(s) for s in range(len(PALETTE) * 8)]
    assert len(set(styles)) == len(styles)
    for left, right in pairwise(styles):
        assert left[0] != right[0]
        assert left[1] != right[1]


def test_unknown_formats_are_refused():
    with pytest.raises(UsageError, match="no figure format"):
        find_format(".gif")
