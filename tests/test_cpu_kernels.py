"""The kernels that are measured on processors compute what NumPy does, at small sizes, too."""

import pytest

from benchmarks.cpu import data, with_numpy, with_polygen
from benchmarks.cpu_kernels import as_arrays, differing

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("optimized")]

# Sizes that are no multiples of tiles and vectors, where the recipes allow that.
SIZES: dict[str, tuple[int, ...]] = {
    "saxpy": (4099,),
    "triad": (4099,),
    "stencil_5": (21,),
    "stencil_27": (19,),
    "softmax": (5, 48),
    "csr_product": (300, 9),
    "syrk": (96, 40),
    "jacobi_2d": (37, 5),
    "heat_3d": (21, 5),
    "floyd_warshall": (37,),
    "black_scholes": (4101,),
    "mandelbrot": (9, 50),
    "product_32": (128,),
    "product_64": (64,),
}


def test_all_are_here() -> None:
    assert SIZES.keys() == data.KERNELS.keys()


# Others are made of the same steps.
DEEP = ("heat_3d", "product_64")


@pytest.mark.parametrize(
    "kernel", [pytest.param(k, marks=pytest.mark.deep) if k in DEEP else k for k in SIZES]
)
def test_as_numpy(kernel: str) -> None:
    found, expected = (
        as_arrays(getattr(module, kernel)(data.arguments(kernel, *SIZES[kernel]))())
        for module in (with_polygen, with_numpy)
    )
    assert differing(kernel, found, expected) is None
