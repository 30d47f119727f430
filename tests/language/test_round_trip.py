"""What is printed reads back: random expressions and random kernels."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polygen as pg
from polygen.analysis.integers.proving import without_proofs
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import parse_domain
from polygen.ir.dtype import to_dtype
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Nested, Strided
from polygen.ir.operation import Special
from polygen.ir.options import Options
from polygen.ir.reduction import BUILT_IN
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import parse_tag
from polygen.language.make_kernel import make_kernel
from polygen.language.parse_kernel import parse_kernel
from polygen.language.parser import parse_expression
from polygen.language.relations import parse_relation

Parts = tuple[Any, ...]

# --- expressions

N_ARY: tuple[Any, ...] = (
    ex.Sum, ex.Product, ex.LogicalAnd, ex.LogicalOr, ex.BitwiseAnd, ex.BitwiseOr,
    ex.BitwiseXor, ex.Min, ex.Max,
)  # fmt: skip
BINARY: tuple[Any, ...] = (
    ex.Quotient, ex.FloorDiv, ex.Remainder, ex.LeftShift, ex.RightShift, ex.Power,
)  # fmt: skip
COMPARISONS = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
FUNCTIONS = st.sampled_from(("sin", "pow", "f")).map(ex.Variable)
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
)


def parts(inner: st.SearchStrategy[Any], least: int = 2) -> st.SearchStrategy[Parts]:
    return st.lists(inner, min_size=least, max_size=4).map(tuple)


def expressions(
    names: tuple[str, ...] = ("a", "b", "id", "dep", "x_1", "sum"),
    arrays: tuple[tuple[str, int], ...] = (("x", 1), ("y", 2), ("sum", 3)),
    numbers: st.SearchStrategy[Any] = NUMBERS,
) -> st.SearchStrategy[Any]:
    """Return a strategy for expressions in the form that the parser builds.

    Parameters:
        names: of variables.
        arrays: with the number of their subscripts.
        numbers: a strategy for these.
    """

    def subscript(array: tuple[str, int], inner: st.SearchStrategy[Any]) -> Any:
        name, rank = array
        index = st.tuples(*[inner] * rank).map(lambda t: t[0] if rank == 1 else t)
        return st.builds(ex.Subscript, st.just(ex.Variable(name)), index)

    def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        nodes = inner.filter(lambda e: isinstance(e, ex.ExpressionNode))
        return st.one_of(
            *(st.builds(kind, parts(inner)) for kind in N_ARY),
            *(st.builds(kind, inner, inner) for kind in BINARY),
            *(subscript(array, inner) for array in arrays),
            st.builds(ex.Product, st.tuples(st.just(-1), nodes)),
            st.builds(ex.BitwiseNot, inner),
            st.builds(ex.LogicalNot, inner),
            st.builds(ex.Comparison, inner, COMPARISONS, inner),
            st.builds(ex.If, inner, inner, inner),
            st.builds(ex.Call, FUNCTIONS, parts(inner, least=0)),
        )

    leaves = numbers | st.sampled_from(names).map(ex.Variable)
    return st.recursive(leaves, extend, max_leaves=12)


@given(expressions())
def test_expressions_read_back(expression: Expression) -> None:
    # By their text: 1 == 1.0 == True in Python.
    assert repr(parse_expression(show_expression(expression))) == repr(expression)


# --- kernels

PARSED = (
    ("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"),
    ("{ [i, j]: 0<=i<n and 0<=j<=i }", "out[i, j] = a[j] - i {if=i>j, if=j<3}"),
    (
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<stop }"],
        """
        <> start = p[i]
        <int32> stop = p[i + 1]
        y[i] = sum(j, v[j]*x[col[j]])
        """,
    ),
    ("{ [i, k]: 0<=i,k<n }", "out[i] = min(k, a[i, k]) + max(i, 3) - min(i, max(k, b[k]))"),
    ("{ [i]: 0<=i<n and exists(e: i = 3e + 1) }", "out[i] = 1e-300 if a[i] < -0.5 else -1"),
    ("{ [i]: 0<=i<n or i = -3 and n > 7 }", "out[i + 3] = 0 {inames=i}"),
    ("{ : }", "out[0] = 1"),
    ("{ [i]: i = 3 }", "out[i] = 1"),
    ("{ [i, j]: 0<=i<n and i<=2j<n }", "out[i] = 1  {id=one}\nout[i] = out[i] + 1 {dep=o*}"),
)


@pytest.mark.parametrize(("domains", "instructions"), PARSED)
def test_kernels_read_back(domains: Any, instructions: str) -> None:
    kernel = make_kernel(domains, instructions)
    assert parse_kernel(str(kernel)) == kernel
    assert str(parse_kernel(str(kernel))) == str(kernel)


DOMAINS = (
    "[n] -> { [i] : 0 <= i < n }",
    "[m, n] -> { [j, k] : 0 <= j < m and exists (e0 : 2e0 = j + k) and 0 <= k < n }",
    "[i] -> { [l = i] }",
    "[n] -> { [io, ii] : 0 <= ii < 16 and 0 <= 16io + ii < n; [io = -1, ii] : ii = n }",
)
INAMES = ("i", "j", "k", "l", "io", "ii")
NAMES = ("i", "l", "n", "m", "t")  # what every instruction may read
ARRAYS = (("x", 1), ("y", 2))
TYPES = st.sampled_from((None, "float32", "int64", "bool", "complex128")).map(
    lambda name: None if name is None else to_dtype(name)
)
VALUES = expressions(NAMES, ARRAYS)
ONE_RESULT = [name for name, facts in BUILT_IN.items() if facts.width == 1]
TWO_RESULTS = [name for name, facts in BUILT_IN.items() if facts.width == 2]
OVER = st.sampled_from((("j",), ("k", "j")))
OPERANDS = expressions((*NAMES, "j"), ARRAYS)
REDUCTIONS = st.one_of(
    st.builds(
        ex.Reduction,
        st.sampled_from(
            (*ONE_RESULT, Special("sum", to_dtype("int8")), Special("max", to_dtype("float64")))
        ),
        OVER,
        OPERANDS,
    ),
    st.builds(
        ex.Component,
        st.builds(
            ex.Reduction,
            st.sampled_from(TWO_RESULTS),
            OVER,
            st.builds(ex.Several, st.tuples(OPERANDS, OPERANDS)),
        ),
        st.integers(0, 1),
    ),
)


def _extents(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        *(st.builds(kind, parts(inner)) for kind in (ex.Sum, ex.Product, ex.Min, ex.Max)),
        *(st.builds(kind, inner, inner) for kind in (ex.FloorDiv, ex.Remainder, ex.LeftShift)),
        st.builds(ex.If, st.builds(ex.Comparison, inner, COMPARISONS, inner), inner, inner),
    )


EXTENT = st.recursive(
    st.integers(0, 9) | st.sampled_from(("n", "m")).map(ex.Variable), _extents, max_leaves=12
)
EXTENTS = st.tuples(EXTENT, EXTENT)


@st.composite
def instructions(draw: Any, insn_id: str, earlier: tuple[str, ...]) -> Assignment:
    terms = (draw(REDUCTIONS), draw(VALUES), draw(REDUCTIONS))
    words = st.sets(st.sampled_from(("g", "h", "id", "dep"))).map(frozenset[str])
    groups = draw(words)
    inames = frozenset(("i", "l", *draw(st.sets(st.sampled_from(("io", "ii"))))))
    deps = draw(st.sets(st.sampled_from(earlier))) if earlier else ()
    return Assignment(
        id=insn_id,
        assignee=ex.Variable("t"),
        expression=ex.Sum(terms) if draw(st.booleans()) else terms[1],
        within_inames=inames,
        tags=draw(words),
        groups=groups,
        conflicts_with_groups=draw(words) - groups,
        priority=draw(st.integers(-3, 3)),
        no_sync_with=frozenset(
            [(other, draw(st.sampled_from(("local", "global", "any")))) for other in earlier]
        ),
        depends_on=frozenset(deps),
        predicates=draw(st.lists(VALUES, max_size=2).map(tuple)),
    )


TAGS = st.builds(Strided, st.just(pg.auto) | EXTENT)
LAYOUTS = st.one_of(
    st.tuples(TAGS, TAGS),
    st.permutations((Nested(0), Nested(1, 8))).map(tuple),
    st.permutations((Nested(0, 2), Strided(7))).map(tuple),
)
OFFSETS = st.just(0) | st.just(pg.auto) | EXTENT


@st.composite
def kernels(draw: Any) -> Kernel:
    arguments: list[Argument] = [
        GlobalArg(
            "y",
            draw(TYPES),
            draw(EXTENTS),
            draw(st.none() | LAYOUTS),
            draw(OFFSETS),
            draw(st.sampled_from((None, ("rows", "columns")))),
            alignment=draw(st.sampled_from((None, 1, 64))),
            may_alias=draw(st.booleans()),
        ),
        GlobalArg("x", draw(TYPES), (ex.Variable("n"),)),
        ValueArg("n", draw(TYPES)),
        ValueArg("m", draw(TYPES)),
    ]
    first, second = draw(instructions("first", ())), draw(instructions("second", ("first",)))
    if draw(st.booleans()):
        before, after = (", ".join(sorted(i.within_inames)) for i in (first, second))
        marked = after.replace(", ", "', ") + "'"
        condition = draw(st.sampled_from(("i' = i + 1", "l < l' + n", "i' mod 2 = 0")))
        pairs = f"{{ [{before}] -> [{marked}] : {condition} }}"
        second = second.copy(happens_after=frozenset([parse_relation("first", pairs)]))
    kernel = Kernel(
        name="random_kernel",
        domains=tuple([parse_domain(text) for text in DOMAINS]),
        instructions=(first, second),
        arguments=tuple(draw(st.permutations(arguments))),
        temporaries=(
            TemporaryVariable("t", draw(TYPES)),
            TemporaryVariable(
                "u",
                draw(TYPES),
                (4, 5),
                draw(st.sampled_from(AddressSpace)),
                draw(st.sampled_from((None, (Strided(1), Strided(9)), (Nested(1), Nested(0, 3))))),
                draw(st.sampled_from((None, ("a", "b")))),
            ),
        ),
        priorities=tuple(draw(st.lists(st.sampled_from((("i", "l"), ("ii", "io"))), max_size=2))),
        assumptions=parse_domain(
            draw(st.sampled_from(("{ : }", "[n] -> { : n >= 1 and n mod 4 = 0 }")))
        ),
        target=draw(st.sampled_from((None, "c", "opencl"))),
        options=Options(
            write_code=draw(st.booleans()),
            return_dict=draw(st.booleans()),
            build_options=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
        ),
    )
    tags = st.sampled_from(("for", "unr")).map(parse_tag)
    return kernel.copy(tags=draw(st.dictionaries(st.sampled_from(INAMES), tags)))


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(kernels())
def test_random_kernels_read_back(kernel: Kernel) -> None:
    with without_proofs():  # what it says makes no sense
        again = parse_kernel(str(kernel))
    assert again == kernel
    # 1 == 1.0 == True in Python, but not in a kernel.
    assert str(again) == str(kernel)
    for one, other in zip(again.instructions, kernel.instructions, strict=True):
        assert repr(one.reads) == repr(other.reads)
