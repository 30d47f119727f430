"""`polygen build`: a kernel as a shared library, with a module that needs NumPy alone."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE
from polygen.cli.texts import add_kernel, read
from polygen.emission.build import build


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "build", help="compile a kernel to a library, with a Python module that needs NumPy alone"
    )
    add_kernel(parser, "kernel")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the files, and print the module's path."""
    sys.stdout.write(f"{build(read(chosen.kernel, chosen.transform), chosen.output)}\n")
    return FINE
