"""Building and running the programs that polygen writes for other hosts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import polygen as pg

# Users' compilers may warn of whatever they like: nothing is to be found.
STRICT = "-O0 -Wall -Wextra -pedantic -Werror"


def mixed(number: Any) -> Any:
    """Return what host programs make of the bits of numbers, by the rule in `polygen_host.h`."""
    bits = np.asarray(number, np.int64).astype(np.uint64) & np.uint64(0xFFFFFFFF)
    for _ in range(2):
        bits = ((bits >> np.uint64(16)) ^ bits) * np.uint64(0x45D9F3B) & np.uint64(0xFFFFFFFF)
    return ((bits >> np.uint64(16)) ^ bits).astype(np.int64)


def filled(number: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Return what a host program fills its array of this number with, by the rule in docs."""
    k = np.arange(int(np.prod(shape, dtype=np.int64)))
    v = (mixed(k + 1000003 * number) % 61).reshape(shape)
    kind = np.dtype(dtype).kind
    if kind == "c":
        return (v / 64 + 1j * ((v + 5) % 61) / 64).astype(dtype)
    if kind in "iu":
        return (v % 8).astype(dtype)
    return (v % 2 == 1) if kind == "b" else (v / 64).astype(dtype)


def write_all(kernels: Iterable[pg.Kernel], target: str, folder: Path) -> None:
    """Write the files of kernels, each into a folder of its name."""
    for kernel in kernels:
        pg.emit(kernel, target, folder / kernel.name)


def make(folder: Path, *arguments: str, **environment: str) -> str:
    """Run make in a folder; return what it says."""
    return _said(["make", "--silent", *arguments], folder, environment)


def _said(command: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_host(
    folder: Path,
    arrays: Mapping[str, Any],
    numbers: Mapping[str, Any],
    outputs: Iterable[str],
    **environment: str,
) -> dict[str, Any]:
    """Run a program on arrays and numbers; return the arrays that it writes."""
    command = [f"./{folder.name}_host"]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        command.append(f"{name}={name}.npy")
    command += [f"{name}={text(number)}" for name, number in numbers.items()]
    for name in outputs:
        command += ["-o", f"{name}={name}_out.npy"]
    said = _said(command, folder, environment)
    found = {name: np.load(folder / f"{name}_out.npy") for name in outputs}
    for line in said.splitlines():
        check_shown(line, found)
    return found


def refused(folder: Path, *arguments: str) -> str:
    """Run a program that is to refuse its arguments; return what it says."""
    done = subprocess.run(
        [f"./{folder.name}_host", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return done.stderr


def text(number: Any) -> str:
    """Return a number as the command line of a host program takes it."""
    if isinstance(number, complex):
        return f"{number.real!r}{number.imag:+}j"
    return str(int(number)) if isinstance(number, bool) else str(number)


def check_shown(line: str, found: Mapping[str, Any]) -> None:
    """Check the line that a program prints of an array against the array that it saved."""
    name, dtype, shape, *rest = line.split()
    array = found[name]
    assert dtype == array.dtype.name
    assert shape == f"[{','.join(map(str, array.shape))}]"
    there, here = rest.index("mixed"), rest.index("first")
    wide = array.reshape(-1).astype(complex if array.dtype.kind == "c" else float)
    parts = wide.view(float)
    count = 2 if array.dtype.kind == "c" else 1
    sums = parts.reshape(-1, count).sum(axis=0)
    np.testing.assert_allclose([float(t) for t in rest[1:there]], sums, rtol=1e-12)
    weights = 1 + mixed(np.arange(len(wide))) % 61
    sums = (weights[:, None] * parts.reshape(-1, count)).sum(axis=0)
    np.testing.assert_allclose([float(t) for t in rest[there + 1 : here]], sums, rtol=1e-12)
    first = [float(t) for t in rest[here + 1 :]]
    np.testing.assert_allclose(first, parts[: 8 * count], rtol=1e-8)
