"""`@transformation`: arguments checked by annotation, results checked, steps recorded."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NameTaken, UnknownIname, UnknownName
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import Iname, NewName, PositiveInt, Tag, to_tag, transformation

KNL = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")

PUBLIC: list[Any] = [
    pg.add_dtypes,
    pg.affine_map_inames,
    pg.assume,
    pg.fix_parameters,
    pg.interchange,
    pg.join_inames,
    pg.prioritize_loops,
    pg.remove_unused_inames,
    pg.rename_iname,
    pg.reverse,
    pg.set_options,
    pg.shift,
    pg.skew,
    pg.split_iname,
    pg.tag_inames,
    pg.tile,
    pg.untag_inames,
]


@transformation(declared=True)
def scale(kernel: Kernel, factor: PositiveInt, /, *, iname: Iname | None = None) -> Kernel:
    """Multiply what is written."""
    if factor == 1:
        return kernel
    return kernel.copy(
        instructions=tuple(
            insn.with_pairs([(a, ex.product_of(factor, value)) for a, value in insn.pairs])
            for insn in kernel.assignments
            if iname is None or iname in insn.within_inames
        )
    )


@transformation
def tag_twice(
    kernel: Kernel, first: Iname, first_tag: Tag, fresh: NewName = "fresh", plain: bool = False
) -> Kernel:
    """Take two steps in one."""
    kernel = pg.tag_inames(kernel, {first: to_tag(first_tag)}, force=plain)
    return pg.rename_iname(kernel, first, fresh)


@transformation
def forget_the_domains(kernel: Kernel) -> Kernel:
    """Return what does not fit together."""
    return kernel.copy(domains=())


def test_a_transformation_of_ones_own() -> None:
    knl = scale(KNL, 3)
    assert str(knl.assignments[0].values[0]) == "3*2*a[i]"
    assert KNL.history == ()
    assert knl.original is KNL
    assert [str(step) for step in knl.history] == ["scale(factor=3, iname=None)"]
    assert pg.replay(KNL, knl.history) == knl


def test_the_same_object_when_nothing_changes() -> None:
    assert scale(KNL, 1) is KNL
    assert pg.assume(pg.assume(KNL, "n >= 1"), "n >= 1").history[1:] == ()


def test_steps_inside_of_a_step_are_part_of_it() -> None:
    knl = tag_twice(KNL, "i", "g.0")
    assert [step.name for step in knl.history] == ["tag_twice"]
    arguments = dict(knl.history[0].arguments)
    assert arguments == {"first": "i", "first_tag": "g.0", "fresh": "fresh", "plain": False}
    assert pg.replay(KNL, knl.history) == knl


def test_a_recipe_on_another_kernel() -> None:
    knl = pg.split_iname(KNL, "i", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.assume(pg.prioritize_loops(knl, "i_outer, i_inner"), "n >= 0")
    knl = pg.set_options(pg.fix_parameters(pg.add_dtypes(knl, {"a": "f4"}), n=64), return_dict=True)
    knl = pg.rename_iname(knl, "i_inner", "lane")
    assert knl.original is KNL
    assert pg.replay(KNL, knl.history) == knl
    other = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + 1")
    assert pg.replay(other, knl.history).inames == ("i_outer", "lane")
    with pytest.raises(UnknownIname):
        pg.replay(pg.make_kernel("{ [j]: 0<=j<n }", "out[j] = a[j]"), knl.history)


def test_history_is_no_part_of_a_kernels_value() -> None:
    first = pg.rename_iname(pg.rename_iname(KNL, "i", "j"), "j", "i")
    assert first == KNL
    assert hash(first) == hash(KNL)
    assert len(first.history) == 2
    assert pickle.loads(pickle.dumps(first)) == KNL  # noqa: S301  (its own)


def test_a_set_of_names_is_listed() -> None:
    """As Loo.py takes them; the order of a set is another one in each process."""
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = a[i,j]")
    first = pg.untag_inames(pg.tag_inames(knl, "i: g.0, j: l.0"), frozenset({"j", "i"}))
    assert first.history[-1].arguments[0] == ("iname_to_untag", ("i", "j"))
    assert not first.tags
    with pytest.raises(UnknownIname, match="no iname 'k'"):
        pg.untag_inames(knl, {"i", "k"})


REFUSED: list[tuple[Any, tuple[Any, ...], dict[str, Any], type[pg.UserError], str]] = [
    (scale, (0,), {}, InvalidArgument, "scale was given factor=0, which is not a positive integer"),
    (scale, (), {}, InvalidArgument, "scale needs the argument 'factor'"),
    (scale, (2,), {"iname": "j"}, UnknownIname, "no iname 'j'"),
    (scale, (2,), {"iname": 2}, InvalidArgument, "iname=2, which is not the name of an iname"),
    (scale, (2,), {"inam": "i"}, InvalidArgument, "no argument 'inam'.*did you mean 'iname'"),
    (scale, (2, "i"), {}, InvalidArgument, "takes 1 positional arguments, not 2"),
    (tag_twice, ("i", "x.0"), {}, InvalidArgument, "'x.0' is no iname tag"),
    (tag_twice, ("i", 3), {}, InvalidArgument, "first_tag=3, which is not an iname tag"),
    (tag_twice, ("i", "g.0", "n"), {}, NameTaken, "already has a 'n'"),
    (tag_twice, ("i", "g.0"), {"plain": 1}, InvalidArgument, "plain=1, which is not True or False"),
    (tag_twice, ("i", "g.0"), {"first": "i"}, InvalidArgument, "was given 'first' twice"),
]


@pytest.mark.parametrize(("step", "args", "kwargs", "kind", "text"), REFUSED)
def test_refused(
    step: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[pg.UserError], text: str
) -> None:
    with pytest.raises(kind, match="(?s)" + text) as caught:
        step(KNL, *args, **kwargs)
    if kind is InvalidArgument:  # the others say where the kernel was made
        assert "test_transformation.py:" in str(caught.value)
        assert "remedy: " in str(caught.value)
        assert "help(polygen." not in str(caught.value)  # where there is no such function


def test_what_does_not_fit_together_is_no_result() -> None:
    with pytest.raises(UnknownName, match="'i'"):
        forget_the_domains(KNL)


def test_a_kernel_is_needed() -> None:
    with pytest.raises(InvalidArgument, match="scale was given kernel=3, which is no kernel"):
        scale(3, 2)  # type: ignore[type-var]


@pytest.mark.parametrize("step", PUBLIC, ids=lambda s: s.__name__)
def test_the_form_of_docstrings(step: Callable[..., Kernel]) -> None:
    text = inspect.getdoc(step) or ""
    assert re.match(r"[A-Z][^\n]*\.(\n|$)|[A-Z][^\n]*\.$", text.split("\n\n")[0] + "\n")
    assert re.search(r"^Kind: (order and storage|expression rewrite|change of)", text, re.M)
    assert re.search(r"^Before -> After:\n\n    >>> ", text, re.M)
    assert re.search(r"^Parameters:\n    \w+: ", text, re.M)
    raises = re.search(r"^Raises:\n((?:    .*\n?)+)", text, re.M)
    assert raises is not None
    for names in re.findall(r"^    (\w+(?:, \w+)*): ", raises[1], re.M):
        for name in names.split(", "):
            assert issubclass(getattr(pg.errors, name), pg.UserError)
    for parameter in list(inspect.signature(step).parameters.values())[1:]:
        assert re.search(rf"^    {parameter.name}: ", text, re.M), parameter.name
    # What is required is numbered, and what is raised refers to the numbers.
    numbers = re.findall(r"^    (\d)\. ", text, re.M)
    assert numbers == [str(i + 1) for i in range(len(numbers))]
    assert ("Requires:" in text) == bool(numbers)


def test_the_list_of_transformations_is_complete() -> None:
    found = {n for n in pg.__all__ if hasattr(getattr(pg, n), "__wrapped__")}
    assert {step.__name__ for step in PUBLIC} <= found


# --- variables that a transformation declares


def _through(knl: Kernel, variable: pg.TemporaryVariable) -> Kernel:
    """Store what the only instruction computes in a temporary."""

    @transformation
    def through(kernel: Kernel) -> Kernel:
        (use,) = kernel.assignments
        t: ex.Variable | ex.Subscript = ex.Variable(variable.name)
        if variable.shape:
            t = ex.Subscript(t, 0)
        first = pg.Assignment("first", t, use.values[0], use.within_inames)
        last = pg.Assignment(use.id, use.assignees[0], t, use.within_inames, frozenset({"first"}))
        return kernel.copy(instructions=(first, last), temporaries=(variable,))

    return through(knl)


@pytest.mark.parametrize(
    "variable",
    [
        pg.TemporaryVariable("t", "float64"),
        pg.TemporaryVariable("t", float, 1),
        pg.TemporaryVariable("t", np.float64, "1"),
        pg.TemporaryVariable("t", ">f8", [1]),
    ],
)
def test_variables_are_declared_as_in_make_kernel(variable: pg.TemporaryVariable) -> None:
    data = [pg.GlobalArg(name, "float64", "n") for name in "ab"]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", [*data, "..."])
    new = _through(knl, variable)
    (made,) = new.temporaries
    assert made.dtype == np.dtype(np.float64)
    assert made.shape in ((), (1,))
    a, b = np.arange(3.0), np.zeros(3)
    new(a=a, b=b)
    assert b.tolist() == [0, 2, 4]
    assert pg.parse_kernel(str(new)) == new


def test_variables_of_no_type_or_shape() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]")
    with pytest.raises(pg.errors.InvalidArgument, match="'float47' is no element type"):
        _through(knl, pg.TemporaryVariable("t", "float47"))
    with pytest.raises(pg.errors.InvalidArgument, match="shape of 't' is given as"):
        _through(knl, pg.TemporaryVariable("t", "float64", [1.5]))


@pytest.mark.parametrize("field", ["restated", "computes_as"])
def test_ones_own_steps_leave_nothing_out_of_their_proof(field: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    other = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 3*a[i]")

    def tripled(kernel: Kernel) -> Rearranged:
        new = kernel.copy(instructions=other.instructions)
        given: dict[str, Any] = {field: new}
        return Rearranged(new, **given)

    step: Any = pg.transformation(tripled)
    with pytest.raises(InvalidArgument, match="tripled says which kernel its proof begins") as it:
        step(knl)
    assert "unsafe=True" in str(it.value.remedy)
    assert pg.transformation(declared=True)(tripled)(knl).instructions == other.instructions
    assert step(knl, unsafe=True).claims == ("tripled(unsafe=True)",)


SHEAR = pg.make_kernel(
    "{ [i,j]: 1<=i<n and 0<=j<n-1 }", "a[i,j] = a[i-1,j+1] + 1  {id=update}", loop_priority="i, j"
)


@pg.transformation
def backward(kernel: pg.Kernel) -> pg.Kernel:
    """Take a step that is refused."""
    return pg.reverse(kernel, "i")


@pg.transformation
def further(kernel: pg.Kernel) -> pg.Kernel:
    """Take a step of one's own."""
    return backward(kernel)


def test_errors_name_the_step_that_was_called() -> None:
    loops = pg.make_kernel("{ [i,j]: 0<=i,j<n }", ["b[i] = a[i]", "c[j] = b[n-1-j]"])
    steps: list[tuple[str, Callable[[], pg.Kernel]]] = [
        ("strip_mine_to_vector", lambda: pg.strip_mine_to_vector(SHEAR, "i", 4)),
        ("chunk_iname", lambda: pg.chunk_iname(SHEAR, "i", 4, outer_tag="g.0")),
        ("fuse_loops", lambda: pg.fuse_loops(loops, "i", "j", by=1)),
        ("rename_inames", lambda: pg.rename_inames(loops, "i, j", "m")),
        ("backward: reverse", lambda: backward(SHEAR)),  # called by a function of the user's
        ("further: backward: reverse", lambda: further(SHEAR)),
        ("reverse", lambda: pg.reverse(SHEAR, "i")),
    ]
    for called, step in steps:
        with pytest.raises(pg.UserError, match=f"^{called} (would|cannot)"):
            step()
