"""Kernels from NumPy's notation for sums of products, against numpy.einsum."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg

# Each letter has its own extent, so that mixed up axes are noticed.
EXTENTS = {"i": 5, "j": 7, "k": 3, "l": 4, "B": 2}
SPECS = [
    "ij,jk->ik",
    "ij->ji",
    "ii->i",
    "ii->",
    "ij,ij->",
    "i,i->",
    "i,j->ij",
    ",ij->ij",
    "Bij,Bjk->Bki",
    "iij,j->j",
    "ik,jk,kl->ilj",
    "ij->",
    "kk,kk->k",
]
KERNELS = {
    spec: pg.make_einsum(
        spec, [f"x{n}" for n in range(spec.count(",") + 1)], silenced_warnings="AmbiguousNesting"
    )
    for spec in SPECS
}


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("spec", SPECS)
def test_like_numpy(spec: str, target: str) -> None:
    random = np.random.default_rng(len(spec))
    knl = KERNELS[spec]
    for extents in (EXTENTS, dict.fromkeys(EXTENTS, 1), dict.fromkeys(EXTENTS, 0)):
        operands = [
            random.random(tuple(extents[letter] for letter in axes))
            for axes in spec.partition("->")[0].split(",")
        ]
        given = {f"x{n}": x if x.ndim else x.item() for n, x in enumerate(operands)}
        _, (out,) = knl.executor(target)(**given)
        expected = np.einsum(spec, *operands)
        assert out.shape == expected.shape
        np.testing.assert_allclose(out, expected, rtol=1e-13, err_msg=str(extents))


def test_the_kernel_reads_back() -> None:
    for knl in KERNELS.values():
        assert pg.parse_kernel(str(knl)) == knl


def test_arguments_of_make_kernel() -> None:
    knl = pg.make_einsum(
        "ij,j->i", ("a", "b"), name="matvec", target="c", assumptions="Nj mod 4 = 0",
        kernel_data=[pg.GlobalArg("a", np.float32, "Ni, Nj", strides="1, Ni"), "b"],
    )  # fmt: skip
    assert knl.name == "matvec"
    a, b = np.arange(24, dtype=np.float32).reshape(6, 4), np.arange(4, dtype=np.float32)
    _, (out,) = knl(a=np.asfortranarray(a), b=b)
    np.testing.assert_array_equal(out, a @ b)
    assert out.dtype == np.float32
    with pytest.raises(pg.errors.AssumptionViolated):
        knl(a=np.asfortranarray(a[:, :3]), b=b[:3])


def test_it_can_be_tiled() -> None:
    knl = pg.make_einsum("ij,jk->ik", ["a", "b"])
    for iname, axis in ("i", 1), ("k", 0):
        knl = pg.split_iname(knl, iname, 4, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    a, b = np.random.default_rng(3).random((2, 5, 5))
    _, (out,) = knl.executor("opencl")(a=a, b=b)
    np.testing.assert_allclose(out, a @ b, rtol=1e-13)


def test_sizes_have_to_agree() -> None:
    with pytest.raises(pg.errors.SizeMismatch):
        KERNELS["ij,jk->ik"](x0=np.zeros((2, 3)), x1=np.zeros((4, 2)))
