"""`polygen equiv`: whether two kernels compute the same."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE, NO, UNDECIDED
from polygen.cli.texts import add_allow_verbatim, add_two_kernels, entry, read_two
from polygen.inspection.compare.equivalent import DIFFERENT, EQUAL, UNKNOWN, equivalent

_STATUS = {EQUAL: FINE, DIFFERENT: NO, UNKNOWN: UNDECIDED}


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "equiv", help="prove that two kernels compute the same, or show where they differ"
    )
    add_two_kernels(parser)
    add_allow_verbatim(parser, "run kernels")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Compare two kernels; the status is 3 if it is neither proved nor refuted."""
    first, second = read_two(chosen.first, chosen.second, chosen.transform)
    found = equivalent(entry(first), entry(second), allow_verbatim=chosen.allow_verbatim)
    sys.stdout.write(f"{found}\n")
    return _STATUS[found.answer]
