"""Schedules on the command line: what they are asked for, and scripts that take their steps."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polygen as pg
from polygen.cli.texts import after, entry, for_target, read
from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES

_SIZE = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*")
_MEASURED = "measured"


@dataclass(frozen=True)
class Asked:
    """The request on the command line that a schedule is made for.

    Attributes:
        kernel: the kernel, with a target.
        limits: those of the device; None for what `optimize` takes.
        sizes: what to expect of sizes.
    """

    kernel: Kernel
    limits: pg.Limits | None
    sizes: Mapping[str, int]


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add arguments for the device, and for the sizes to expect."""
    parser.add_argument("--target", choices=TARGET_NAMES, help="instead of the kernel's own")
    parser.add_argument(
        "--sizes",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="what to expect of sizes: n=4096,m=100; 1024 if not said",
    )
    parser.add_argument(
        "--limits",
        metavar="DEVICE",
        help="A100, H100 or H200; or 'measured', for what this machine reaches; "
        "if not said, what its driver states",
    )


def asked_of(chosen: argparse.Namespace) -> Asked:
    """Return what the command line asks for.

    Raises:
        InvalidArgument: if sizes are not written as ``n=4096``, or the kernel has none of that
            name; if no device is known by a name.
        UserError: as `texts.read` does.
    """
    kernel = entry(read(chosen.kernel))
    target = chosen.target or kernel.target or pg.default_target()
    kernel = entry(after(for_target(kernel, target), chosen.transform))
    sizes = _sizes(chosen.sizes, kernel)
    return Asked(kernel, _limits(chosen.limits, target), sizes)


def _limits(device: str | None, target: str) -> pg.Limits | None:
    if device is None:
        return None
    if device == _MEASURED:
        return pg.measure_limits(target)
    try:
        return pg.Limits.named(device)
    except InvalidArgument as error:
        error.where = "--limits"
        raise


def _sizes(given: Sequence[str], kernel: Kernel) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in ",".join(given).split(",") if given else ():
        match = _SIZE.fullmatch(part)
        if match is None:
            raise InvalidArgument(
                f"'{part}' is no size and a number", where="--sizes", remedy="--sizes n=4096,m=100"
            )
        if match[1] not in kernel.parameters:
            raise InvalidArgument(
                f"kernel '{kernel.name}' has no size '{match[1]}'",
                where="--sizes",
                remedy=did_you_mean(match[1], kernel.parameters),
            )
        found[match[1]] = int(match[2])
    return found


def recipe(kernel: Kernel, asked: Asked) -> str:
    """Return a script that makes a kernel, by its steps, with the reasons ahead of it."""
    told = str(pg.explain(kernel, asked.limits, sizes=asked.sizes))
    comments = [f"# {line}".rstrip() for line in told.splitlines()]
    return "\n".join([*comments, pg.kernel_to_python(kernel), ""])
