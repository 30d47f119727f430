"""`polygen diff`: the lines in which the texts of two kernels differ."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE, NO
from polygen.cli.texts import add_kernel, read
from polygen.errors import InvalidArgument
from polygen.inspection.compare.text_difference import diff


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "diff", help="print the lines in which the texts of two kernels differ"
    )
    add_kernel(parser, "first", "second")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print what differs; as with diff(1), the status is 1 if something does."""
    check_one_input(chosen)
    first = read(chosen.first, chosen.transform)
    found = diff(first, read(chosen.second))
    if not found:
        return FINE
    sys.stdout.write(f"{found}\n")
    return NO


def check_one_input(chosen: argparse.Namespace) -> None:
    """Check that not both kernels are read from the standard input."""
    if chosen.first == chosen.second == "-":
        raise InvalidArgument("the standard input has one kernel, and two are wanted")
