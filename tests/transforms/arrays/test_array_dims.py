"""Arrays with other axes: subscripts are rewritten, results are those of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.analysis.dataflow.one_to_one_subscripts import is_one_to_one
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
    MissingArgument,
    TagConflict,
    UnknownArgument,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Nested, Strided, element_strides
from polygen.transforms.arrays.array_rewriting import Index
from polygen.transforms.arrays.axis_rewriting import Change, changed
from tests.oracle.cases import Step, agree_in_arrays, same

_Numbers = NDArray[Any]
SIZES = (0, 1, 3, 4, 5, 7, 8, 9)


def blocks(a: _Numbers, count: int) -> _Numbers:
    """Return what `split_array_dim` wants for an array of one axis."""
    return np.pad(a, (0, -len(a) % count)).reshape(-1, count)


def stencil() -> Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i] + 2*a[i + 1]",
        [pg.GlobalArg("a", "float64", "n + 1"), pg.GlobalArg("out", "float64", "n"), "..."],
    )


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("by_themselves", [True, False])
def test_split_arguments(target: str, by_themselves: bool) -> None:
    new = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4, by_themselves)
    turned = pg.split_array_dim(stencil(), [("a", 0, "F"), ("out", 0)], 4, by_themselves)
    if by_themselves:
        assert set(new.inames) == {"i_outer", "i_inner"}
        new, turned = (pg.prioritize_loops(k, "i_outer, i_inner") for k in (new, turned))
    for n in SIZES:
        a = np.random.default_rng(n).integers(-8, 9, size=n + 1).astype(np.float64)
        wanted = blocks(a[:-1] + 2 * a[1:], 4)
        for knl, given in ((new, blocks(a, 4)), (turned, blocks(a, 4).T.copy())):
            out = np.zeros_like(wanted)
            knl.executor(target)(a=given, n=n, out=out)
            np.testing.assert_array_equal(out, wanted)


def test_of_blocks_alone_the_size_is_not_known() -> None:
    new = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4, False)
    with pytest.raises(MissingArgument, match="'n'"):
        new(a=np.zeros((2, 4)))
    with pytest.raises(pg.errors.AssumptionViolated):
        new(a=np.zeros((0, 4)), n=-1)


def test_subscripts_are_simple_where_loops_are_split() -> None:
    new = pg.split_array_dim(
        stencil(), ("out", 0), 4, split_kwargs={"inner_tag": "l.0", "outer_tag": "g.0"}
    )
    (insn,) = new.instructions
    assert str(new).count("out[i_outer, i_inner]") == 1
    assert insn.within_inames == {"i_outer", "i_inner"}
    with pytest.raises(TagConflict):
        pg.split_array_dim(pg.tag_inames(stencil(), {"i": "g.0"}), ("out", 0), 4)
    assert "out[i//4, i % 4]" in str(
        pg.split_array_dim(pg.tag_inames(stencil(), {"i": "g.0"}), ("out", 0), 4, False)
    )


def test_rules_are_rewritten() -> None:
    old = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["f(x) := a[x] + i", "out[i] = f(i)*f(n - 1 - i)"],
        [pg.GlobalArg("a", "float64", "n"), "..."],
    )
    a = np.arange(5.0)
    wanted = (a + np.arange(5)) * (a[::-1] + np.arange(5))
    for auto in (True, False):
        new = pg.split_array_dim(old, ("a", 0), 3, auto)
        assert new.substitutions
        _, (out,) = new(a=blocks(a, 3), n=5)
        np.testing.assert_array_equal(out, wanted)


def plane() -> Kernel:
    """Return a kernel that turns a tile, and its second half, by way of a temporary."""
    return pg.make_kernel(
        "{ [b, i, j, k, l]: 0<=b<n and 0<=i,k<6 and 0<=j,l<4 }",
        "t[i, j] = a[b, i, j]  {id=load} \n out[b, l, k] = t[5 - k, l] + t[k, 3 - l]",
        [
            pg.TemporaryVariable("t", "float64", (6, 4), dim_names="p, q"),
            pg.GlobalArg("a", "float64", "n, 6, 4"),
            "...",
        ],
        loop_priority=("b, i, j", "b, k, l"),
    )


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


@pytest.mark.parametrize("name", OF_TEMPORARIES)
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


def counted() -> Kernel:
    """Return a kernel that adds up values where data says, in a table that it reads elsewhere."""
    lines = """
    t[p, q] = p - q                                 {id=z, inames=p:q}
    t[i % 2, b[i]] = t[i % 2, b[i]] + a[i]          {id=u, inames=i, dep=z}
    s[q] = 10*q                                     {id=s, inames=q}
    out[j] = t[j % 2, b[j]] + s[b[n - 1 - j]]       {id=o, inames=j, dep=u:s}
    """
    return pg.make_kernel(
        ["{ [i, j]: 0<=i,j<n }", "{ [p, q]: 0<=p<2 and 0<=q<3 }"],
        lines,
        [
            pg.TemporaryVariable("t", "float64", (2, 3)),
            pg.TemporaryVariable("s", "float64", 3),
            pg.GlobalArg("a", "float64", "n"),
            pg.GlobalArg("b", "int32", "n"),
            "...",
        ],
        silenced_warnings=("AmbiguousNesting", "ComputedAnew"),
    )


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


@pytest.mark.parametrize("name", WHERE_DATA_SAYS)
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


ORDERS: dict[tuple[int, int, int], Callable[[_Numbers], _Numbers]] = {
    (2, 0, 1): lambda a: np.moveaxis(a, 2, 0),
    (1, 0, 2): lambda a: a.swapaxes(0, 1),
}


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize("order", ORDERS)
def test_permuted_arguments(target: str, order: tuple[int, int, int]) -> None:
    new = pg.permute_array_dims(plane(), "a", order)
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 6, 4))
        _, (out,) = new.executor(target)(a=np.ascontiguousarray(ORDERS[order](a)), n=n)
        np.testing.assert_array_equal(out, (a[:, ::-1, :] + a[:, :, ::-1]).transpose(0, 2, 1))


def test_structures_of_arrays_and_back() -> None:
    old = pg.make_kernel(
        "{ [i, k]: 0<=i<n and 0<=k<3 }",
        "x[i, k] += 2*v[i, k]",
        [pg.GlobalArg(name, "float64", "n, 3", dim_tags="N1, N0") for name in ("x", "v")] + ["..."],
        loop_priority="i, k",
    )
    planes = pg.permute_array_dims(old, "x, v", (1, 0))
    assert element_strides(planes.array("x")) == (1, 3)  # elements lie where they did
    assert pg.permute_array_dims(planes, "x, v", (1, 0)) == old
    soa = pg.tag_array_axes(planes, "x, v", "C")
    assert "x[k * n + i]" in str(pg.generate_code(soa, "c"))
    apart = pg.tag_inames(pg.tag_array_axes(planes, "x, v", "sep, N0"), {"k": "unr"})
    for target in ("c", "opencl"):
        for n in (0, 1, 7):
            x, v = np.random.default_rng(n).random((2, n, 3))
            wanted = x + 2 * v
            given = x.T.copy()
            soa.executor(target)(x=given, v=np.ascontiguousarray(v.T), n=n)
            np.testing.assert_allclose(given.T, wanted, rtol=1e-15)
            parts = tuple(x.T.copy())
            apart.executor(target)(x=parts, v=tuple(v.T.copy()), n=n)
            np.testing.assert_allclose(np.stack(parts, axis=1), wanted, rtol=1e-15)


def test_joined_arguments() -> None:
    new = pg.join_array_dims(plane(), ("a", 0))
    assert "a[6*b + i, j]" in str(new)
    again = pg.join_array_dims(new, ("a", 0))
    for n in (0, 1, 5):
        a = np.random.default_rng(n).random((n, 6, 4))
        wanted = (a[:, ::-1, :] + a[:, :, ::-1]).transpose(0, 2, 1)
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(a=a.reshape(-1, 4), n=n)
            np.testing.assert_array_equal(out, wanted)
            _, (out,) = again.executor(target)(a=a.reshape(-1), n=n)
            np.testing.assert_array_equal(out, wanted)


def tagged(tags: str, shape: str = "n, 6") -> Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<6 }",
        "a[i, j] = i + j",
        [pg.GlobalArg("a", "float32", shape, dim_tags=tags, dim_names="p, q"), "..."],
        loop_priority="i, j",
    )


def test_tags_follow_axes() -> None:
    for tags, axis, wanted in (
        ("N1, N0", 0, (Nested(2), Nested(1), Nested(0))),
        ("N0, N1", 0, (Nested(1), Nested(0), Nested(2))),
        ("N1, N0(pad_to=8)", 1, (Nested(2), Nested(1, 4), Nested(0))),
        ("stride:6, stride:1", 1, (Strided(6), Strided(2), Strided(1))),
    ):
        old = tagged(tags)
        new = pg.split_array_dim(old, ("a", axis), 2, False)
        assert new.array("a").dim_tags == wanted
        strides = element_strides(new.array("a")) or ()
        assert strides[axis + 1] == (element_strides(old.array("a")) or ())[axis]
        names = ("p_outer", "p_inner", "q") if axis == 0 else ("p", "q_outer", "q_inner")
        assert new.array("a").dim_names == names
        back = pg.join_array_dims(new, ("a", axis)).array("a")
        assert back.dim_tags == old.array("a").dim_tags
        _, (out,) = new(n=4)
        assert out.size == 24


def test_padding() -> None:
    for tags, axis, align, wanted in (
        ("N1, N0", 0, 32, (8, 1)),
        ("N1, N0", 0, 12, (6, 1)),
        ("N1, N0(pad_to=3)", 0, 16, (12, 1)),
        ("stride:6, stride:1", 0, 16, (8, 1)),
        ("C", 0, 2, (6, 1)),
    ):
        new = pg.add_padding(tagged(tags), "a", axis, align)
        assert element_strides(new.array("a")) == wanted
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(n=5)
            np.testing.assert_array_equal(out, np.add.outer(np.arange(5), np.arange(6)))
            assert tuple(s // 4 for s in out.strides) == wanted
    outer = pg.add_padding(tagged("N0, N1"), "a", 1, 16)
    _, (out,) = outer(n=5)
    assert out.strides == (4, 32)


def test_blocks_with_little_waste() -> None:
    knl = tagged("C")
    for align, waste in ((32, 0.1), (64, 0.1), (64, 0.0), (24, 0.1), (128, 0.05), (7, 0.2)):
        taken = 6 * 4
        wasted = [(-(m * taken) % align) / (m * taken) for m in range(1, 200)]
        assert pg.find_padding_multiple(knl, "a", 0, align, waste) == next(
            m for m, w in enumerate(wasted, 1) if w <= waste
        )
    blocked = pg.split_array_dim(knl, ("a", 0), pg.find_padding_multiple(knl, "a", 0, 64))
    aligned = pg.add_padding(blocked, "a", 0, 64)
    stride, *_ = element_strides(aligned.array("a")) or (None,)
    assert isinstance(stride, int)
    assert stride * 4 % 64 == 0
    for name, number, part in (("n", 8, 0.1), ("a", 0, 0.1), ("a", 8, -1.0)):
        with pytest.raises(InvalidArgument, match="find_padding_multiple was given"):
            pg.find_padding_multiple(knl, name, 0, number, part)
    with pytest.raises(AxisNotPossible, match="are apart is not known"):
        pg.find_padding_multiple(tagged("N0, N1"), "a", 1, 64)
    with pytest.raises(AxisNotPossible, match="none of number 2"):
        pg.find_padding_multiple(knl, "a", 2, 64)


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


def test_joins_that_are_refused() -> None:
    square = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        "a[i, j] = 1",
        [pg.GlobalArg("a", "float32", "n, n"), "..."],
        loop_priority="i, j",
    )
    with pytest.raises(AxisNotPossible, match="axis 1 of 'a' has the extent n, which is no number"):
        pg.join_array_dims(square, ("a", 0))
    with pytest.raises(AxisNotPossible, match="axis 0 of 'a' has the extent n"):
        pg.join_array_dims(square, ("a", 0, "F"))
    for tags in ("stride:8, stride:1", "N1, N0(pad_to=4)"):
        with pytest.raises(AxisNotPossible, match="do not follow each other evenly"):
            pg.join_array_dims(tagged(tags), ("a", 0))


def test_padding_that_is_refused() -> None:
    with pytest.raises(AxisNotPossible, match="neighbours are side by side: no room is left"):
        pg.add_padding(tagged("C"), "a", 1, 32)
    with pytest.raises(
        AxisNotPossible, match="cannot grow: it is no number, or there is a greater"
    ):
        pg.add_padding(tagged("stride:1, stride:n"), "a", 1, 32)
    with pytest.raises(AxisNotPossible, match="cannot grow"):
        pg.add_padding(tagged("stride:6, stride:1"), "a", 1, 32)
    with pytest.raises(AxisNotPossible, match="the type of 'a' is not known"):
        untyped = pg.make_kernel("{ [i]: 0<=i<4 }", "a[i, 0] = x[i]")
        pg.add_padding(untyped, "a", 0, 32)


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


def test_what_is_assumed_after_a_split_of_a_symbolic_axis() -> None:
    """Assumptions are of one space, whichever step has added to them."""
    split = pg.split_array_dim(stencil(), [("a", 0), ("out", 0)], 4)
    steps: list[Step] = [
        lambda knl: pg.assume(knl, "n mod 4 = 0 and n >= 8"),
        lambda knl: pg.fix_parameters(knl, n=8),
        lambda knl: pg.rename_argument(knl, "n", "count"),
    ]
    for step in steps:
        new = step(split)
        assert new != split
        assert pg.parse_kernel(str(new)) == new
    assumed = pg.assume(pg.assume(stencil(), "n >= 0"), "n >= 0")
    assert split.assumptions == assumed.assumptions
    with pytest.raises(InvalidArgument, match="contradicts what is assumed"):
        pg.assume(split, "n < 0")
    other = pg.make_kernel("{ [j]: 0<=j<n }", "b[j] = 1", assumptions="n >= 1", name="other")
    fused = pg.fuse_kernels([split, other])
    assert fused.assumptions == pg.assume(split, "n >= 1").assumptions
