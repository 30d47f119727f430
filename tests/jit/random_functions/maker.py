"""Random functions as text, with arguments; what they compute is what CPython and NumPy say."""

from __future__ import annotations

import random
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.jit.random_functions.scope import COMPLEX, DTYPES, Scope, Value, array_of
from tests.jit.random_functions.statements import block, indented, result

HELPERS = {
    "halved_sum": "def halved_sum(x, y):\n    return 0.5 * (x + y)\n",
    "linear": "def linear(x, y):\n    z = 2 * x\n    z = z - y\n    return z\n",
}
HEADER = "import numpy as np\n\n\n" + "\n\n".join(HELPERS.values())
SHAPES = (("n",), ("n",), ("m",), ("n", "m"), ("n", "n"))


def halved_sum(x: Any, y: Any) -> Any:
    return 0.5 * (x + y)


def linear(x: Any, y: Any) -> Any:
    return 2 * x - y


@dataclass(frozen=True)
class Function:
    """A function of one argument list.

    Attributes:
        seed: makes it again.
        text: a definition.
        parameters: the type and the axes of each argument; of a size, and of a number, none.
    """

    seed: int
    text: str
    parameters: tuple[tuple[str, str, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        return f"f_{self.seed}"

    @property
    def source(self) -> str:
        """A module with the function."""
        return f"{HEADER}\n\n{self.text}"

    def arguments(self, n: int, m: int) -> tuple[Any, ...]:
        """Return new arguments for two sizes; the same ones for the same sizes."""
        rng = np.random.default_rng((self.seed, n, m))
        sizes = {"n": n, "m": m}
        return tuple(_argument(rng, sizes, *parameter) for parameter in self.parameters)


def make(seed: int) -> Function:
    """Return the function of a seed."""
    scope = Scope(random.Random(seed))
    parameters: list[tuple[str, str, tuple[str, ...]]] = [("n", "size", ()), ("m", "size", ())]
    types = ["float64", "int64", *scope.random.choices(DTYPES, k=scope.random.randint(0, 2))]
    if scope.chance(0.15):
        types.append(scope.choice(COMPLEX))
    for dtype, name in zip(types, "abcde", strict=False):
        shape = scope.choice(SHAPES)
        scope.arrays.append(array_of(name, dtype, shape))
        parameters.append((name, dtype, shape))
    if scope.chance(0.3):
        scope.indices["n"] = "p"
        parameters.append(("p", "index", ("n",)))
    for name, sample in (("alpha", 1.0), ("count", 1)):
        if scope.chance(0.5):
            scope.scalars.append(Value(name, sample))
            parameters.append((name, type(sample).__name__, ()))
    if scope.chance(0.2):
        scope.helpers = {"halved_sum": halved_sum, "linear": linear}
    with np.errstate(all="ignore"):  # of ones that stand for values
        body = block(scope, scope.random.randint(2, 4), 3) + result(scope)
    head = f"def f_{seed}({', '.join(name for name, *_ in parameters)}):"
    return Function(seed, "\n".join([head, *indented(body), ""]), tuple(parameters))


def _argument(
    rng: np.random.Generator, sizes: dict[str, int], name: str, dtype: str, shape: tuple[str, ...]
) -> Any:
    if dtype == "size":
        return sizes[name]
    if dtype == "float":
        return float(rng.integers(-8, 9)) / 4
    if dtype == "int":
        return int(rng.integers(-4, 9))
    extents = tuple(sizes[length] for length in shape)
    if dtype == "index":
        return rng.integers(0, max(extents[0], 1), extents)
    return elements(rng, np.dtype(dtype), extents)


def elements(
    rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return quarters, integers of two digits, or all that eight bits can be."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "c":
        return (rng.integers(-8, 9, shape) + 1j * rng.integers(-8, 9, shape)).astype(dtype) / 4
    if dtype.kind == "f":
        return (rng.integers(-16, 17, shape) / 4).astype(dtype)
    if dtype.itemsize == 1:
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
    return rng.integers(0 if dtype.kind == "u" else -50, 51, shape).astype(dtype)


def compiled(function: Function) -> Callable[..., Any]:
    """Return a function as CPython has it."""
    names: dict[str, Any] = {}
    exec(compile(function.source, f"<{function.name}>", "exec"), names)  # noqa: S102  its own text
    found: Callable[..., Any] = names[function.name]
    return found


def expected(function: Function, n: int, m: int) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the result of a call, and its arguments afterwards; None if Python raises an error.

    Beyond the range of a type, of a slice, or by zero: what then holds is not asked here.  Neither
    is what takes long: loops that never end, in functions from which too much was left out.
    """
    arguments = function.arguments(n, m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _soon():
                found = compiled(function)(*arguments)
        except (OverflowError, ZeroDivisionError, IndexError, ValueError, TimeoutError):
            return None
    return found, arguments


@contextmanager
def _soon() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
