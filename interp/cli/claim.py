"""Untrusted. The options that make the user's claim: they never come from the file that is checked."""

from __future__ import annotations

import click

from interp.cli.output import pack_options
from proofs.__main__ import Options
from proofs.kernel.statement import Mask, Readout

mask_option = click.option(
    "--mask",
    type=click.Choice([mask.value for mask in Mask]),
    default=Mask.NONE.value,
    show_default=True,
    help="Causal: token i attends to tokens up to i, in every layer.",
)
readout_option = click.option(
    "--readout",
    type=click.Choice([readout.value for readout in Readout]),
    default=Readout.ALL.value,
    show_default=True,
    help="Last: the last m_j tokens of T(X_j) are Y_j.",
)
claim_options = pack_options(
    Options,
    "options",
    click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax."),
    click.option("--temperatures", help="0, (0,T], [0,T], (0,oo), [0,oo) or one T; hardmax is 0, softmax (0,1]."),
    click.option("--max-width", type=click.IntRange(min=0), help="Default: 4."),
    click.option("--max-blocks", type=click.IntRange(min=0), help="Default: the theorem's bound for DATA."),
    click.option("--max-parameters", type=click.IntRange(min=0), help="Default: (10 d + 8) x --max-blocks."),
    mask_option,
    readout_option,
)
