"""Untrusted. The options that make the user's claim: they never come from the file that is checked."""

from __future__ import annotations

import click

from interp.cli.output import pack_options
from proofs.__main__ import Options

claim_options = pack_options(
    Options,
    "options",
    click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax."),
    click.option("--temperatures", help="0, (0,T], [0,T], (0,oo), [0,oo) or one T; hardmax is 0, softmax (0,1]."),
    click.option("--max-width", type=click.IntRange(min=0), help="Default: 4."),
    click.option("--max-blocks", type=click.IntRange(min=0), help="Default: the theorem's bound for DATA."),
    click.option("--max-parameters", type=click.IntRange(min=0), help="Default: (10 d + 8) x blocks."),
)
