"""`polygen diff`: the lines in which the texts of two kernels differ."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE, NO
from polygen.cli.texts import add_two_kernels, read_two
from polygen.inspection.compare.text_difference import diff


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "diff", help="print the lines in which the texts of two kernels differ"
    )
    add_two_kernels(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print what differs; as with diff(1), the status is 1 if something does."""
    found = diff(*read_two(chosen.first, chosen.second, chosen.transform))
    if not found:
        return FINE
    sys.stdout.write(f"{found}\n")
    return NO
