"""`polygen check`: whether the result of a kernel is determined, and what data has to fulfil."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from polygen.analysis.integers.proving import with_proofs
from polygen.analysis.wellformed.all_obligations import obligations
from polygen.analysis.wellformed.check import check_well_formed
from polygen.cli.failures import FINE, NO, shown
from polygen.cli.texts import Source, Whole, add_kernel, after, read_source
from polygen.errors import (
    CannotProve,
    IllegalStep,
    IllFormedKernel,
    NotTheSame,
    Reassociated,
)
from polygen.ir.kernel import Kernel

_NO = (IllFormedKernel, IllegalStep, NotTheSame, CannotProve, Reassociated)


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "check", help="say whether a kernel's result is determined, and what data has to fulfil"
    )
    add_kernel(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Check a kernel, or the steps of a script; what speaks against it goes to the output."""
    source = Source.of(chosen.kernel)
    try:
        with with_proofs():
            whole = after(read_source(source), chosen.transform)
            with source.located():
                lines = [line for kernel in _kernels(whole) for line in _checked(kernel)]
    except _NO as error:
        sys.stdout.write(f"{shown(error, source.name)}\n")
        return NO
    sys.stdout.write("\n".join(lines) + "\n")
    return FINE


def _kernels(whole: Whole) -> tuple[Kernel, ...]:
    return (whole,) if isinstance(whole, Kernel) else whole.kernels


def _checked(kernel: Kernel) -> Iterator[str]:
    """Check a kernel, and yield what there is to say."""
    check_well_formed(kernel)
    yield f"kernel '{kernel.name}': its result is determined"
    owed = obligations(kernel)
    if owed:
        yield "if the data fulfils this, which calls with check_assumptions=True check:"
        yield from (f"  {obligation}" for obligation in owed)
    if kernel.claims:
        yield "and if this is true, which is taken on trust:"
        yield from (f"  {claim}" for claim in kernel.claims)
