"""Steps for the axes of arrays, one beside the other: what each does to subscripts and proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.dataflow.one_to_one_subscripts import is_one_to_one
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
    UnknownArgument,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from polygen.transforms.arrays.array_rewriting import Index
from polygen.transforms.arrays.axis_rewriting import Change, changed
from tests.few import few
from tests.oracle.cases import Step, agree_in_arrays, same
from tests.transforms.arrays.array_kernels import counted, plane

OF_TEMPORARIES: dict[str, Step] = {
    "blocks": lambda k: pg.split_array_dim(k, ("t", 0), 4),
    "blocks as they are": lambda k: pg.split_array_dim(k, [("t", 1)], 3, False),
    "blocks, the element first": lambda k: pg.split_array_dim(k, ("t", 0, "F"), 4, False),
    "one axis": lambda k: pg.join_array_dims(k, ("t", 0)),
    "one axis, the first one fast": lambda k: pg.join_array_dims(k, [("t", 0, "F")]),
    "there and back": lambda k: pg.join_array_dims(
        pg.split_array_dim(k, ("t", 0), 3, False), ("t", 0)
    ),
    "transposed": lambda k: pg.permute_array_dims(k, "t", (1, 0)),
    "padded": lambda k: pg.add_padding(k, "t", 0, 64),
    "all of it": lambda k: pg.permute_array_dims(
        pg.join_array_dims(pg.split_array_dim(k, ("t", 0), 2, False), ("t", 1)), ["t"], [1, 0]
    ),
}


@few(4, "name", OF_TEMPORARIES)
def test_temporaries_keep_their_meaning(name: str) -> None:
    old, step = plane(), OF_TEMPORARIES[name]
    new = step(old)
    assert new != old
    assert new.arguments == old.arguments
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history) == new
    pg.check_well_formed(new)
    agree_in_arrays(old, [{"n": n} for n in (0, 1, 3)], same, step)
    for target in ("c", "opencl"):
        for n in (0, 1, 5):
            a = np.random.default_rng(n).random((n, 6, 4))
            _, (out,) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, (a[:, ::-1, :] + a[:, :, ::-1]).transpose(0, 2, 1))


WHERE_DATA_SAYS: dict[str, tuple[Step, str]] = {
    "transposed": (lambda k: pg.permute_array_dims(k, "t", (1, 0)), "t[b[i], i % 2]"),
    "blocks": (lambda k: pg.split_array_dim(k, ("t", 1), 2), "t[i % 2, b[i]//2, b[i] % 2]"),
    "one axis": (lambda k: pg.join_array_dims(k, [("t", 0)]), "t[3*(i % 2) + b[i]]"),
    "one after the other": (
        lambda k: pg.concatenate_arrays(pg.join_array_dims(k, ("t", 0)), "s, t", "w"),
        "w[3*(i % 2) + b[i] + 3]",
    ),
    "one of them": (lambda k: pg.split_array_dim(k, [("s", 0), ("t", 0, "F")], 2), "t[i % 2"),
    "everyone's": (lambda k: pg.set_temporary_address_space(k, "s, t", "global"), "aspace: global"),
}


@few(3, "name", WHERE_DATA_SAYS)
def test_elements_of_which_data_decides(name: str) -> None:
    step, shown = WHERE_DATA_SAYS[name]
    old, new = counted(), step(counted())
    assert shown in str(new)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history) == new
    assert pg.obligations(new)
    pg.check_well_formed(new)

    @pg.transformation
    def mine(kernel: Kernel) -> Kernel:
        return step(kernel)

    assert mine(old) == new
    for n in (0, 1, 7, 8):
        a, b = np.arange(1.0, n + 1), np.random.default_rng(n).integers(0, 3, n, dtype=np.int32)
        t = np.subtract.outer(np.arange(2.0), np.arange(3.0))
        np.add.at(t, (np.arange(n) % 2, b), a)
        for target in ("c", "opencl") if name == "one after the other" else ("c",):
            _, (out,) = new.executor(target)(a=a, b=b)
            np.testing.assert_array_equal(out, t[np.arange(n) % 2, b] + 10 * b[::-1])


def test_elements_that_would_become_one() -> None:
    """Each element of a row would be the first one: that is proved, and not believed."""
    old = counted()

    def index(at: Index) -> Index:
        return (at[0], 0)

    @pg.transformation
    def merged(kernel: Kernel) -> Kernel:
        return changed(kernel, {"t": Change(kernel.array("t"), index)}).kernel

    assert not is_one_to_one(old, "t", index)
    with pytest.raises(pg.errors.NotTheSame, match=r"'z' would write t\[p, 0\]"):
        merged(old)


def test_a_proof_stands_behind_temporaries() -> None:
    """What is proved is not believed: wrong subscripts of a temporary would be refused."""

    @pg.transformation
    def swapped(kernel: Kernel) -> Kernel:
        text = str(pg.permute_array_dims(kernel, "t", (1, 0)))
        return pg.parse_kernel(text.replace("t[l, 5 - k]", "t[l, k]"))

    with pytest.raises((pg.errors.IllegalStep, pg.errors.NotTheSame)):
        swapped(plane())

    @pg.transformation
    def mine(kernel: Kernel) -> Kernel:
        return pg.join_array_dims(pg.split_array_dim(kernel, ("t", 0), 3), ("t", 1))

    assert mine(plane()).history[-1].name == "mine"

    @pg.transformation
    def of_arguments(kernel: Kernel) -> Kernel:
        return pg.permute_array_dims(kernel, "a", (2, 1, 0))

    with pytest.raises(pg.errors.NotTheSame, match="other arguments"):
        of_arguments(plane())


def test_what_is_refused() -> None:
    knl = plane()
    with pytest.raises(AxisNotPossible, match="'t' has 2 axes, and none of number 2"):
        pg.split_array_dim(knl, ("t", 2), 4)
    with pytest.raises(AxisNotPossible, match="'t' has 2 axes, and none of number 2"):
        pg.join_array_dims(knl, ("t", 1))
    with pytest.raises(AxisNotPossible, match=r"'t' has 2 axes: \(0, 0\) is no order of them"):
        pg.permute_array_dims(knl, "t", (0, 0))
    with pytest.raises(InvalidArgument, match="'t' is there twice"):
        pg.split_array_dim(knl, [("t", 0), ("t", 1)], 4)
    with pytest.raises(UnknownArgument, match="'u'"):
        pg.split_array_dim(knl, ("u", 0), 4)
    wrong: Any
    for wrong in (("n", 0), ("t", -1), ("t", True), ("t", 0, "K"), ("t",), [], "t", [("t", 0), 1]):
        with pytest.raises(InvalidArgument, match="which is not axes"):
            pg.join_array_dims(knl, wrong)
    for wrong in ("1, 0", ("1", "0"), 1):
        with pytest.raises(InvalidArgument, match="which is not numbers of axes"):
            pg.permute_array_dims(knl, "t", wrong)
    with pytest.raises(InvalidArgument, match="arguments of split_iname, by name"):
        pg.split_array_dim(knl, ("t", 0), 4, True, "l.0")  # type: ignore[arg-type]
    for tags in ("N0, vec", "N0, sep"):
        some = pg.make_kernel(
            "{ [i]: 0<=i<n }",
            "a[i, 0] = 1",
            [pg.GlobalArg("a", "float32", "n, 4", dim_tags=tags), "..."],
        )
        with pytest.raises(AxisNotPossible, match=f"axis 1 of 'a' is tagged {tags[-3:]}"):
            pg.split_array_dim(some, ("a", 1), 2)
        with pytest.raises(AxisNotPossible, match=f"axis 1 of 'a' is tagged {tags[-3:]}"):
            pg.join_array_dims(some, ("a", 0))


def test_uses_that_are_out_of_sight() -> None:
    steps: tuple[Step, ...] = (
        lambda k: pg.split_array_dim(k, ("a", 0), 2, False),
        lambda k: pg.join_array_dims(k, ("a", 0)),
        lambda k: pg.permute_array_dims(k, "a", (1, 0)),
    )
    text = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        '... code(i) "a[2*i] = 1;" writes(a[i, 0])  {inames=i}',
        [pg.GlobalArg("a", "float64", (4, 2)), "..."],
    )
    table = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        "out[i] = a[i, 1]",
        [pg.TemporaryVariable("a", initializer=np.eye(4)[:, :2], read_only=True), "..."],
    )
    for step in steps:
        with pytest.raises(VerbatimNotPossible, match="touches 'a', and says where"):
            step(text)
        with pytest.raises(AxisNotPossible, match="'a' is a table of constants"):
            step(table)
    calls = pg.make_kernel(
        "{ [i]: 0<=i<4 }",
        "[k]: out[i, k] = twice([k]: a[i, k])",
        [pg.GlobalArg(name, "float64", (4, 2)) for name in ("a", "out")],
        functions={"twice": pg.make_function("{ [k]: 0<=k<2 }", "y[k] = 2*x[k]", name="twice")},
    )
    for step in steps[:2]:
        with pytest.raises(AxisNotPossible, match="gives part of 'a' to kernel 'twice'"):
            step(calls)
    a = np.arange(8.0).reshape(4, 2)
    _, (out,) = steps[2](calls)(a=np.ascontiguousarray(a.T))
    np.testing.assert_array_equal(out, 2 * a)
    image = pg.make_kernel(
        "{ [i, j]: 0<=i,j<4 }",
        "out[i, j] = a[i, j]",
        [pg.ImageArg("a", "float32", (4, 4)), "..."],
        loop_priority="i, j",
    )
    for step in steps:
        with pytest.raises(AxisNotPossible, match="'a' is an image"):
            step(image)
