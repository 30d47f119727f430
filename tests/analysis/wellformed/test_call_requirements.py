"""Whether what kernels are given is what they may be given, beside all elements of small arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import polygen as pg
from polygen.analysis.wellformed.call_requirements import check_calls_of_kernels
from polygen.errors import CallAssumption, OverlappingParts, UnorderedAccess
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, array

COPY = pg.make_function("{ [k]: 0<=k<m }", "y[k] = x[k]", ["m", "x", "y"], name="copy")
EVEN = pg.make_function("{ [k]: 0<=2*k<m }", "y[2*k] = x[2*k]", ["m", "x", "y"], name="even")
AFTER = pg.make_function(
    "{ [k]: 0<=k<m }", "y[k] = x[k]", ["m", "x", "y"], name="after", assumptions="m >= 3"
)
ALIASED = pg.make_function(
    "{ [k]: 0<=k<m }",
    "y[k] = x[k]",
    ["m", *(pg.GlobalArg(name, may_alias=True) for name in "xy")],
    name="aliased",
)
FUNCTIONS = {knl.name: knl for knl in (COPY, EVEN, AFTER, ALIASED)}


def _kernel(text: str, **options: Any) -> Kernel:
    """Return a kernel of which nothing is checked: the elements of `a` are 3*n."""
    with pg.without_proofs():
        return pg.make_kernel(
            LINE,
            text,
            [array("a", "3*n"), array("b", "3*n"), "..."],
            functions=FUNCTIONS,
            silenced_warnings=["AmbiguousNesting", "UnusedIname"],
            **options,
        )


def _refusal(knl: Kernel) -> OverlappingParts | None:
    try:
        check_calls_of_kernels(knl)
    except OverlappingParts as error:
        return error
    return None


# What `copy` writes and reads in instance i, as texts and as functions of i, n and k.
Element = Callable[[int, int, int], int]
PARTS: dict[str, tuple[str, str, Element, Element]] = {
    "the same": ("a[k]", "a[k]", lambda i, n, k: k, lambda i, n, k: k),
    "beside": ("a[k]", "a[n+k]", lambda i, n, k: k, lambda i, n, k: n + k),
    "overlapping": ("a[k]", "a[k+1]", lambda i, n, k: k, lambda i, n, k: k + 1),
    "even and odd": ("a[2*k]", "a[2*k+1]", lambda i, n, k: 2 * k, lambda i, n, k: 2 * k + 1),
    "the same in one iteration": (
        "a[k]",
        "a[k+n-i]",
        lambda i, n, k: k,
        lambda i, n, k: k + n - i,
    ),
    "an element twice": ("a[k//2]", "b[k]", lambda i, n, k: k // 2, lambda i, n, k: -1 - k),
    "one element": ("a[i]", "b[k]", lambda i, n, k: i, lambda i, n, k: -1 - k),
    "another array": ("a[k]", "b[k]", lambda i, n, k: k, lambda i, n, k: -1 - k),
    "read twice": ("b[k]", "a[k//2]", lambda i, n, k: k, lambda i, n, k: -1 - k),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_arrays(case: str) -> None:
    written, read, one, other = PARTS[case]
    knl = _kernel(f"[k]: {written} = copy(n, [k]: {read})")
    meet = [
        (n, i, k, j)
        for n in range(5)
        for i in range(n)
        for k in range(n)
        for j in range(n)
        if one(i, n, k) == other(i, n, j) or (j != k and one(i, n, k) == one(i, n, j))
    ]
    found = _refusal(knl)
    assert (found is not None) == bool(meet)
    if found is not None:
        assert ("twice" in found.what) == ("element" in case)


def test_only_elements_that_are_used_count() -> None:
    """`even` touches the even ones only."""
    assert _refusal(_kernel("[k]: a[k] = even(n, [k]: a[k+1])")) is None
    assert _refusal(_kernel("[k]: a[k] = even(n, [k]: a[k+2])")) is not None


def test_only_where_it_is_called() -> None:
    text = "[k]: a[k] = copy(n, [k]: a[k+i])"
    assert _refusal(_kernel(text)) is not None
    assert _refusal(_kernel(f"{text} {{if=i >= n}}")) is None
    assert _refusal(_kernel("[k]: a[k] = copy(1, [k]: a[k+i]) {if=i > 0}")) is None


def test_arrays_that_may_overlap() -> None:
    assert _refusal(_kernel("[k]: a[k] = aliased(n, [k]: a[k])")) is None
    text = "[k]: a[k] = copy(n, [k]: b[k])"
    assert _refusal(_kernel(text)) is None
    with pg.without_proofs():
        knl = _kernel(text)
        both = tuple(
            pg.GlobalArg(a.name, a.dtype, a.shape, may_alias=True)
            if isinstance(a, pg.GlobalArg)
            else a
            for a in knl.arguments
        )
        knl = knl.copy(arguments=both)
    found = _refusal(knl)
    assert found is not None
    assert "may overlap, as these arrays may" in found.what


@pytest.mark.parametrize(
    ("count", "condition", "refused"),
    [
        ("n", "i >= 0", True),
        ("n", "n > 2", False),
        ("n", "i > 1", False),  # of three iterations at least
        ("i", "i > 1", True),
        ("i", "i >= 3", False),
        ("3", "i >= 0", False),
        ("2", "i >= 0", True),
        ("2", "i < 0", False),  # never called
    ],
)
def test_assumptions(count: str, condition: str, refused: bool) -> None:
    knl = _kernel(f"[k]: b[k] = after({count}, [k]: a[k]) {{if={condition}}}")
    if not refused:
        check_calls_of_kernels(knl)
        return
    with pytest.raises(CallAssumption, match=r"gives kernel 'after' m=[0-2]") as caught:
        check_calls_of_kernels(knl)
    assert "m >= 3" in caught.value.what


def test_what_the_caller_assumes_is_known() -> None:
    check_calls_of_kernels(_kernel("[k]: b[k] = after(n, [k]: a[k])", assumptions="n >= 3"))


def _in_work_items(text: str) -> Kernel:
    with pg.without_proofs():
        knl = pg.make_kernel(
            LINE, text, [array("a", "n"), array("c", "n", "n"), "..."], functions=FUNCTIONS
        )
        return pg.tag_inames(knl, {"i": "l.0"})


def test_loops_of_calls_order_nothing_in_other_work_items() -> None:
    """Element (i, n-1-k) is written in iteration k, and read by work item n-1-k in iteration i.

    Since k < i the write would come first, if the loops were one for all work items.
    """
    check_calls_of_kernels(_in_work_items("[k]: c[i, k] = copy(n, [k]: a[k])"))
    knl = _in_work_items("[k]: c[i, n-1-k] = copy(i, [k]: c[k, i])")
    with pytest.raises(UnorderedAccess, match="a call is executed as a whole") as caught:
        check_calls_of_kernels(knl)
    assert "inline it first" in str(caught.value.remedy)
    check_calls_of_kernels(pg.inline_callable_kernel(knl, "copy"))
