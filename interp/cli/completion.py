"""Untrusted. ``interp completion``: the script that completes commands, options and file names in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from proofs.kernel.errors import InternalFault

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
        bash   put  eval "$(interp completion bash)"  into ~/.bashrc
        zsh    put  eval "$(interp completion zsh)"  into ~/.zshrc, below compinit
        fish   interp completion fish > ~/.config/fish/completions/interp.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise InternalFault(f"no completion for {shell}")
    click.echo(kind(context.find_root().command, {}, "interp", "_INTERP_COMPLETE").source())
