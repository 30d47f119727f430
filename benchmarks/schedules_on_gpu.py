"""Schedules chosen by `polygen.optimize` on a GPU, beside recipes by hand and NVIDIA's libraries.

    python -m benchmarks.schedules_on_gpu [right] [products] [doubles] [halves] [streams]

Kernels are texts without a step.  Those of hand recipes are of examples/fast_product.py,
register_stencils.py and vector_transpose.py; the libraries are cuBLAS (TF32 off), and for what
memory binds, a copy on the device of as many bytes.  First, several processes choose, compile and
check all kernels; then each is measured alone: medians of 20, by the device's own clock.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from os import cpu_count
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_device import Cuda, copied_bytes_per_second
from benchmarks.streaming import STREAMS, block, plate, streams, transposition
from examples import fast_product, register_stencils, vector_transpose

LOOPS = "{ [i,j,k,e]: 0<=i<n and 0<=j<m and 0<=k<l and 0<=e<g }"
MATMUL = "xp.matmul(a, b)"
SIDES, EDGE, LONG = 16384, 768, 2**28


@dataclass(frozen=True)
class Product:
    """A contraction as a text.

    Attributes:
        name: what it is called.
        text: what is computed.
        shapes: those of its arrays, the result last.
        sizes: n, m, l and g.
        peer: what NumPy, or CuPy, calls it; the names of the arrays are those of the text.
        dtype: the type of all arrays.
        is_fixed: whether the sizes are numbers in the code.
        hand: the name of a recipe by hand, if there is one.
    """

    name: str
    text: str
    shapes: dict[str, str]
    sizes: dict[str, int]
    peer: str
    dtype: str = "float32"
    is_fixed: bool = False
    hand: str = ""

    def kernel(self) -> pg.Kernel:
        """Return the kernel without a step."""
        used = [name for name in self.sizes if any(name in s for s in self.shapes.values())]
        bounds = {"i": "n", "j": "m", "k": "l", "e": "g"}
        loops = [i for i, size in bounds.items() if f"{i}" in _inames(self.text)]
        ends = " and ".join(f"0<={i}<{bounds[i] if bounds[i] in used else 'n'}" for i in loops)
        arrays = [pg.GlobalArg(x, self.dtype, s, alignment=16) for x, s in self.shapes.items()]
        knl = pg.make_kernel(
            f"{{ [{','.join(loops)}]: {ends} }}",
            self.text,
            [*arrays, "..."],
            name="product",
            target="cuda",
        )
        fixed = {name: self.sizes[name] for name in used}
        return pg.fix_parameters(knl, **fixed) if self.is_fixed else knl

    def arrays(self, xp: Any) -> dict[str, Any]:
        """Return small whole numbers, whose sums are exact, in CuPy's or NumPy's arrays."""
        rng = np.random.default_rng(1)
        most = 1 if self.dtype == "float16" else 4
        shapes = {x: eval(f"({s},)", {}, dict(self.sizes)) for x, s in self.shapes.items()}  # noqa: S307
        return {
            x: xp.asarray(rng.integers(-most, most + 1, size=shape, dtype=np.int8)).astype(
                self.dtype
            )
            for x, shape in shapes.items()
        }

    def expected(self, xp: Any, arrays: dict[str, Any]) -> Any:
        """Return the result of the library."""
        return eval(self.peer, {"xp": xp}, arrays)  # noqa: S307  (these are written below)


def _inames(text: str) -> set[str]:
    """Return the loops that a text mentions."""
    return {x for x in "ijke" if any(f"{a}{x}{b}" in text for a in "[,(+ *" for b in ",]+ *")}


NN = {"a": "n, l", "b": "l, m", "c": "n, m"}
BATCH = {"a": "g, n, l", "b": "g, l, m", "c": "g, n, m"}
TEXT = "c[i,j] = sum(k, a[i,k]*b[k,j])"
BATCHED = "c[e,i,j] = sum(k, a[e,i,k]*b[e,k,j])"


def size(n: int, m: int, l: int, g: int = 1) -> dict[str, int]:  # noqa: E741
    return {"n": n, "m": m, "l": l, "g": g}


def measured_products(dtype: str) -> Iterator[Product]:
    """Yield those that are measured: sizes known, and not."""
    for fixed in (True, False):
        for n in (4096, 2048, 4093, 1000):
            hand = ("whole" if n % 1024 == 0 else "padded") if n != 1000 else ""
            hand = hand if fixed else ""
            yield Product(f"{n}^3", TEXT, NN, size(n, n, n), MATMUL, dtype, fixed, hand)
        yield Product("64 x 512^3", BATCHED, BATCH, size(512, 512, 512, 64), MATMUL, dtype, fixed)
        for n, m, l in ((4096, 4096, 64), (64, 64, 4096), (4096, 64, 4096), (64, 4096, 64)):  # noqa: E741
            name = f"{n} x {l} x {m}"
            yield Product(name, TEXT, NN, size(n, m, l), MATMUL, dtype, fixed)


def of_halves() -> Iterator[Product]:
    """Yield products of halves, added up as float32: sizes known, and not."""
    for case in measured_products("float16"):
        text = re.sub(r"([ab]\[[^\]]*\])", r"float32(\1)", case.text)
        yield replace(case, text=text, hand="")


def other_forms() -> Iterator[Product]:
    """Yield contractions of other forms, measured at 4096."""
    n, m, l = 4096, 4096, 4096  # noqa: E741
    s = size(n, m, l)
    yield Product("a^T b", "c[i,j] = sum(k, a[k,i]*b[k,j])", {**NN, "a": "l, n"}, s, "a.T @ b")
    yield Product("a b^T", "c[i,j] = sum(k, a[i,k]*b[j,k])", {**NN, "b": "m, l"}, s, "a @ b.T")
    yield Product(
        "a^T b^T",
        "c[i,j] = sum(k, a[k,i]*b[j,k])",
        {**NN, "a": "l, n", "b": "m, l"},
        s,
        "a.T @ b.T",
    )
    square = {"a": "n, l", "c": "n, n"}
    yield Product("a a^T", "c[i,j] = sum(k, a[i,k]*a[j,k])", square, s, "a @ a.T")
    yield Product(
        "bias, max",
        "c[i,j] = fmax(sum(k, a[i,k]*b[k,j]) + d[j], 0)",
        {**NN, "d": "m"},
        s,
        "xp.maximum(a @ b + d, 0)",
    )
    yield Product(
        "(a a + 1) b", "c[i,j] = sum(k, (a[i,k]*a[i,k] + 1)*b[k,j])", NN, s, "(a*a + 1) @ b"
    )
    yield Product(
        "2 a b + 3 c", "c[i,j] = 2*sum(k, a[i,k]*b[k,j]) + 3*c[i,j]", NN, s, "2*(a @ b) + 3*c"
    )


def checked_products() -> Iterator[Product]:
    """Yield contractions of odd sizes and all forms, to be compared with NumPy's results."""
    for form in other_forms():
        for n, m, l in ((300, 517, 129), (129, 64, 1000)):  # noqa: E741
            yield Product(form.name, form.text, form.shapes, size(n, m, l), form.peer)
    for dtype in ("float32", "float64"):
        for n, m, l, g in (  # noqa: E741
            (97, 101, 103, 1),
            (256, 256, 256, 1),
            (64, 64, 4093, 1),
            (33, 2000, 65, 1),
        ):
            yield Product("a b", TEXT, NN, size(n, m, l, g), "a @ b", dtype)
            yield Product("a b", TEXT, NN, size(n, m, l, g), "a @ b", dtype, is_fixed=True)
        yield Product("batch", BATCHED, BATCH, size(50, 70, 90, 5), "a @ b", dtype)
        shapes = {**BATCH, "a": "n, l"}
        text = "c[e,i,j] = sum(k, a[i,k]*b[e,k,j])"
        yield Product("one a", text, shapes, size(128, 128, 128, 3), "a @ b", dtype)


