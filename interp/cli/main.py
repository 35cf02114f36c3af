"""Untrusted. ``interp``: the entry point. Faults become one line on standard error and the documented exit code."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import click

from interp.cli.audit import audit
from interp.cli.bounds import bounds
from interp.cli.build import build
from interp.cli.certify import certify
from interp.cli.compare import compare
from interp.cli.dataset import dataset
from interp.cli.doctor import doctor
from interp.cli.fgd import fgd
from interp.cli.lemmas import lemmas
from interp.cli.run import run
from interp.cli.show import show
from interp.cli.temperature import temperature
from interp.cli.verify import verify
from interp.version import VERSION
from proofs.__main__ import error_record
from proofs.kernel.errors import InternalFault, InterpError, LimitReached, Status

EXIT_CODES = "Exit codes: " + ", ".join(f"{s.exit_code} {s.label}" for s in Status) + "."


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(VERSION, prog_name="interp")
def cli() -> None:
    """Transformers that interpolate sequence datasets exactly, built, proved and audited.

    \b
      interp build DATA -o T.jsonl     generate a transformer for a dataset
      interp verify T.jsonl DATA       prove T(X_j) = Y_j for every pair, exactly
      interp audit T.jsonl DATA        compare blocks and parameters with the theorems
    """


for command in (build, verify, audit, compare, show, run, temperature, bounds, certify, lemmas, dataset, doctor, fgd):
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits.

    Nothing that is read or built refers to itself, and looking for such cycles takes half the time of large files.
    """
    gc.disable()
    sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))


def run_command(arguments: list[str]) -> int:
    """The exit code of a command line."""
    try:
        result: Any = cli.main(args=arguments, prog_name="interp", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return Status.USAGE.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted: nothing was written", err=True)
        return 130
    except InterpError as error:
        return _report(error, "--json" in arguments)
    except MemoryError:
        return _report(LimitReached("out of memory"), "--json" in arguments)
    except Exception as error:
        hint = "a defect of the program: please report it with the input"
        return _report(InternalFault(f"{type(error).__name__}: {error}", hint=hint), "--json" in arguments)


def _report(error: InterpError, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(error_record(error), indent=2))
    click.echo(f"{error.status.label}: {error}", err=True)
    return error.status.exit_code


if __name__ == "__main__":
    main()
