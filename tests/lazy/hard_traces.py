"""Sequences of calls that lazy evaluation could get wrong, each on views of its own.

A case is given a space and returns all that it computes.  With the space Debug, each call runs in
Python and at once: that is what a trace has to give, too.
"""

# What annotations of views and accumulators mean, polygen knows.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
# mypy: no-warn-unused-ignores
# mypy: disable-error-code="arg-type,attr-defined,index,misc,operator,type-arg,valid-type"

from __future__ import annotations

import math
from typing import Any

import numpy as np

import polygen as pg
import polygen.workunits as pk


@pk.workunit
def copied(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i] = x[i]


@pk.workunit
def added(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], s: float):
    y[i] += s * x[i]


@pk.workunit
def filled(i: int, x: pk.View1D[pk.double], value: float):
    x[i] = value


@pk.workunit
def raised(i: int, x: pk.View1D[pk.double], s: float):
    x[i] += s


@pk.workunit
def put(i: int, x: pk.View1D[pk.double], k: int):
    if i == k:
        x[i] = 99.0


@pk.workunit
def smoothed(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    y[i + 1] = (x[i] + x[i + 1] + x[i + 2]) / 3


@pk.workunit
def gathered(i: int, x: pk.View1D[pk.double], y: pk.View1D[pk.double], places: pk.View1D[pk.int64]):
    y[i] = x[places[i]]


@pk.workunit
def dot(i: int, acc: pk.Acc[pk.double], x: pk.View1D[pk.double], y: pk.View1D[pk.double]):
    acc += x[i] * y[i]


@pk.workunit
def moments(i: int, p: pk.Acc[pk.double], q: pk.Acc[pk.double], x: pk.View1D[pk.double]):
    p += x[i]
    q += x[i] * x[i]


@pk.workunit
def added_2d(i: int, j: int, a: pk.View2D[pk.double], b: pk.View2D[pk.double]):
    a[i][j] += 2 * b[i][j]


@pk.workunit
def stencil(i: int, j: int, a: pk.View2D[pk.double], b: pk.View2D[pk.double]):
    a[i + 1][j + 1] = b[i][j + 1] + b[i + 2][j + 1] - b[i + 1][j] - b[i + 1][j + 2]


@pk.workunit
def added_3d(i: int, j: int, k: int, a: pk.View3D[pk.double], b: pk.View3D[pk.double]):
    a[i][j][k] += 2 * b[i][j][k]


@pk.workunit
def row_sums(i: int, a: pk.View2D[pk.double], x: pk.View1D[pk.double]):
    t: float = 0
    for j in range(a.extent(1)):
        t += a[i][j]
    x[i] = t


@pk.workunit
def integers(i: int, a: pk.View1D[pk.int32], b: pk.View1D[pk.int32]):
    a[i] = a[i] * 3 + b[i] // 2


@pk.workunit
def sum_of_integers(i: int, acc: pk.Acc[pk.int64], a: pk.View1D[pk.int32]):
    acc += a[i]


@pk.workunit
def singles(i: int, a: pk.View1D[pk.float32], b: pk.View1D[pk.float32], s: float):
    a[i] = a[i] * s + b[i]


def view(values: Any) -> pk.View:
    """Return a view of numbers of its own."""
    return pk.View(array=np.array(values))


def box(space: pk.ExecutionSpace, *extents: Any) -> Any:
    """Return the policy of all subscripts below extents."""
    if len(extents) == 1:
        return pk.RangePolicy(space, 0, extents[0])
    return pk.MDRangePolicy(space, [0] * len(extents), list(extents))


# --- parts of views


def planes(space: pk.ExecutionSpace) -> Any:
    """Views of two subscripts, transposed ones, and parts of both."""
    a, b = view(np.arange(30.0).reshape(5, 6)), view(np.arange(30.0).reshape(5, 6)[::-1].copy())
    x = view(np.zeros(5))
    pk.parallel_for(box(space, 5, 6), added_2d, a=a, b=b)
    pk.parallel_for(box(space, 6, 5), added_2d, a=b.T, b=a.T)
    pk.parallel_for(box(space, 3, 4), stencil, a=b, b=a)
    pk.parallel_for(box(space, 2, 3), added_2d, a=a[1:3, 1:4], b=b[0:2, 0:3])
    pk.parallel_for(box(space, 3, 2), added_2d, a=a.T[1:4, 1:3], b=b.T[0:3, 0:2])
    pk.parallel_for(box(space, 5), row_sums, a=a, x=x)
    return a, b, x


def transposed(space: pk.ExecutionSpace) -> Any:
    """A view and itself transposed, in calls of one trace."""
    a, b = view(np.arange(25.0).reshape(5, 5)), view(np.ones((5, 5)))
    pk.parallel_for(box(space, 5, 5), added_2d, a=b, b=a)
    pk.parallel_for(box(space, 5, 5), added_2d, a=b, b=a.T)
    pk.parallel_for(box(space, 5, 5), added_2d, a=a.T, b=b)
    pk.parallel_for(box(space, 5, 5), added_2d, a=a, b=b.T)
    return a, b


def backwards(space: pk.ExecutionSpace) -> Any:
    """Parts with negative steps."""
    a, b = view(np.arange(16.0)), view(np.zeros(16))
    reverse = a[::-1]
    pk.parallel_for(box(space, 16), copied, x=reverse, y=b)
    pk.parallel_for(box(space, 16), added, x=b, y=a, s=2.0)
    pk.parallel_for(box(space, 16), added, x=b, y=reverse, s=3.0)
    pk.parallel_for(box(space, 5), added, x=b[::-3][:5], y=a[10:0:-2], s=3.0)
    return a, b


def solids(space: pk.ExecutionSpace) -> Any:
    """Views of three subscripts, and their planes and lines."""
    a, b = view(np.arange(24.0).reshape(2, 3, 4)), view(np.ones((2, 3, 4)))
    pk.parallel_for(box(space, 2, 3, 4), added_3d, a=a, b=b)
    pk.parallel_for(box(space, 2, 3, 2), added_3d, a=b[:, :, ::2], b=a[:, :, 1::2])
    pk.parallel_for(box(space, 2, 3), added_2d, a=b[:, :, 1], b=a[:, :, 2])
    pk.parallel_for(box(space, 3, 4), added_2d, a=b[1], b=a[0])
    pk.parallel_for(box(space, 4), copied, x=b[1, 2], y=a[0, 0])
    return a, b


def parts_of_parts(space: pk.ExecutionSpace) -> Any:
    """Views of views of views, of which those between are gone."""
    a = view(np.arange(40.0))
    u = a[2:38]
    v = u[1:-1:2]
    w, z = v[::2], a[0:20][5:15]
    pk.parallel_for(box(space, 9), added, x=z[:9], y=a[30:39], s=1.0)
    pk.parallel_for(box(space, 8), filled, x=w, value=5.0)
    del u, v
    pk.parallel_for(box(space, 10), filled, x=z, value=6.0)
    del a
    return w, z


def odd_orders(space: pk.ExecutionSpace) -> Any:
    """Views that are deleted while parts of them live, and the other way round."""
    a, out = view(np.arange(8.0)), view(np.zeros(8))
    b, c, d = view(np.zeros(8)), view(np.zeros(8)), view(np.zeros(8))
    pk.parallel_for(box(space, 8), added, x=a, y=b, s=2.0)
    e = b[0:4]
    del b
    pk.parallel_for(box(space, 8), added, x=a, y=c, s=2.0)
    pk.parallel_for(box(space, 8), added, x=c, y=d, s=2.0)
    del c
    pk.parallel_for(box(space, 4), added, x=e, y=d, s=2.0)
    del e
    pk.parallel_for(box(space, 8), copied, x=d, y=out)
    f = d[4:8]
    del d
    pk.parallel_for(box(space, 4), added, x=f, y=out, s=-1.0)
    return out, f


def same_memory_again(space: pk.ExecutionSpace) -> Any:
    """Views that are made and deleted in turn, known by their parts alone."""
    total = view(np.zeros(8))
    for k in range(10):
        made = pk.View([8])
        pk.parallel_for(box(space, 8), filled, x=made, value=float(k))
        part = made[0:8:1]
        del made
        pk.parallel_for(box(space, 8), added, x=part, y=total, s=1.0)
        del part
    return total


def two_in_turn(space: pk.ExecutionSpace) -> Any:
    """Two views that change places."""
    a, b = view(np.arange(8.0)), view(np.zeros(8))
    for _ in range(5):
        pk.parallel_for(box(space, 6), smoothed, x=a, y=b)
        a, b = b, a
    return a, b


def other_ranges(space: pk.ExecutionSpace) -> Any:
    """Ranges that begin and end elsewhere, empty ones, and those of one."""
    a, b, nothing = view(np.arange(12.0)), view(np.zeros(12)), view(np.zeros(0))
    for low, high in ((2, 9), (4, 12), (4, 4), (0, 1)):
        pk.parallel_for(pk.RangePolicy(space, low, high), added, x=a, y=b, s=1.0)
        pk.parallel_for(box(space, 5), added, x=b, y=a, s=1.0)
    pk.parallel_for(box(space, 0), copied, x=nothing, y=nothing)
    zero = pk.parallel_reduce(box(space, 0), dot, x=nothing, y=nothing)
    pk.parallel_for(box(space, 12), added, x=b, y=a, s=zero)
    return a, b, float(zero)


def places(space: pk.ExecutionSpace) -> Any:
    """Subscripts that are data."""
    x, y, at = view(np.arange(8.0)), view(np.zeros(8)), view(np.arange(8)[::-1].copy())
    pk.parallel_for(box(space, 8), gathered, x=x, y=y, places=at)
    pk.parallel_for(box(space, 8), gathered, x=y, y=x, places=at)
    pk.parallel_for(box(space, 8), added, x=x, y=y, s=1.0)
    return x, y


# --- types, shapes


def other_types(space: pk.ExecutionSpace) -> Any:
    """Integers and singles, and numbers computed of them."""
    a, b = view(np.arange(8, dtype=np.int32)), view(np.arange(8, dtype=np.int32) - 5)
    f, g = view(np.arange(8, dtype=np.float32)), view(np.linspace(0, 1, 8).astype(np.float32))
    for _ in range(3):
        pk.parallel_for(box(space, 8), integers, a=a, b=b)
        n = pk.parallel_reduce(box(space, 8), sum_of_integers, a=a)
        pk.parallel_for(box(space, 8), singles, a=f, b=g, s=n * 0.001)
    return a, f, int(n), n // 7, n % 5, n / 3, -n


def numbers_of_kinds(space: pk.ExecutionSpace) -> Any:
    """Numbers of Python's and of NumPy's, and both zeros."""
    x, y = view(np.zeros(8)), view(np.ones(8))
    for s in (1, 1.0, True, np.float32(1.5), np.int64(3), 0.0, -0.0):
        pk.parallel_for(box(space, 8), added, x=y, y=x, s=s)
    return x


def other_shapes(space: pk.ExecutionSpace) -> Any:
    """Views that get other extents and other types between calls."""
    a, b, g = view(np.arange(8.0)), view(np.zeros(8)), view(np.ones(8, np.float32))
    pk.parallel_for(box(space, 8), added, x=a, y=b, s=2.0)
    a.resize(0, 12)
    pk.parallel_for(box(space, 12), filled, x=a, value=4.0)
    pk.parallel_for(box(space, 8), added, x=a, y=b, s=1.0)
    b.set_precision(np.float32)
    pk.parallel_for(box(space, 8), singles, a=b, b=g, s=0.5)
    a.resize(0, 3)
    pk.parallel_for(box(space, 3), filled, x=a, value=1.0)
    return a, b


# --- numbers that calls compute


def several_accumulators(space: pk.ExecutionSpace) -> Any:
    """Numbers of one call, of which some are gone."""
    x, y = view(np.arange(8.0)), view(np.ones(8))
    p, q = pk.parallel_reduce(box(space, 8), moments, x=x)
    pk.parallel_for(box(space, 8), added, x=x, y=y, s=p / q)
    del p
    r, s = pk.parallel_reduce(box(space, 8), moments, x=y)
    pk.parallel_for(box(space, 8), added, x=x, y=y, s=s - q)
    return y, float(q), float(r)


def sizes(space: pk.ExecutionSpace) -> Any:
    """Numbers as bounds, subscripts, arguments and extents."""
    a, x, y = view(np.array([1, 2, 1, 1], np.int32)), view(np.arange(9.0)), view(np.zeros(9))
    n = pk.parallel_reduce(box(space, 4), sum_of_integers, a=a)
    pk.parallel_for(box(space, n), copied, x=x, y=y)
    pk.parallel_for(box(space, 9), put, x=y, k=n)
    pk.parallel_for(box(space, 9), put, x=y, k=n + 2)
    one, part = x[n], x[0:n]
    pk.parallel_for(box(space, n - 1), filled, x=part, value=n)
    made = pk.View([n])
    made.fill(n)
    return y, x, float(one), made


def arithmetic(space: pk.ExecutionSpace) -> Any:
    """All that is done with a number of Python's."""
    x, y = view(np.arange(1, 9.0)), view(np.ones(8))
    r = pk.parallel_reduce(box(space, 8), dot, x=x, y=y)
    found = [1 - r, 1 / r, 100 // r, 100 % r, r**2, 2 ** (r / 36), r // 5, r % 5, -r, +r]
    found += [abs(-r), round(r / 7, 2), *divmod(r, 5), *divmod(100, r), min(r, 3), max(r, 3)]
    found += [sum([r, r]), np.float64(2) * r, r * np.float64(2), bool(r), int(r), complex(r)]
    found += [math.floor(r / 7), math.ceil(r / 7), math.sqrt(r), math.trunc(r / 7)]
    found += [np.sqrt(r), np.exp(-r / 10), np.array([1.0, 2.0]) * r, r * np.array([1.0, 2.0])]
    found += [np.array([r, r], float), hash(r) == hash(36.0), f"{r:.2f}" == "36.00"]
    pk.parallel_for(box(space, 8), filled, x=x, value=r)
    return [*found, r * x, x * r, x + r, x]


def long_sum(space: pk.ExecutionSpace) -> Any:
    """Arithmetic of thousands of numbers."""
    x = view(np.ones(4))
    total = pk.parallel_reduce(box(space, 4), dot, x=x, y=x)
    for _ in range(3000):
        total = total + 1.0
    return float(total)


# --- what else is done with views


def as_arrays(space: pk.ExecutionSpace) -> Any:
    """What NumPy does with views, between calls."""
    x, y = view(np.arange(8.0)), view(np.zeros(8))
    pk.parallel_for(box(space, 8), added, x=x, y=y, s=1.0)
    z = np.add(x, y)
    pk.parallel_for(box(space, 8), added, x=z, y=y, s=1.0)
    w = y.sum()
    y += 1
    pk.parallel_for(box(space, 8), added, x=z, y=y, s=1.0)
    q = np.sum(y)
    y[2:4] = 5
    y[[1, 2]] = 7
    pk.parallel_for(box(space, 8), added, x=y, y=x, s=1.0)
    x[y > 6] = 0
    return x, y, w, q, [float(one) for one in x]


def nested(space: pk.ExecutionSpace) -> Any:
    """A block of lazy calls within another one."""
    a, b, c = view(np.arange(8.0)), view(np.zeros(8)), view(np.zeros(8))
    pk.parallel_for(box(space, 8), added, x=a, y=b, s=2.0)
    with pk.lazy():
        pk.parallel_for(box(space, 8), added, x=b, y=c, s=2.0)
    before = np.array(c)
    pk.parallel_for(box(space, 8), added, x=b, y=c, s=2.0)
    return b, c, before


KERNEL = pg.add_dtypes(
    pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 3*a[i] + b[i]", target="c"),
    {"a": "float64", "b": "float64"},
)


def kernels(space: pk.ExecutionSpace) -> Any:
    """Kernels among calls of work units, on views and on parts of them."""
    a, b, c = view(np.arange(8.0)), view(np.zeros(8)), view(np.ones(8))
    pk.parallel_for(box(space, 8), added, x=a, y=b, s=2.0)
    KERNEL(a=a, b=b)
    pk.parallel_for(box(space, 8), added, x=b, y=c, s=1.0)
    total = pk.parallel_reduce(box(space, 8), dot, x=c, y=b)
    KERNEL(a=c, b=a)
    pk.parallel_for(box(space, 4), added, x=a[4:], y=b[:4], s=total)
    KERNEL(a=b[0:4], b=a[0:4])
    return a, b, c, float(total)


CASES = (
    planes, transposed, backwards, solids, parts_of_parts, odd_orders, same_memory_again,
    two_in_turn, other_ranges, places, other_types, numbers_of_kinds, other_shapes,
    several_accumulators, sizes, arithmetic, long_sum, as_arrays, nested, kernels,
)  # fmt: skip
