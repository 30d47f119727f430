"""Steps on kernels with verbatim C, atomic updates and barriers: kept as they are, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CannotProve, NewObligation, NotTheSame, UserError
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.exchange import exchange

ROW = ["{ [i]: 0<=i<n }"]
OUT, B, C = (pg.GlobalArg(name, np.float64, shape="n") for name in ("out", "b", "c"))
A = pg.GlobalArg("a", np.float64, shape="n")

CODE = '... code(i) "out[i] = a[i];" reads(a) writes(out) {id=c, inames=i}'
COPY = "b[i] = 2*a[i] {id=b}"


def _kernel(*lines: str) -> Kernel:
    with pg.without_proofs():
        return kernel(ROW, "\n".join(lines), A, B, C, OUT)


BEFORE = _kernel(CODE, COPY)
STORED = ("<float64> t = a[i] {id=t}", "b[i] = 2*t {id=b, dep=t}")


def test_what_verbatim_c_does_not_touch_may_change() -> None:
    after = exchange(BEFORE, _kernel(CODE, *STORED))
    assert after.instruction("c") == BEFORE.instruction("c")


@pytest.mark.parametrize(
    "code",
    [
        CODE.replace("a[i];", "a[i] + 1;"),
        CODE.replace("code(i)", "code(i=n-1-i)"),
        CODE.replace("reads(a)", "reads(a, c)"),
        CODE.replace("writes(out)", "writes(out, c)"),
        "out[i] = a[i] {id=c}",
    ],
)
def test_other_verbatim_c(code: str) -> None:
    for rest in ((COPY,), STORED):
        with pytest.raises(UserError, match=r"other verbatim C|instead of"):
            exchange(BEFORE, _kernel(code, *rest))
        with pytest.raises(UserError, match=r"other verbatim C|instead of|nothing|not in"):
            exchange(_kernel(code, *rest), BEFORE)


def test_a_value_of_a_name_that_is_the_same() -> None:
    old = _kernel(CODE.replace("code(i)", "code(i=i+1-1)"), COPY)
    assert exchange(old, _kernel(CODE, *STORED)).instruction("c") == BEFORE.instruction("c")


def test_what_verbatim_c_reads_may_not_come_from_elsewhere() -> None:
    reader = '... code(i) "out[i] = b[i];" reads(b) writes(out) {id=c, dep=b, inames=i}'
    old = _kernel(COPY, reader)
    with pytest.raises(CannotProve, match=r"verbatim C touches it"):
        exchange(old, _kernel("b[i] = a[i] + a[i] {id=d}", reader.replace("dep=b", "dep=d")))


def test_where_verbatim_c_is_executed() -> None:
    with pytest.raises(UserError):
        exchange(BEFORE, _kernel(CODE.replace("inames=i", "inames=i, if=i > 0"), COPY))


@pytest.mark.parametrize("bound", ["m", "m - 1"])
def test_what_verbatim_c_reads_bounds_its_loop_no_more(bound: str) -> None:
    """Refused even if the new bound has the same value."""
    count, m = pg.GlobalArg("count", "int32", "n"), pg.TemporaryVariable("m", "int32")
    data = (count, pg.GlobalArg("c", "int32", "n"), m, pg.TemporaryVariable("k", "int32"))
    first = "m = count[i] {id=m, inames=i, dep=*}"
    use = '... code(i, j) "c[i] += m + j;" reads(m, c) writes(c) {id=c, inames=i:j, dep=*'
    line = "{ [i]: 0<=i<n }"
    with pg.without_proofs():
        before = kernel([line, "{ [j]: 0<=j<m }"], f"{first}\n{use}m}}", *data)
        other = f"{first}\nk = {bound} {{id=k, inames=i, dep=*m}}\n{use}k}}"
        after = kernel([line, "{ [j]: 0<=j<k }"], other, *data)
    with pytest.raises(CannotProve, match="'m': verbatim C touches it"):
        exchange(before, after)


UPDATE = "out[i] = out[i] + a[i] {id=u, atomic}"


@pytest.mark.parametrize("rest", [(COPY,), STORED])
def test_atomic_updates_stay_atomic(rest: tuple[str, ...]) -> None:
    before = _kernel(UPDATE, COPY)
    assert exchange(before, _kernel(UPDATE, *rest)).instruction("u") == before.instruction("u")
    with pytest.raises(NotTheSame, match=r"atomic in another way|assign in another way"):
        exchange(before, _kernel(UPDATE.replace(", atomic", ""), *rest))


@pytest.mark.parametrize("rest", [(COPY,), STORED])
def test_another_number_of_values(rest: tuple[str, ...]) -> None:
    one, two = "c[i] = a[i] {id=u}", "c[i], out[i] = a[i], 2*a[i] {id=u}"
    for first, second in ((one, two), (two, one)):
        with pytest.raises(NotTheSame, match=r"another number of variables|assign in another way"):
            exchange(_kernel(first, COPY), _kernel(second, *rest))


READER = '... code(i) "out[i] = b[i];" reads(b) writes(out) {id=c, dep=*b, inames=i}'
USED = "c[i] = b[i] {id=u, dep=*b}"
LOADED = ("<float64> t = b[i] {id=t, dep=*b}", "c[i] = t {id=u, dep=*t}")


def test_verbatim_c_beside_other_readers() -> None:
    before = _kernel("b[i] = 2*a[i] {id=b, dep=*}", READER, USED)
    after = exchange(before, _kernel("b[i] = 2*a[i] {id=b, dep=*}", READER, *LOADED))
    assert after.instruction("c") == before.instruction("c")


def test_verbatim_c_before_what_it_reads() -> None:
    before = _kernel("b[i] = 2*a[i] {id=b, dep=*}", READER, USED)
    late = ("b[i] = 2*a[i] {id=b, dep=*c}", READER.replace("*b", "*"), *LOADED)
    with pytest.raises(CannotProve, match=r"verbatim C touches it|depends on data"):
        exchange(before, _kernel(*late))


NAMED = '... code(k=i, l=n-1-i) "out[k] = a[l];" reads(a) writes(out[i], c) {id=c, inames=i}'


@pytest.mark.parametrize(
    "other",
    [
        NAMED.replace("k=i, l=n-1-i", "l=i, k=n-1-i"),
        NAMED.replace("out[i], c", "out, c[i]"),
        NAMED.replace("out[i], c", "out[i], c[i]"),
    ],
)
@pytest.mark.parametrize("rest", [(COPY,), STORED])
def test_what_is_said_of_verbatim_c(other: str, rest: tuple[str, ...]) -> None:
    """The text is the same, and the expressions are: what they are expressions of is not."""
    for old, new in ((NAMED, other), (other, NAMED)):
        with pytest.raises(NotTheSame, match="execute other verbatim C"):
            exchange(_kernel(old, COPY), _kernel(new, *rest))


def test_a_copy_each_of_what_verbatim_c_writes() -> None:
    with pg.without_proofs():
        lines = '... code(i) "t = a[i];" reads(a) writes(t) {id=t, inames=i}\nb[i] = t {dep=*t}'
        data = [pg.GlobalArg(name, np.float64, shape=8) for name in "ab"]
        knl = kernel(["{ [i]: 0<=i<8 }"], lines, *data, pg.TemporaryVariable("t", np.float64))
    with pytest.raises(NotTheSame, match="verbatim C, for which 't' would be declared"):
        pg.privatize_temporaries_with_inames(knl, "i", "t")


TEXTS = {
    "what it reads": (
        "t[k, l] = 2*k + l {id=t, dep=*}",
        '... code(i) "out[i] = t[3];" reads(t) writes(out[i]) {id=c, dep=*t, inames=i}',
    ),
    "what it writes": (
        "t[k, l] = 2*k + l {id=t, dep=*}",
        '... code(i) "t[3] = a[i];" reads(a) writes(t) {id=c, dep=*t, inames=i}',
        "out[i] = t[1, 1] {id=out, dep=*c}",
    ),
}


@pytest.mark.parametrize("touched", TEXTS)
@pytest.mark.parametrize("options", [{"shape": (4, 2), "order": "F"}, {"shape": (4, 3)}])
def test_where_elements_are_that_verbatim_c_touches(touched: str, options: dict[str, Any]) -> None:
    """Its text counts from the first element: t[3] is t[1, 1] in rows of two, and only there."""

    def made(**options: Any) -> Kernel:
        t = pg.TemporaryVariable("t", np.float64, **options)
        with pg.without_proofs():
            domains = [*ROW, "{ [k,l]: 0<=k<4 and 0<=l<2 }"]
            return kernel(domains, "\n".join(TEXTS[touched]), A, B, C, OUT, t)

    with pytest.raises(NotTheSame, match=r"'t' (would be|is) declared otherwise"):
        exchange(made(shape=(4, 2)), made(**options))


@pytest.mark.parametrize("condition", ["", ", if=p[i] >= 0"])
def test_an_element_that_data_chooses_beside_verbatim_c(condition: str) -> None:
    """What the text is said to read, or write, is no reason to believe that it does."""
    touching = '... code(i) "out[i] = a[0];" reads(a) writes(out, c[p[i]]) {id=c, inames=i, dep=*}'
    use = "b[i] = a[p[i]] {{id=b, dep={dep}, if=p[i] >= 0}}"
    load = f"<float64> t = a[p[i]] {{id=t, dep=*{condition}}}"

    def made(*lines: str) -> Kernel:
        with pg.without_proofs():
            p = pg.GlobalArg("p", np.int32, shape="n")
            return kernel(ROW, "\n".join((touching, *lines)), A, B, C, OUT, p)

    old = made(use.format(dep="*"))
    new = made(load, use.format(dep="*t").replace("a[p[i]]", "t"))
    if condition:
        assert exchange(old, new).instruction("c") == old.instruction("c")
        return
    with pytest.raises(NewObligation, match=r"a\[p\[i\]\] is inside of 'a'"):
        exchange(old, new)
