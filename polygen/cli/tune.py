"""`polygen tune`: the fastest schedule of a kernel that is found by measuring, as a script."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import polygen as pg
from polygen.cli.failures import FINE
from polygen.cli.recipes import add_device, asked_of, recipe
from polygen.cli.texts import add_allow_verbatim, add_kernel
from polygen.errors import InvalidArgument
from polygen.inspection.compare.verbatim_parts import verbatim_parts


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune", help="measure schedules of a kernel, and print the fastest as a script"
    )
    add_kernel(parser)
    add_device(parser)
    parser.add_argument(
        "--budget", type=float, default=10.0, metavar="SECONDS", help="how long to look; 10"
    )
    add_allow_verbatim(parser, "run kernels")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Measure schedules, and print the recipe of the fastest."""
    asked = asked_of(chosen)
    parts = verbatim_parts(asked.kernel)
    if parts and not chosen.allow_verbatim:
        raise InvalidArgument(
            f"{parts[0]} may do anything, and is run only if you allow it",
            where=chosen.kernel,
            remedy="if you know it to be harmless, polygen tune --allow-verbatim",
        )
    fast = pg.optimize(
        asked.kernel, asked.limits, sizes=asked.sizes, tune=True, budget=chosen.budget
    )
    sys.stdout.write(recipe(fast, asked))
    return FINE
