"""`polygen show`: a kernel as text, as code, as loops, as a graph or as a Python script."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import polygen as pg
from polygen.cli.failures import FINE
from polygen.cli.texts import Whole, add_kernel, entry, for_target, read
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES

_FORMS = {
    "code": "the source that is generated; types have to be known",
    "loops": "the loops, barriers and conditions that the source is printed from",
    "graph": "which instruction depends on which, in Graphviz's language",
    "python": "a Python script that makes the kernel",
}


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "show", help="print a kernel: its text, code, loops or graph"
    )
    add_kernel(parser)
    parser.add_argument("--target", choices=TARGET_NAMES, help="instead of the kernel's own")
    forms = parser.add_mutually_exclusive_group()
    for form, what in _FORMS.items():
        forms.add_argument(
            f"--{form}", dest="form", action="store_const", const=form, help=f"print {what}"
        )
    parser.set_defaults(run=run, form="text")


def run(chosen: argparse.Namespace) -> int:
    """Print a kernel."""
    whole = read(chosen.kernel, chosen.transform)
    if isinstance(whole, Kernel):
        whole = for_target(whole, chosen.target)
    sys.stdout.write(_text(whole, chosen.form, chosen.target).rstrip("\n") + "\n")
    return FINE


def _text(whole: Whole, form: str, target: str | None) -> str:
    if form == "code":
        return str(pg.generate_code(whole, target))
    if form == "loops":
        return str(pg.lower_kernel(whole, target))
    if form == "graph":
        return pg.get_dot_dependency_graph(entry(whole))
    if form == "python":
        return pg.kernel_to_python(whole)
    return str(whole)
