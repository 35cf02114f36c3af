"""Untrusted. ``interp``: the entry point. Faults become one line on standard error and the documented exit code."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import click

from interp.cli.audit import audit
from interp.cli.boolean import boolean
from interp.cli.bounds import bounds
from interp.cli.build import build
from interp.cli.certify import certify
from interp.cli.compare import compare
from interp.cli.completion import completion
from interp.cli.convert import convert
from interp.cli.dataset import dataset
from interp.cli.diff import diff
from interp.cli.distance import distance
from interp.cli.doctor import doctor
from interp.cli.example import example
from interp.cli.export import export
from interp.cli.fgd import fgd
from interp.cli.float_check import float_check
from interp.cli.import_ import import_
from interp.cli.lemmas import lemmas
from interp.cli.norm import norm
from interp.cli.plot import plot
from interp.cli.report import report
from interp.cli.robustness import robustness
from interp.cli.run import run
from interp.cli.sections import SectionedGroup
from interp.cli.show import show
from interp.cli.shrink import shrink
from interp.cli.temperature import temperature
from interp.cli.tikhonov import tikhonov
from interp.cli.verify import verify
from interp.version import VERSION
from proofs.__main__ import error_record
from proofs.kernel.errors import InternalFault, InterpError, LimitReached, Status

EXIT_CODES = "Exit codes: " + ", ".join(f"{s.exit_code} {s.label}" for s in Status) + "."


# What `interp --help` lists. A new command gets its line here; the whole line must fit into 80 columns.
SECTIONS = {
    "main jobs": {
        build: "A transformer with T(X_j) = Y_j for every pair",
        verify: "Prove it, exactly, for your dataset and claim",
        audit: "Compare its size with the theorems and your budget",
    },
    "data": {
        example: "Write a dataset to learn with",
        dataset: "Check, show and convert datasets",
        bounds: "The theorems' numbers for a dataset, or for sizes",
        compare: "Build every construction, side by side",
    },
    "look": {
        show: "Summary of a transformer file",
        run: "Output tokens for any input, block by block",
        report: "A page to look at: tokens moving through blocks",
        plot: "A figure for a paper: stages, counts or bits",
        distance: "Exact Hausdorff distance of every T(X_j) to Y_j",
        temperature: "The largest certified temperature",
        float_check: "What floats make of it, and which formats agree",
        robustness: "How far inputs may move, certified",
        lemmas: "What each phase promises, and how it is proved",
    },
    "when refuted": {
        shrink: "The smallest part of a dataset that still refutes",
        diff: "Compare two transformers, or two audits, exactly",
    },
    "in and out": {
        convert: "Transformer files: JSON lines and the binary form",
        export: "For PyTorch, ONNX, safetensors, NumPy or SMT",
        import_: "Exact transformers from float weights",
        certify: "A Coq certificate of the claim",
    },
    "more systems": {
        fgd: "Functional gradient descent in context",
        boolean: "Boolean functions: sensitivity and training",
        norm: "The exact sum of squared parameters",
        tikhonov: "Training with a penalty on that norm",
    },
    "this program": {
        doctor: "Check the installation; where the trust lies",
        completion: "Tab completion for bash, zsh or fish",
    },
}


@click.group(cls=SectionedGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT_CODES)
@click.version_option(VERSION, prog_name="interp")
def cli() -> None:
    """Transformers that map each sequence X_j of a dataset exactly onto its targets Y_j.

    \b
        Build    interp build DATA -o T.jsonl
                 writes a transformer; nothing is proved yet
        Verify   interp verify T.jsonl DATA
                 proves T(X_j) = Y_j for every pair, exactly, or refutes it
        Audit    interp audit T.jsonl DATA --max-blocks 100
                 compares its size with the theorems and with your budget

    DATA: .json, .jsonl, .npz, .ts, or bundled:japanese_vowels_30 to try.
    """


for title, commands in SECTIONS.items():
    cli.add_section(title, commands)


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
