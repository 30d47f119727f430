"""What a checkout of NPBench says of its kernels: sizes, inputs, and where each version is.

Imports nothing but NumPy: the processes of all peers use it.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Above this, relative to the result's norm, an answer is wrong; and so are elements that differ by
# more than these: NPBench's own rule.
RELATIVE, ABSOLUTE, NORM = 1e-5, 1e-8, 1e-5


class Left(NamedTuple):
    """What a call left: results, arguments that it is to write, and all arrays among them."""

    returned: list[Any]
    written: list[Any]
    arrays: list[Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel of NPBench's.

    Attributes:
        name: of the file that describes it.
        about: what that file says.
    """

    name: str
    about: dict[str, Any]

    @property
    def module(self) -> str:
        """The name of the module that makes inputs, with which all versions' names begin."""
        folder = self.about["relative_path"].replace("/", ".")
        return f"npbench.benchmarks.{folder}.{self.about['module_name']}"

    def function(self, version: str) -> Callable[..., Any] | None:
        """Return the function of a version, such as ``"numpy"``; None if there is none."""
        name = f"{self.module}_{version}"
        if importlib.util.find_spec(name) is None:
            return None
        found: Callable[..., Any] = getattr(importlib.import_module(name), self.about["func_name"])
        return found

    def inputs(self, size: str) -> dict[str, Any]:
        """Return all that the function takes, by name, and the sizes."""
        values = dict(self.about["parameters"][size])
        start = self.about["init"]
        if start and start.get("func_name"):
            make = getattr(importlib.import_module(self.module), start["func_name"])
            made = make(*[values[name] for name in start["input_args"]])
            made = made if isinstance(made, tuple) else (made,)
            values.update(zip(start["output_args"], made, strict=True))
        return {name: values[name] for name in self.about["input_args"]}

    def copied(self, inputs: dict[str, Any], move: Callable[[Any], Any]) -> list[Any]:
        """Return arguments for one call: arrays are copied, to where a peer has them."""
        arrays = self.about.get("array_args", [])
        return [
            move(np.array(value)) if name in arrays else copy.deepcopy(value)
            for name, value in inputs.items()
        ]

    def left(self, result: Any, arguments: Sequence[Any]) -> Left:
        """Return what a call returned, what it wrote of its arguments, and all of these."""
        returned = [] if result is None else list(result) if isinstance(result, tuple) else [result]
        names, arrays = self.about["input_args"], self.about.get("array_args", [])
        named = dict(zip(names, arguments, strict=True))
        written = [named[name] for name in self.about["output_args"]]
        return Left(returned, written, [named[name] for name in names if name in arrays])


def kernels(root: Path) -> dict[str, Kernel]:
    """Return the kernels of a checkout by name, and let its modules be imported."""
    sys.path.insert(0, str(root))
    found = {}
    for path in sorted((root / "bench_info").glob("*.json")):
        found[path.stem] = Kernel(path.stem, json.loads(path.read_text())["benchmark"])
    return found


def wrong(expected: Left, found: Left) -> str | None:
    """Return how results differ from NumPy's, by NPBench's rule; None if they do not.

    A library whose arrays cannot be written, such as JAX, returns what others write: then each of
    its results has to be one of NumPy's, or an argument of NumPy's as it is after the call.
    """
    meant, those = expected.returned + expected.written, found.returned + found.written
    if len(expected.returned) != len(found.returned):
        meant = [_closest(one, meant + expected.arrays) for one in found.returned]
        those = found.returned
    if not those:
        return "there is no result"
    parts = [_difference(*pair) for pair in zip(meant, those, strict=True)]
    return next((text for text in parts if text), None)


def _closest(found: Any, some: Sequence[Any]) -> Any:
    """Return the value that a result is, else one of its shape."""
    alike = [one for one in some if np.shape(one) == np.shape(found)] or list(some)
    return next((one for one in alike if _difference(one, found) is None), alike[0])


def _difference(expected: Any, found: Any) -> str | None:
    one, other = np.asarray(expected), np.asarray(found)
    if one.shape != other.shape:
        return f"shape {other.shape}, not {one.shape}"
    if np.allclose(one, other, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
        return None
    error = float(np.linalg.norm((one - other).ravel()) / np.linalg.norm(one.ravel()))
    return None if error < NORM else f"off by {error:.1e} of the norm"
