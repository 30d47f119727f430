"""`polygen build`: a kernel as a shared library, with a module that needs NumPy alone.

Of a script, everything that it compiles is compiled, so that a second process finds it on disk.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from polygen.cli.failures import FINE
from polygen.cli.script_programs import kept_programs
from polygen.cli.texts import add_allow_verbatim, add_kernel, entry, read
from polygen.emission.build import build
from polygen.errors import InvalidArgument


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "build",
        help="compile a kernel to a library, with a Python module that needs NumPy alone; or what "
        "a script compiles, so that a second run finds it",
    )
    add_kernel(parser)
    add_allow_verbatim(parser, "compile kernels")
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="where to; of a script, where programs are kept"
    )
    parser.add_argument(
        "--arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, default=[],
        help="of a script: what it finds in sys.argv; all that follows",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the files, and print the module's path; or run a script, and say what is kept."""
    if chosen.kernel.endswith(".py"):
        return _run_script(chosen)
    if chosen.output is None:
        raise InvalidArgument(
            "there is no folder to write to", where=chosen.kernel, remedy="polygen build -o FOLDER"
        )
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


def _run_script(chosen: argparse.Namespace) -> int:
    if chosen.transform is not None:
        raise InvalidArgument(
            "the steps of --transform are taken on a kernel, and this is a script",
            where=chosen.kernel,
        )
    found, new = kept_programs(chosen.kernel, chosen.output, chosen.arguments)
    sys.stdout.write(f"{found.folder}: {found.entries} entries, {new} of them new\n")
    return FINE
