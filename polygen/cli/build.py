"""`polygen build`: a kernel as a shared library, with a module that needs NumPy alone."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE
from polygen.cli.texts import add_allow_verbatim, add_kernel, entry, read
from polygen.emission.build import build
from polygen.errors import InvalidArgument


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "build", help="compile a kernel to a library, with a Python module that needs NumPy alone"
    )
    add_kernel(parser)
    add_allow_verbatim(parser, "compile kernels")
    parser.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the files, and print the module's path."""
    whole = read(chosen.kernel, chosen.transform)
    options = entry(whole).options.build_options
    if options and not chosen.allow_verbatim:
        raise InvalidArgument(
            f"this kernel has build options, {' '.join(options)}, which may make a compiler start "
            "other programs",
            where=chosen.kernel,
            remedy="if you know them to be harmless, polygen build --allow-verbatim",
        )
    sys.stdout.write(f"{build(whole, chosen.output)}\n")
    return FINE
