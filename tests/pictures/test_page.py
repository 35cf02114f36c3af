"""Text stays text, whatever it is; what a page embeds is bounded."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interp
from interp.pictures import fragments
from interp.pictures.page import embed
from interp.transformers.ledger import printable
from tests.strategies import make_dataset

DATASET = make_dataset(*(([(k, 1), (k, 2)], [(k, 0)]) for k in range(5)))

texts = st.text(max_size=60) | st.sampled_from(
    ["</script>", "<!--", "]]>", '"><img src=x>', "&lt;", "\ud800", "$x ${y}"]
)


class Collected(HTMLParser):
    """Tags and text of a fragment."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


@given(st.lists(st.tuples(texts, texts, st.integers()), min_size=1, max_size=4))
def test_cells_of_a_table_are_text(rows):
    page = Collected()
    page.feed(fragments.table(["a", "b", "c"], rows))
    page.close()
    assert page.tags == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    shown = [str(cell).encode("utf-8", "backslashreplace").decode() for row in rows for cell in row]
    assert page.cells[3:] == shown


@given(st.dictionaries(texts, texts))
def test_embedded_data_cannot_end_its_element(record):
    text = embed(record)
    assert not set("<>&") & set(text)
    assert json.loads(text) == record


@given(texts)
def test_foreign_names_are_short_printable_ascii(text):
    shown = printable(text)
    assert len(shown) <= 60
    assert shown.isascii()
    assert shown.isprintable()


def test_long_numbers_are_cut():
    assert fragments.shorten("1" * 44) == "1" * 44
    assert fragments.shorten("12" * 500) == "12" * 15 + ".. (1000 characters)"


@pytest.mark.parametrize("allotted", [None, 2])
def test_what_is_allotted_is_drawn_to_the_scale_of_the_bound(allotted):
    """The bound is 2M + 2N + 1 = 21 blocks; a construction of fewer may allot less to its phases."""
    audit = interp.audit(interp.build(DATASET), DATASET)
    if allotted is not None:
        audit = replace(audit, phases=tuple(replace(phase, allotted=allotted) for phase in audit.phases))
    total = sum(phase.allotted for phase in audit.phases)
    assert (total == 21) == (allotted is None)
    strip = fragments.render_strip(audit, [])
    assert f"The bound: 21 blocks, of which {total} are allotted to the phases" in strip
    below = strip[strip.index("strip allotted") :]
    assert sum(map(int, re.findall(r"flex-grow:(\d+)", below))) == 21
