"""Values that are computed anew, and those that several instances write alike."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.comparison_context import Names
from polygen.analysis.dataflow.computed_difference import Difference
from polygen.analysis.dataflow.read_sources import sources
from polygen.analysis.values.computed_anew import may_be_seen
from polygen.analysis.values.equivalence import flow_difference
from polygen.analysis.values.unaffected_variables import Settled
from polygen.errors import IllegalStep
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from tests.analysis.values.compared import LOOP, frame, made, same_instances
from tests.oracle.cases import kernel
from tests.proof.judge import judge
from tests.proof.patterns import array, scalar

LINES = """
    s = 1              {id=s, dep=*, inames=i}
    out[i] = s*a[i]    {id=out, dep=*s}
    a[0] = s           {id=last, dep=*out, inames=}
    """
SAME = ("1  ", "x  ", "b[2]", "b[m]/3")
OTHER = ("i  ", "b[i]", "a[0] + i", "b[i//4]")


def _made(value: str) -> Kernel:
    lines = LINES.replace("1  ", value, 1)
    scalars = [pg.ValueArg("x", "float64"), pg.ValueArg("m", "int32")]
    arrays = (array(name, "9") for name in ("a", "b", "out") if f"{name}[" in lines)
    data = (scalar("s"), *arrays, *(v for v in scalars if v.name in value))
    with pg.without_proofs():
        return kernel(
            "{ [i]: 1<=i<8 }",
            "\n".join(map(str.strip, lines.strip().splitlines())),
            *data,
            assumptions="0 <= m < 9" if "m" in value else "",
        )


def _reverse(knl: Kernel) -> Kernel:
    return pg.map_domain(knl, "{ [i] -> [r] : r = 7 - i }")


@pytest.mark.parametrize("value", SAME)
def test_one_value(value: str) -> None:
    knl = _made(value)
    sizes = {name: 2 for name in ("m", "x") if name in knl.variables}
    verdict = judge(knl, _reverse(knl), [(sizes, seed) for seed in range(3)])
    assert verdict.differs is None
    assert verdict.calls == 3


@pytest.mark.parametrize(("narrow", "wide"), [("int8", "int32"), ("float32", "float64")])
def test_one_value_that_is_stored_in_a_narrow_type(narrow: str, wide: str) -> None:
    """What is stored is not what was computed, and yet the same, whichever instance stored it."""
    lines = LINES.replace("1  ", "b[2]", 1).strip().splitlines()
    arrays = [pg.GlobalArg(name, wide if name == "b" else "float64", "9") for name in ("a", "b")]
    with pg.without_proofs():
        knl = kernel(
            "{ [i]: 1<=i<8 }",
            "\n".join(map(str.strip, lines)),
            pg.TemporaryVariable("s", narrow),
            *arrays,
            pg.GlobalArg("out", "float64", "9"),
        )
    verdict = judge(knl, _reverse(knl), [({}, seed) for seed in range(3)])
    assert (verdict.differs, verdict.calls) == (None, 3)


@pytest.mark.parametrize("value", OTHER)
def test_a_value_of_each(value: str) -> None:
    knl = _made(value)
    with pytest.raises(IllegalStep, match="would change"):
        _reverse(knl)
    with pg.without_proofs():
        new = _reverse(knl)
    assert judge(knl, new, [({}, seed) for seed in range(3)]).differs is not None


# --- one kernel computes what the other stored

STORED = "v[i] = 2*a[i] {id=t, dep=*}\nout[i] = v[i] + 1 {id=r, dep=*t}\nb[i] = v[i] {id=b, dep=*t}"
AGAIN = STORED.replace("= v[i] + 1", "= 2*a[i] + 1")
RUN = "p[i + 1] = p[i] + a[i] {id=t, dep=*}\nout[i] = p[i + 1] {id=r, dep=*t}"


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (STORED, True),
        (AGAIN, True),
        (AGAIN.replace("2*a[i] + 1", "3*a[i] + 1"), False),
        (AGAIN.replace("2*a[i] + 1", "2*a[7 - i] + 1"), False),
        (STORED.replace("= v[i] + 1", "= v[7 - i] + 1"), False),
        # what was computed from is another value by then
        (f"a[i] = 0 {{id=z, dep=*t}}\n{AGAIN.replace('id=r, dep=*t', 'id=r, dep=*z')}", False),
    ],
)
def test_one_kernel_computes_what_the_other_stored(new: str, same: bool) -> None:
    old = f"a[i] = 0 {{id=z, dep=*r:b:t}}\n{STORED}" if "id=z" in new else STORED
    before, after = made(old), made(new)
    for pair in ((before, after), (after, before)):
        assert (_compared(*pair) is None) is same
    verdict = judge(before, after, [({"x": 2}, 0)], {"idx": 8}, 1)
    assert (verdict.differs is None) is same


def test_a_narrow_type_may_be_seen_in_what_was_stored() -> None:
    narrow = pg.TemporaryVariable("t", "int8")
    lines = "t = idx[i] {id=t, dep=*}\nout[i] = t {id=r, dep=*t}\nb[i] = t {id=b, dep=*t}"
    kernels = [
        made(text, LOOP, narrow) for text in (lines, lines.replace("] = t", "] = idx[i]", 1))
    ]
    found = _compared(*kernels)
    assert found is not None
    assert not found.certain


@pytest.mark.parametrize(
    ("dtype", "read"), [("float64", "a[i]"), ("float32", "a[i]"), ("int8", "idx[i]")]
)
def test_what_may_be_seen_of_a_write(dtype: str, read: str) -> None:
    """What is rounded on the way is seen rounded; the value itself, only if types agree."""
    t = pg.TemporaryVariable("t", dtype)
    knl = made(f"t = {read} {{id=t, dep=*}}\nout[i] = t {{id=r, dep=*t}}", LOOP, t)
    at = same_instances(knl, knl, "r", Names())
    found_sources = sources(knl, at.old.reference(ex.Variable("t")))
    assert found_sources is not None
    (source,) = found_sources
    writer = frame(knl, "t", {"i": "q"})
    found = list(may_be_seen(knl, ex.Variable("t"), writer, source, at))
    sure = [value for value, why in found if why is None]
    doubted = [value for value, why in found if why is not None]
    written = parse_expression(read)
    expected: dict[str, tuple[list[Expression], list[Expression]]] = {
        "float64": ([written], []),
        "float32": ([ex.converted("float32", written)], [written]),
        "int8": ([], [written]),
    }
    assert (sure, doubted) == expected[dtype]


def _compared(old: Kernel, new: Kernel) -> Difference | None:
    return flow_difference(old, new, UNMOVED, Settled(old, new, UNMOVED))
