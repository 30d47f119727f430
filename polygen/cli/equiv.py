"""`polygen equiv`: whether two kernels compute the same."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.diff import check_one_input
from polygen.cli.failures import FINE, NO, UNDECIDED
from polygen.cli.texts import add_kernel, entry, read
from polygen.inspection.equivalent import DIFFERENT, EQUAL, UNKNOWN, equivalent

_STATUS = {EQUAL: FINE, DIFFERENT: NO, UNKNOWN: UNDECIDED}


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "equiv", help="prove that two kernels compute the same, or show where they differ"
    )
    add_kernel(parser, "first", "second")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Compare two kernels; the status is 3 if it is neither proved nor refuted."""
    check_one_input(chosen)
    first = entry(read(chosen.first, chosen.transform))
    found = equivalent(first, entry(read(chosen.second)))
    sys.stdout.write(f"{found}\n")
    return _STATUS[found.answer]