# --- choosing


def chosen(case: Product) -> tuple[pg.Kernel, float]:
    """Return a kernel with its schedule, checked, and the seconds that choosing took."""
    import cupy  # noqa: PLC0415  (only where it is used)

    warnings.simplefilter("ignore")
    knl = case.kernel()
    begin = time.process_time()
    fast = pg.optimize(knl, pg.Limits.of_device(), sizes=case.sizes)
    taken = time.process_time() - begin
    arrays = case.arrays(cupy)
    expected = case.expected(cupy, arrays)
    _, (found,) = fast(**arrays)
    assert fast.history, case
    largest = float(abs(expected).max())
    assert float(abs(found - expected).max()) <= 1e-5 * max(largest, 1.0), case
    return fast, taken


def all_chosen(cases: list[Product]) -> list[tuple[pg.Kernel, float]]:
    with ProcessPoolExecutor(min(14, cpu_count() or 1), get_context("spawn")) as pool:
        return list(pool.map(chosen, cases))


# --- measuring


def by_hand(case: Product) -> pg.Kernel:
    """Return the kernel of a hand recipe, as in cuda_product.py."""
    n = case.sizes["n"]
    is_double = case.dtype == "float64"
    double = fast_product.Shape(rows=64, columns=64, depth=16, items=(4, 8, 2), lanes=2, resident=4)
    if case.hand == "whole":
        shape = double if is_double else fast_product.Shape()
        return fast_product.recipe(case.dtype, shape, n=n, m=n, l=n)
    shape = double if is_double else fast_product.Shape(columns=128, items=(8, 16, 2), resident=2)
    return fast_product.padded_recipe(case.dtype, shape, n=n, m=n, l=n)


