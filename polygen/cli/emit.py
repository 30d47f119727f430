"""`polygen emit`: a kernel as files that programs without Python build and run."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE
from polygen.cli.texts import add_kernel, read
from polygen.emission.emit import emit
from polygen.ir.options import TARGET_NAMES


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "emit", help="write a kernel's code, a header and a program that runs it"
    )
    add_kernel(parser)
    parser.add_argument("--target", choices=TARGET_NAMES, help="instead of the kernel's own")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the files, and print their paths."""
    paths = emit(read(chosen.kernel, chosen.transform), chosen.target).write(chosen.output)
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return FINE
