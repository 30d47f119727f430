"""Batched products, the Coulomb potential and finite elements, beside what binds them.

    python -m benchmarks.bound cuda|opencl|loopy [size [name]]

One process for each: NVIDIA's OpenCL and NVRTC do not work in one.  The recipes are those of the
examples, or Loo.py's own (benchmarks/loopy_recipes.py, through OpenCL).  What binds a kernel is the
largest of: bytes that have to move, over the rate at which the device copies; operations, over the
rates of fused multiplications and additions; instructions, of which a multiplication that is added
to something is one, over the rate of those.  These rates are measured first.  The size, 1 if it is
not given, is what the numbers of matrices, points and elements are divided by; with a name, only
cases are measured in whose name it is.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_device import Cuda, Device, OpenCL, copied_bytes_per_second, rate
from examples import batched_products, coulomb_potential, finite_elements
from examples.finite_elements import face_nodes, nodes, random_mesh

ORDERS, SIZES, DTYPES = (3, 4, 5, 6, 7), (4, 8, 16, 32), ("float32", "float64")
ELEMENTS = {3: 2**20, 4: 2**19, 5: 2**19, 6: 3 * 2**17, 7: 2**18}
IN_CODE = 4  # up to this order, matrices are numbers in the code
# Items along elements, rows in a piece, resident groups; with OpenCL, a group has 48 KiB and no
# asynchronous copies, and so one piece at a time.
TILES = {
    "cuda": {
        "volume": {5: (8, 28, 2), 6: (6, 28, 2), 7: (4, 24, 2)},
        "surface": {5: (8, 28, 4), 6: (6, 28, 3), 7: (8, 36, 2)},
    },
    "opencl": {
        "volume": {5: (8, 28, 2), 6: (6, 28, 2), 7: (4, 20, 2)},
        "surface": {5: (8, 28, 4), 6: (6, 28, 3), 7: (4, 36, 4)},
    },
}
PAIR = 8  # instructions: three differences, a square, two added, the root, a product added
CHECKED = 200  # elements of which the results are compared


@dataclass(frozen=True)
class Case:
    """What is computed on a device.

    Attributes:
        name: what it is called.
        ours: makes polygen's kernel.
        theirs: makes Loo.py's.
        given: its arguments.
        check: tells whether the result is right, after a call.
        moved: how many bytes have to be read and written.
        instructions: how many have to be carried out, for numbers of `dtype`.
        roots: how many of these are reciprocal square roots.
        known: the arguments that polygen's kernel has in its code.
    """

    name: str
    ours: Callable[[], pg.Kernel]
    theirs: Callable[[Any], Any]
    given: Mapping[str, Any]
    check: Callable[[], bool]
    moved: int
    instructions: int
    dtype: str = "float32"
    roots: int = 0
    known: tuple[str, ...] = ()


def close(found: Any, wanted: Any) -> bool:
    return bool(np.allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max()))


def products(device: Device, size: int, dtype: str, less: int) -> Case:
    width = np.dtype(dtype).itemsize
    n = 2**30 // (size**2 * width) // less
    a, b, c = (device.random((n, size, size), dtype) for _ in range(3))
    group = batched_products.group_of(size, dtype)[2]

    def ours() -> pg.Kernel:
        knl = batched_products.in_groups(size, dtype)
        return pg.assume(knl, f"n mod {group} = 0 and n >= 1")

    def check() -> bool:
        left, right, found = (device.download(x[:CHECKED]) for x in (a, b, c))
        return close(found, left @ right)

    given = {"a": a, "b": b, "c": c}
    return Case(
        f"products {size:2} {dtype}",
        ours,
        lambda recipes: recipes.products(size, dtype),
        given,
        check,
        3 * n * size**2 * width,
        n * size**3,
        dtype,
    )


def coulomb(device: Device, less: int) -> Case:
    n, m = 2**20 // less, 2**13
    points = np.random.default_rng(1).random((n, 3), np.float32)
    charges = np.random.default_rng(2).random((m, 4), np.float32) + np.float32(1.5)
    potential = device.random((n,))

    def ours() -> pg.Kernel:
        return pg.assume(coulomb_potential.prefetched(), "n mod 512 = 0 and m mod 128 = 0")

    def check() -> bool:
        wanted = coulomb_potential.expected(points[:CHECKED].astype(float), charges)
        return close(device.download(potential[:CHECKED]), wanted)

    given = {
        "point": device.upload(points),
        "source": device.upload(charges),
        "potential": potential,
    }
    moved = 4 * (4 * n + 4 * m)
    return Case(
        "Coulomb",
        ours,
        lambda recipes: recipes.coulomb(),
        given,
        check,
        moved,
        PAIR * n * m,
        roots=n * m,
    )


def in_tiles(device: Device, make: Callable[..., pg.Kernel], name: str, order: int) -> pg.Kernel:
    on_cuda = isinstance(device, Cuda)
    down, deep, resident = TILES["cuda" if on_cuda else "opencl"][name][order]
    return pg.set_options(make(order, down, deep, ahead=on_cuda), resident_groups=resident)


def volume(device: Device, order: int, less: int) -> Case:
    n, elements = nodes(order), ELEMENTS[order] // less
    D = np.random.default_rng(order).normal(size=(3, n, n)).astype(np.float32)
    u, geo = device.random((elements, n)), device.random((elements, 3, 3))
    gradient = device.random((3, elements, n))

    def ours() -> pg.Kernel:
        if order <= IN_CODE:
            knl = finite_elements.volume_in_code(order, D)
            return pg.set_options(knl, resident_groups={3: 11, 4: 8}[order])
        return in_tiles(device, finite_elements.volume_in_tiles, "volume", order)

    def check() -> bool:
        some = (device.download(x[:CHECKED]).astype(float) for x in (u, geo))
        wanted = np.einsum("rji,ej,erx->xei", D, *some)
        return close(device.download(gradient[0])[:CHECKED], wanted[0])

    given = {"D": device.upload(D), "u": u, "geo": geo, "gradient": gradient}
    return Case(
        f"dG volume, order {order}",
        ours,
        lambda recipes: recipes.volume(order),
        given,
        check,
        4 * elements * (4 * n + 9),
        elements * (3 * n * n + 9 * n),
        known=("D",) if order <= IN_CODE else (),
    )


def surface(device: Device, order: int, less: int) -> Case:
    n, f, elements = nodes(order), face_nodes(order), ELEMENTS[order] // less
    lift = np.random.default_rng(order).normal(size=(4 * f, n)).astype(np.float32)
    mesh = random_mesh(order, elements, near=500)
    change = device.random((elements, n))

    def ours() -> pg.Kernel:
        if order <= IN_CODE:
            return finite_elements.surface_in_code(order, lift)
        return in_tiles(device, finite_elements.surface_in_tiles, "surface", order)

    def check() -> bool:
        some = {name: mesh[name][:CHECKED] for name in ("scale", "outside", "inside")}
        jump = mesh["u"][some["outside"]] - mesh["u"][some["inside"]]
        flux = np.repeat(some["scale"], f, axis=1).astype(float) * jump
        return close(device.download(change[:CHECKED]), flux @ lift)

    given = {name: device.upload(array) for name, array in mesh.items()}
    return Case(
        f"dG surface, order {order}",
        ours,
        lambda recipes: recipes.surface(order),
        given | {"lift": device.upload(lift), "change": change},
        check,
        elements * (32 * f + 16 + 8 * n),  # two tables of places, scale, u and change
        elements * (4 * f * n + 8 * f),
        known=("lift",) if order <= IN_CODE else (),
    )


def cases(device: Device, less: int, name: str) -> Iterator[Case]:
    for dtype in DTYPES:
        for size in SIZES:
            if name in f"products {size:2} {dtype}":
                yield products(device, size, dtype, less)
    if name in "Coulomb":
        yield coulomb(device, less)
    for order in ORDERS:
        if name in f"dG volume, order {order}":
            yield volume(device, order, less)
        if name in f"dG surface, order {order}":
            yield surface(device, order, less)


@dataclass(frozen=True)
class Rates:
    """What a device does in a second: bytes that it copies, and instructions."""

    copied: float
    added: Mapping[str, float]
    roots: float

    @staticmethod
    def of(device: Device) -> Rates:
        """Measure a device."""
        added = {dtype: rate(device, "t*s + r", dtype) for dtype in DTYPES}
        roots = rate(device, "native_rsqrt(t)", "float32")
        return Rates(copied_bytes_per_second(device), added, roots)

    def bound(self, case: Case) -> tuple[float, str]:
        """Return how long a case takes at least, in seconds, and what binds it."""
        return max(
            (case.moved / self.copied, "memory"),
            (case.instructions / self.added[case.dtype], "arithmetic"),
            (case.roots / self.roots, "roots"),
        )


def of_polygen(device: Device, case: Case) -> Callable[[], Any]:
    knl = case.ours()
    given = {name: array for name, array in case.given.items() if name not in case.known}
    return lambda: device.call(knl, **given)


def of_loopy(device: Any, case: Case) -> Callable[[], Any]:
    from benchmarks import loopy_recipes  # noqa: PLC0415  (a peer, not installed everywhere)

    knl = case.theirs(loopy_recipes)
    return lambda: knl(device.queue, **case.given)[0]


def main(which: str, less: int, name: str) -> None:
    device: Device = Cuda() if which == "cuda" else OpenCL()
    rates = Rates.of(device)
    print(f"{device.name}, {which}")
    print(f"copy {rates.copied / 1e12:.2f} TB/s, instructions a second, in 10^12: ", end="")
    print(", ".join(f"{d} {r / 1e12:.2f}" for d, r in rates.added.items()), end=", ")
    print(f"roots {rates.roots / 1e12:.2f}")
    print("kernel                     ms  at least  bound         of it")
    for case in cases(device, less, name):
        run = (of_loopy if which == "loopy" else of_polygen)(device, case)
        device.milliseconds(run, 1)
        assert case.check(), case.name
        taken = device.milliseconds(run)
        least, what = rates.bound(case)
        part = f"{least * 1e5 / taken:4.0f} %"
        print(f"{case.name:21} {taken:8.3f} {least * 1e3:9.3f}  {what:10} {part}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = sys.argv[1:]
    main(given[0], int(given[1]) if len(given) > 1 else 1, given[2] if len(given) > 2 else "")
