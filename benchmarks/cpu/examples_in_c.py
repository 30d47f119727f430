"""Examples that run in C: the kernel as it is written first, its own steps, and arguments.

Steps of examples that are about GPUs are taken as they are: groups and work items are loops in C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

import polygen as pg
from benchmarks.cpu.data import Data
from examples import (
    balanced_rows,
    batched_products,
    bisection,
    conjugate_gradients,
    coulomb_potential,
    demo,
    double_buffered_product,
    ell_product,
    fast_product,
    fft_stages,
    finite_elements,
    gauss_seidel,
    histogram,
    layer_norm,
    local_transpose,
    mandelbrot,
    n_body,
    packed_product,
    prefetched_product,
    register_stencils,
    saxpy,
    scan,
    sgemm,
    softmax,
    sparse_product,
    stencils,
    tiled_product,
    time_tiles,
    transpose_then_double,
    unsharp_mask,
    vector_transpose,
)


@dataclass(frozen=True)
class Example:
    """An example.

    Attributes:
        plain: makes the kernel without steps.
        by_hand: makes it with those of the example.
        given: makes the arguments, of some numbers.
        results: the names of those that are written.
        expected: what NumPy makes of the arguments; None if the two kernels say enough.
    """

    plain: Callable[[], pg.Kernel]
    by_hand: Callable[[], pg.Kernel]
    given: Callable[[np.random.Generator], Data]
    results: str
    expected: Callable[[Data], Any] | None = None


def _csr(rows: int, columns: int, density: float) -> Any:
    rng = np.random.default_rng(1)
    return scipy.sparse.random(rows, columns, density=density, format="csr", rng=rng)


def _sparse(rng: np.random.Generator) -> Data:
    matrix = _csr(100_000, 100_000, 2e-4)
    return {
        "rowptr": matrix.indptr,
        "columns": matrix.indices,
        "values": matrix.data,
        "x": rng.random(100_000),
        "y": np.zeros(100_000),
    }


def _balanced(rng: np.random.Generator) -> Data:
    given = _sparse(rng)
    given["start"] = given.pop("rowptr")
    return given


def _times_x(d: Data) -> Any:
    start = d["rowptr"] if "rowptr" in d else d["start"]
    return scipy.sparse.csr_array((d["values"], d["columns"], start)) @ d["x"]


def _ell(rng: np.random.Generator) -> Data:
    values = rng.random((20, 100_000))
    columns = rng.integers(0, 100_000, values.shape).astype(np.int32)
    return {"values": values, "columns": columns, "x": rng.random(100_000), "y": np.zeros(100_000)}


def _ell_product(d: Data) -> Any:
    return (d["values"] * d["x"][d["columns"]]).sum(0)


def _volume(rng: np.random.Generator, order: int = 4, elements: int = 1 << 12) -> Data:
    n = finite_elements.nodes(order)
    return {
        "D": rng.normal(size=(3, n, n)).astype(np.float32),
        "u": rng.random((elements, n), np.float32),
        "geo": rng.random((elements, 3, 3), np.float32),
        "gradient": np.zeros((3, elements, n), np.float32),
    }


def _gradient(d: Data) -> Any:
    return np.einsum("rji,ej,erx->xei", d["D"], d["u"], d["geo"], optimize=True)


def _surface(rng: np.random.Generator, order: int = 4, elements: int = 1 << 13) -> Data:
    n, f = finite_elements.nodes(order), finite_elements.face_nodes(order)
    mesh = finite_elements.random_mesh(order, elements, near=500)
    lift = rng.normal(size=(4 * f, n)).astype(np.float32)
    return {**mesh, "lift": lift, "change": np.zeros((elements, n), np.float32)}


def _lifted(d: Data) -> Any:
    jump = d["u"][d["outside"]] - d["u"][d["inside"]]
    return (np.repeat(d["scale"], d["lift"].shape[0] // 4, axis=1) * jump) @ d["lift"]


def _products(rng: np.random.Generator, size: int, dtype: Any = np.float32) -> Data:
    a, b = rng.random((2, (1 << 21) // size**2, size, size), dtype)
    return {"a": a, "b": b, "c": np.zeros_like(a)}


def _batched(size: int, dtype: Any = np.float32) -> Example:
    name = np.dtype(dtype).name
    return Example(
        lambda: batched_products.make_products(size, name),
        lambda: batched_products.in_groups(size, name),
        lambda rng: _products(rng, size, dtype),
        "c",
        lambda d: d["a"] @ d["b"],
    )


def _elements(order: int) -> dict[str, Example]:
    """Return the two kernels of finite elements of an order."""
    deep = {3: 20, 4: 35, 6: 28}[order]
    return {
        f"volume, {order}": Example(
            lambda: finite_elements.make_volume(order),
            lambda: finite_elements.volume_in_tiles(order, 8, deep, ahead=False),
            lambda rng: _volume(rng, order),
            "gradient",
            _gradient,
        ),
        f"surface, {order}": Example(
            lambda: finite_elements.make_surface(order),
            lambda: finite_elements.surface_in_tiles(
                order, 8, {3: 20, 4: 30, 6: 28}[order], ahead=False
            ),
            lambda rng: _surface(rng, order),
            "change",
            _lifted,
        ),
    }


def _abc(rng: np.random.Generator, n: int = 512) -> Data:
    a, b = rng.random((2, n, n), np.float32)
    return {"a": a, "b": b, "c": np.zeros_like(a)}


def _sgemm(rng: np.random.Generator) -> Data:
    return {**_abc(rng), "alpha": np.float32(1.5), "beta": np.float32(0.0)}


def _product(make: Callable[[], pg.Kernel], by_hand: Callable[[], pg.Kernel]) -> Example:
    return Example(make, by_hand, _abc, "c", lambda d: d["a"] @ d["b"])


def _small_tiles() -> pg.Kernel:
    tiles = fast_product.Shape(rows=32, columns=64, depth=8, items=(4, 4, 2), ahead=False)
    return fast_product.padded_recipe("float32", tiles)


def _rimmed(rng: np.random.Generator, *shape: int) -> Data:
    *others, m = shape
    a = rng.random((*(n + 2 for n in others), m + 8), np.float32)
    return {"a": a, "out": np.zeros(shape, np.float32)}


def _weighed(rng: np.random.Generator) -> Data:
    return {**_rimmed(rng, 96, 128, 256), "w": np.array([0.5, 0.1, 0.02, 0.01], np.float32)}


def _heated(rng: np.random.Generator, n: int = 1500) -> Data:
    u = rng.random((n + 2, n + 2), np.float32)
    return {"u": u, "rate": np.float32(0.1), "out": np.zeros((n, n), np.float32)}


def _square(rng: np.random.Generator, n: int = 2048) -> Data:
    return {"a": rng.random((n, n), np.float32), "out": np.zeros((n, n), np.float32)}


def _image(rng: np.random.Generator) -> Data:
    image = rng.random((400, 600, 3), np.float32)
    return {
        "image": image,
        "weight": unsharp_mask.gaussian(unsharp_mask.SIGMA, unsharp_mask.RADIUS),
        "amount": unsharp_mask.AMOUNT,
        "across": np.zeros_like(image),
        "out": np.zeros_like(image),
    }


def _rows(rng: np.random.Generator, n: int = 4096, m: int = 1000) -> Data:
    x = rng.normal(size=(n, m)).astype(np.float32)
    return {"x": x, "y": np.zeros_like(x)}


def _normal(d: Data) -> Any:
    x = d["x"].astype(np.float64)
    scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + layer_norm.EPSILON)
    return scaled * d["weight"] + d["bias"]


def _powers(d: Data) -> Any:
    powers = np.exp(d["x"].astype(np.float64) - d["x"].max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _norm_data(rng: np.random.Generator) -> Data:
    weight, bias = rng.normal(size=(2, 1000)).astype(np.float32)
    return {**_rows(rng), "weight": weight, "bias": bias}


def _mask() -> pg.Kernel:
    knl = pg.make_kernel(
        [
            "{ [y, x, c]: 0<=y<height and 0<=x<width and 0<=c<channels }",
            "{ [k]: -radius<=k<=radius }",
            "{ [v, u, d]: 0<=v<height and 0<=u<width and 0<=d<channels }",
            "{ [m]: -radius<=m<=radius }",
        ],
        """
        across[y, x, c] = sum(
            k, weight[radius + k] * image[y, min(max(x + k, 0), width - 1), c])
        <> blurred = sum(
            m, weight[radius + m] * across[min(max(v + m, 0), height - 1), u, d])
        <> sharp = image[v, u, d] + amount * (image[v, u, d] - blurred)
        out[v, u, d] = min(max(sharp, 0), 1)
        """,
        name="unsharp_mask",
        assumptions="height >= 1 and width >= 1",
    )
    return pg.fix_parameters(knl, radius=unsharp_mask.RADIUS, channels=3)


def _packed(dtype: Any) -> pg.Kernel:
    return packed_product.on_the_processor(dtype, 512)


def _plain_product() -> pg.Kernel:
    return pg.make_kernel("{ [i, j, k]: 0<=i,j,k<n }", "out[i, j] = sum(k, a[i, k]*b[k, j])")


def _two(rng: np.random.Generator, n: int = 512) -> Data:
    a, b = rng.random((2, n, n), np.float32)
    return {"a": a, "b": b, "out": np.zeros_like(a)}


def _cells(rng: np.random.Generator) -> Data:
    a = rng.normal(size=(65, 50_000))
    a[1:, (0, -1)] = a[0, (0, -1)]
    return {"a": a}


def _bodies(rng: np.random.Generator, n: int = 2000) -> Data:
    return {
        "x": rng.normal(size=(n, 3)),
        "mass": rng.uniform(size=n),
        "softening": 0.01,
        "force": np.zeros((n, 3)),
    }


def _charges(rng: np.random.Generator) -> Data:
    return {
        "point": rng.uniform(0, 1, size=(4096, 3)).astype(np.float32),
        "source": rng.uniform(2, 3, size=(1024, 4)).astype(np.float32),
        "potential": np.zeros(4096, np.float32),
    }


def _chain(rng: np.random.Generator, n: int = 20_000) -> Data:
    return {"b": rng.normal(size=n), "x": np.zeros(n), "tolerance": 1e-12}


def _u(rng: np.random.Generator, *shape: int) -> Data:
    return {"u": rng.normal(size=shape), "rate": 0.1, "out": np.zeros([n - 2 for n in shape])}


def _counted(d: Data) -> Any:
    return np.bincount(d["data"], minlength=histogram.BINS)


EXAMPLES: dict[str, Example] = {
    "saxpy": Example(
        saxpy.make_saxpy,
        saxpy.in_groups,
        lambda rng: {"alpha": 0.5, "x": rng.random(1 << 22), "y": rng.random(1 << 22)},
        "y",
    ),
    "stencils, plate": Example(
        stencils.make_plate,
        lambda: stencils.with_halos(stencils.make_plate()),
        lambda rng: _u(rng, 1500, 1500),
        "out",
        lambda d: stencils.flowed(d["u"], d["rate"]),
    ),
    "stencils, block": Example(
        stencils.make_block,
        lambda: stencils.with_halos(stencils.make_block()),
        lambda rng: _u(rng, 100, 130, 150),
        "out",
        lambda d: stencils.flowed(d["u"], d["rate"]),
    ),
    "gauss_seidel": Example(
        gauss_seidel.make_sweep,
        gauss_seidel.in_waves_of_tiles,
        lambda rng: {"a": rng.random((1200, 1200))},
        "a",
    ),
    "time_tiles": Example(
        time_tiles.make_jacobi,
        time_tiles.in_time_tiles,
        _cells,
        "a",
        lambda d: time_tiles.iterated(d["a"]),
    ),
    "scan": Example(
        scan.make_scan,
        lambda: scan.on_processors(scan.make_scan()),
        lambda rng: {
            "a": rng.integers(-9, 10, 1 << 22).astype(np.float32),
            "b": np.zeros(1 << 22, np.float32),
        },
        "b",
        lambda d: np.cumsum(d["a"]),
    ),
    "sparse_product": Example(
        sparse_product.make_sparse_product,
        lambda: pg.tag_inames(sparse_product.make_sparse_product(), {"i": "g.0"}),
        _sparse,
        "y",
        _times_x,
    ),
    "balanced_rows": Example(
        balanced_rows.make_balanced_product,
        lambda: balanced_rows.on_processors(balanced_rows.make_balanced_product()),
        _balanced,
        "y",
        _times_x,
    ),
    "ell_product": Example(
        ell_product.make_product, ell_product.on_the_grid, _ell, "y", _ell_product
    ),
    "double_buffered_product": _product(
        double_buffered_product.make_product,
        lambda: double_buffered_product.prefetched(
            double_buffered_product.in_tiles(double_buffered_product.make_product())
        ),
    ),
    "prefetched_product": _product(prefetched_product.make_product, prefetched_product.prefetched),
    "tiled_product": _product(tiled_product.make_product, tiled_product.in_loops),
    "fast_product": _product(fast_product.make_product, _small_tiles),
    "sgemm": Example(
        sgemm.make_sgemm, sgemm.typed, _sgemm, "c", lambda d: d["alpha"] * (d["a"] @ d["b"])
    ),
    "diffusion": Example(
        demo.make_diffusion,
        lambda: demo.for_a_cpu(demo.make_diffusion()),
        _heated,
        "out",
        lambda d: demo.in_numpy(d["u"], d["rate"]),
    ),
    "registers, plate": Example(
        register_stencils.make_plate,
        register_stencils.plate,
        lambda rng: _rimmed(rng, 1024, 2048),
        "out",
    ),
    "registers, block": Example(
        register_stencils.make_block,
        register_stencils.block,
        _weighed,
        "out",
    ),
    "packed_product": Example(
        _plain_product, partial(_packed, np.float32), _two, "out", lambda d: d["a"] @ d["b"]
    ),
    "batched_products, 4": _batched(4),
    "batched_products, 8": _batched(8),
    "batched_products, 16": _batched(16),
    "batched_products, 32": _batched(32),
    "batched_products, 8, float64": _batched(8, np.float64),
    "coulomb_potential": Example(
        coulomb_potential.make_potential,
        coulomb_potential.prefetched,
        _charges,
        "potential",
        lambda d: coulomb_potential.expected(d["point"], d["source"]),
    ),
    **_elements(3),
    **_elements(4),
    **_elements(6),
    "n_body": Example(
        n_body.make_forces,
        n_body.prefetched,
        _bodies,
        "force",
        lambda d: n_body.expected(d["x"], d["mass"], d["softening"]),
    ),
    "histogram": Example(
        histogram.make_histogram,
        lambda: histogram.in_groups(histogram.make_histogram()),
        lambda rng: {
            "data": rng.binomial(histogram.BINS - 1, 0.3, size=1 << 22).astype(np.int32),
            "count": np.zeros(histogram.BINS, np.int32),
        },
        "count",
        _counted,
    ),
    "mandelbrot": Example(
        mandelbrot.make_mandelbrot,
        mandelbrot.on_the_grid,
        lambda _: {
            "left": -2.1,
            "top": 1.1,
            "step": 0.00425,
            "height": 500,
            "width": 700,
            "out": np.zeros((500, 700), np.int32),
        },
        "out",
    ),
    "bisection": Example(
        bisection.make_kernel,
        bisection.on_work_items,
        lambda _: {
            "a": np.linspace(0.1, 200, 20_000),
            "root": np.zeros(20_000),
            "halvings": np.zeros(20_000, np.int32),
        },
        "root halvings",
    ),
    "conjugate_gradients": Example(
        conjugate_gradients.conjugate_gradients,
        lambda: conjugate_gradients.on_grid(
            conjugate_gradients.conjugate_gradients(), "i0 i k l", "j0 j k0"
        ),
        _chain,
        "x",
    ),
    "layer_norm": Example(
        lambda: layer_norm.make_layer_norm(1000, "float32"),
        lambda: layer_norm.recipe(1000),
        _norm_data,
        "y",
        _normal,
    ),
    "softmax": Example(
        lambda: softmax.make_softmax(1000, "float32"),
        lambda: softmax.recipe(1000),
        _rows,
        "y",
        _powers,
    ),
    "local_transpose": Example(
        local_transpose.make_transpose,
        local_transpose.through_local_memory,
        _square,
        "out",
        lambda d: d["a"].T,
    ),
    "vector_transpose": Example(
        vector_transpose.make_transpose,
        vector_transpose.in_vectors,
        _square,
        "out",
        lambda d: d["a"].T,
    ),
    "transpose_then_double": Example(
        transpose_then_double.make_transpose_then_double,
        lambda: transpose_then_double.on_the_grid(
            transpose_then_double.make_transpose_then_double()
        ),
        _square,
        "out",
        lambda d: 2 * d["a"].T,
    ),
    "unsharp_mask": Example(_mask, unsharp_mask.make_unsharp_mask, _image, "across out"),
    "fft_stages": Example(
        fft_stages.make_stage,
        fft_stages.on_the_grid,
        lambda rng: {
            "x": (rng.random((2, 512, 1024)) + 1j).astype(np.complex64),
            "y": np.zeros((512, 2, 1024), np.complex64),
        },
        "y",
    ),
}
