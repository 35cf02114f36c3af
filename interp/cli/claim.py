"""Untrusted. The options that make the user's claim: they never come from the file that is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import click

from interp.cli.output import F
from proofs.__main__ import Options


def claim_options(command: F) -> F:
    """Adds --attention, --temperatures and the budgets, and passes them as ``options``."""

    @wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs["options"] = Options(*(kwargs.pop(field.name) for field in fields(Options)))
        return command(*args, **kwargs)

    decorators: list[Callable[[Any], Any]] = [
        click.option("--attention", type=click.Choice(["hardmax", "softmax"]), help="Default: hardmax."),
        click.option("--temperatures", help="0, (0,T], [0,T], (0,oo), [0,oo) or one T; hardmax is 0, softmax (0,1]."),
        click.option("--max-width", type=click.IntRange(min=0), help="Default: 4."),
        click.option("--max-blocks", type=click.IntRange(min=0), help="Default: the theorem's bound for DATA."),
        click.option("--max-parameters", type=click.IntRange(min=0), help="Default: (10 d + 8) x blocks."),
    ]
    decorated: Any = wrapped
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated  # type: ignore[no-any-return]