def products(device: Cuda, cases: list[Product]) -> None:
    """Print the times of contractions beside cuBLAS's and those of hand recipes."""
    print("product                      sizes    cuBLAS       hand   optimize   / cuBLAS  / hand")
    ratios = []
    for case, (fast, taken) in zip(cases, all_chosen(cases), strict=True):
        arrays = case.arrays(device.cupy)
        peer = partial(case.expected, device.cupy, arrays)
        if case.peer == MATMUL:
            peer = partial(device.cupy.matmul, arrays["a"], arrays["b"], out=arrays["c"])
        theirs = device.milliseconds(peer)
        ours = device.milliseconds(partial(device.call, fast, **arrays))
        hand = 0.0
        if case.hand:
            hand = device.milliseconds(partial(device.call, by_hand(case), **arrays))
        shown = [f"{hand:8.3f}" if hand else 8 * " ", f"{ours:8.3f}", f"{ours / theirs:8.2f}"]
        against = f"{ours / hand:6.2f}" if hand else 6 * " "
        known = "known" if case.is_fixed else "any"
        first = str(fast.choices[0]).partition(":")[0]
        print(
            f"{case.dtype} {case.name:20} {known:5} {theirs:8.3f}  {'  '.join(shown)}  {against}  "
            f"{taken:.1f} s  {first}",
            flush=True,
        )
        ratios.append(ours / theirs)
    print(f"geometric mean: {np.exp(np.mean(np.log(ratios))):.2f}")


def right(_: Cuda) -> None:
    """Compare contractions of odd sizes and all forms with NumPy's."""
    cases = list(checked_products())
    all_chosen(cases)
    print(f"{len(cases)} products are right")


def singles(device: Cuda) -> None:
    """Measure products in single precision."""
    products(device, [*measured_products("float32"), *other_forms()])


def doubles(device: Cuda) -> None:
    """Measure products in double precision; cuBLAS has tensor cores for these."""
    products(device, [c for c in measured_products("float64") if c.is_fixed])


def halves(device: Cuda) -> None:
    """Measure products in half precision, which tensor cores add up in single precision."""
    products(device, list(of_halves()))


def plain_kernels() -> dict[str, pg.Kernel]:
    """Return the kernels of benchmarks/streaming.py without a step."""
    found: dict[str, pg.Kernel] = {}
    for name, (text, used) in STREAMS.items():
        arrays = [pg.GlobalArg(x, "float32", "n", alignment=16) for x in used]
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [*arrays, "..."])
        found[name] = pg.assume(knl, "n mod 1024 = 0 and n >= 1")
    found["5-point stencil"] = pg.assume(
        register_stencils.make_plate(), "n mod 4 = 0 and m mod 4096 = 0"
    )
    found["27-point stencil"] = pg.assume(
        register_stencils.make_block(), "l mod 8 = 0 and n mod 8 = 0 and m mod 256 = 0"
    )
    found["transposition"] = vector_transpose.make_transpose()
    return found


def memory_bound(device: Cuda) -> None:
    """Print the times of what memory binds beside those of hand recipes and of a copy."""
    copied = copied_bytes_per_second(device, LONG)
    print(f"copy on the device: {copied / 1e12:.2f} TB/s")
    print("kernel            hand, ms  optimize   / hand   / copy   choosing")
    plain = plain_kernels()
    sizes = {
        "5-point stencil": {"n": SIDES, "m": SIDES},
        "27-point stencil": {"l": EDGE, "n": EDGE, "m": EDGE},
        "transposition": {"n": SIDES, "m": SIDES},
    }
    makers: list[Callable[[], Any]] = [
        partial(plate, device, SIDES),
        partial(block, device, EDGE),
        partial(transposition, device, SIDES),
    ]
    hand = [*streams(device, LONG), *(make() for make in makers)]
    for case in hand:
        begin = time.process_time()
        knl = plain[case.name].copy(target="cuda")
        fast = pg.optimize(knl, pg.Limits.of_device(), sizes=sizes.get(case.name, {"n": LONG}))
        chosen_in = time.process_time() - begin
        given = {x: a for x, a in case.given.items() if x in knl.variables}
        if "s" in given:
            given["s"] = np.float32(2)
        by_hand_ms = device.milliseconds(partial(device.call, case.kernel, **case.given))
        for array in [x for x in given if x in knl.writers and x not in _read(knl)]:
            given[array][...] = 0
        device.call(fast, **given)
        if case.name.endswith(("stencil", "transposition")):  # check calls the hand recipe else
            assert case.check(), case.name
        ours = device.milliseconds(partial(device.call, fast, **given))
        print(
            f"{case.name:16} {by_hand_ms:8.3f}  {ours:8.3f}  {ours / by_hand_ms:6.2f}   "
            f"{ours * copied / case.moved / 1e3:6.2f}   {chosen_in:.2f} s   {fast.choices[0]}",
            flush=True,
        )


def _read(knl: pg.Kernel) -> set[str]:
    return {name for insn in knl.instructions for name in insn.read_names}


def main() -> None:
    warnings.simplefilter("ignore")
    device = Cuda()
    print(device.name)
    parts = {"right": right, "products": singles, "doubles": doubles, "halves": halves}
    parts["streams"] = memory_bound
    for name in sys.argv[1:] or parts:
        begin = time.time()
        parts[name](device)
        print(f"{name}: {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
