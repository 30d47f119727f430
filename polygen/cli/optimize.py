"""`polygen optimize`: the schedule of a kernel, as a script."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import polygen as pg
from polygen.cli.failures import FINE
from polygen.cli.recipes import add_device, asked_of, recipe
from polygen.cli.texts import add_kernel


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "optimize", help="print a script that makes the kernel and schedules it, and why"
    )
    add_kernel(parser)
    add_device(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the recipe."""
    asked = asked_of(chosen)
    fast = pg.optimize(asked.kernel, asked.limits, sizes=asked.sizes)
    sys.stdout.write(recipe(fast, asked))
    return FINE
