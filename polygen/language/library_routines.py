"""The routines of numerical libraries: what each takes, and the kernel that computes the same.

    c = library("gemm", a, b, alpha=2, beta=1)

stands for a call of the kernel ``out[i, j] = alpha*sum(l, a[i, l]*b[l, j]) + beta*out[i, j]``,
with ``c`` for ``out``: analyses look at that.  `ROUTINES` says what there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel
from polygen.language.routine_table import ROUTINES, Form, Routine


@cache
def routine_kernel(form: Form) -> Kernel:
    """Return the kernel that computes what a routine does."""
    routine = ROUTINES[form.routine]
    text = _BODIES[form.routine](_Writer(form))
    numbers = [ValueArg(name) for name in (*routine.size_names(form), *form.numbers)]
    shapes = routine.shapes(form)
    arrays = [
        GlobalArg(name, np.int32 if name in routine.integers else None, shape=shapes[name])
        for name in form.arrays
    ]
    return make_kernel(
        text.domains,
        text.instructions,
        [*numbers, *arrays],
        name=form.routine,
        loop_priority=text.priority,
        silenced_warnings=("AmbiguousNesting",),
    )


@dataclass(frozen=True)
class _Body:
    """The text of a kernel.

    Attributes:
        domains: its loop domains.
        instructions: its instructions.
        priority: which loops are outside of which.
    """

    domains: Sequence[str]
    instructions: str
    priority: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Writer:
    """Writes expressions of a form of a routine."""

    form: Form

    def is_transposed(self, option: str = "trans") -> bool:
        """Tell whether an array is taken with its axes exchanged."""
        return self.form.option(option) != "N"

    def operand(self, name: str, i: str, j: str, option: str = "trans") -> str:
        """Return an element of an array as an option says it is taken."""
        said = self.form.option(option)
        if said == "N":
            return f"{name}[{i}, {j}]"
        return f"conj({name}[{j}, {i}])" if said == "C" else f"{name}[{j}, {i}]"

    def number(self, name: str, value: str) -> str:
        """Return a value times a number that the call may give."""
        return f"{name}*{value}" if name in self.form.numbers else value

    def added(self, value: str, index: str) -> str:
        """Return a value and a multiple of what a result begins with."""
        value = self.number("alpha", value)
        if "beta" not in self.form.numbers:
            return value
        return f"{value} + beta*{self.form.begin('out')}[{index}]"


def _gemm(w: _Writer) -> _Body:
    product = f"{w.operand('a', 'i', 'l', 'trans_a')}*{w.operand('b', 'l', 'j', 'trans_b')}"
    value = w.added(f"sum(l, {product})", "i, j")
    return _Body(["{ [i, j]: 0<=i<m and 0<=j<n }", "{ [l]: 0<=l<k }"], f"out[i, j] = {value}")


def _gemv(w: _Writer) -> _Body:
    value = w.added(f"sum(l, {w.operand('a', 'i', 'l')}*x[l])", "i")
    rows, columns = ("n", "m") if w.is_transposed() else ("m", "n")
    return _Body([f"{{ [i]: 0<=i<{rows} }}", f"{{ [l]: 0<=l<{columns} }}"], f"out[i] = {value}")


def _syrk(w: _Writer) -> _Body:
    product = f"{w.operand('a', 'i', 'l')}*{w.operand('a', 'j', 'l')}"
    columns = "0<=j<=i" if w.form.option("uplo") == "L" else "i<=j<n"
    value = w.added(f"sum(l, {product})", "i, j")
    domains = [f"{{ [i, j]: 0<=i<n and {columns} }}", "{ [l]: 0<=l<k }"]
    return _Body(domains, f"out[i, j] = {value}")


def _herk(w: _Writer) -> _Body:
    """Compute a half of a Hermitian matrix, whose diagonal is real."""

    def updated(i: str, j: str, inner: str, *, real: bool) -> str:
        first, second = w.operand("a", i, inner), w.operand("a", j, inner)
        of_second = second[5:-1] if second.startswith("conj") else f"conj({second})"
        value, begin = f"sum({inner}, {first}*{of_second})", f"{w.form.begin('out')}[{i}, {j}]"
        if real:
            value, begin = f"real({value})", f"real({begin})"
        value = w.number("alpha", value)
        return f"{value} + beta*{begin}" if "beta" in w.form.numbers else value

    columns = "0<=j<i" if w.form.option("uplo") == "L" else "i<j<n"
    domains = [
        f"{{ [i, j]: 0<=i<n and {columns} }}",
        "{ [l]: 0<=l<k }",
        "{ [d]: 0<=d<n }",
        "{ [e]: 0<=e<k }",
    ]
    text = f"""
        out[i, j] = {updated("i", "j", "l", real=False)}
        out[d, d] = {updated("d", "d", "e", real=True)}
        """
    return _Body(domains, text)


def _trsm(w: _Writer) -> _Body:
    """Solve for one row, or column, after the other."""
    left = w.form.option("side") == "L"
    is_lower = (w.form.option("uplo") == "L") == (w.form.option("trans") == "N")
    size = "m" if left else "n"
    upward = is_lower == left
    here, before = ("i", "l") if upward else (f"{size}-1-i", f"{size}-1-l")

    def unknown(at: str) -> str:
        return f"[{at}, j]" if left else f"[j, {at}]"

    factor = w.operand("a", here, before) if left else w.operand("a", before, here)
    known = w.number("alpha", w.form.begin("out") + unknown(here))
    value = f"{known} - sum(l, {factor}*out{unknown(before)})"
    if w.form.option("diag") == "N":
        value = f"({value})/{w.operand('a', here, here)}"
    domains = [
        f"{{ [i]: 0<=i<{size} }}",
        f"{{ [j]: 0<=j<{'n' if left else 'm'} }}",
        "{ [l]: 0<=l<i }",
    ]
    return _Body(domains, f"out{unknown(here)} = {value}", ("i, j",))


def _potrf(w: _Writer) -> _Body:
    """Find one column of the factor, or row, after the other."""
    begin = w.form.begin("out")
    if w.form.option("uplo") == "L":
        text = f"""
            out[k, k] = sqrt({begin}[k, k] - sum(l, out[k, l]*conj(out[k, l])))  {{id=root}}
            out[i, k] = ({begin}[i, k] - sum(l, out[i, l]*conj(out[k, l])))/out[k, k]  {{dep=root}}
            """
    else:
        text = f"""
            out[k, k] = sqrt({begin}[k, k] - sum(l, conj(out[l, k])*out[l, k]))  {{id=root}}
            out[k, i] = ({begin}[k, i] - sum(l, conj(out[l, k])*out[l, i]))/out[k, k]  {{dep=root}}
            """
    return _Body(["{ [k]: 0<=k<n }", "{ [l]: 0<=l<k }", "{ [i]: k<i<n }"], text, ("k, i",))


_FACTORS = """
    for k
        <> big, p[k] = argmax(r, abs(real(out[k+r, k])) + abs(imag(out[k+r, k])), k+r)  {
            id=p, dep=*copied}
        <> t = out[k, c]                               {id=t, dep=p, inames=k:c:s}
        out[k, c] = if(s == p[k], out[s, c], t)        {id=up, dep=t:p}
        out[s, c] = if(s == p[k], t, out[s, c])        {id=down, dep=up:t:p}
        out[i, k] = out[i, k]/out[k, k]                {id=lower, dep=down}
        out[i, j] = out[i, j] - out[i, k]*out[k, j]    {id=rest, dep=lower}
    end
    """
_OF_FACTORS = [
    "{ [k]: 0<=k<n }",
    "{ [r]: 0<=r<n - k }",
    "{ [c, s]: 0<=c<n and k<=s<n }",
    "{ [i]: k<i<n }",
    "{ [j]: k<j<n }",
]


_NESTS = ("k, c, s", "k, i, j")


def _getrf(w: _Writer) -> _Body:
    """Exchange rows so that the largest element of a column is the pivot; eliminate below."""
    domains, text = list(_OF_FACTORS), _FACTORS
    if w.form.begin("out") == "a":
        domains.append("{ [c0, c1]: 0<=c0<n and 0<=c1<n }")
        text = "out[c0, c1] = a[c0, c1]  {id=copied}\n" + text
    else:
        text = text.replace(", dep=*copied", "")
    return _Body(domains, text, _NESTS)


def _gesv(w: _Writer) -> _Body:
    """Factor the matrix, then exchange rows of the right sides, and solve twice."""
    factored = _getrf(w)
    of_b = "" if "x" in w.form.vectors else ", q"
    domains = [
        *factored.domains,
        *([] if "x" in w.form.vectors else ["{ [q]: 0<=q<m }"]),
        "{ [e]: 0<=e<n }",
        "{ [f]: e<=f<n }",
        "{ [g]: 0<=g<n }",
        "{ [h]: 0<=h<g }",
        "{ [u]: 0<=u<n }",
        "{ [v]: 0<=v<u }",
        "{ [z]: 0<=z<n }",
    ]
    start = f"x[z{of_b}] = b[z{of_b}]  {{id=begun}}" if w.form.begin("x") == "b" else ""
    text = f"""
        {start}
        <> w = x[e{of_b}]  {{id=w, dep=rest:down:p{":begun" if start else ""},
            inames=e:f{of_b.replace(", ", ":")}}}
        x[e{of_b}] = if(f == p[e], x[f{of_b}], w)  {{id=w_up, dep=w}}
        x[f{of_b}] = if(f == p[e], w, x[f{of_b}])  {{id=w_down, dep=w_up:w}}
        x[g{of_b}] = x[g{of_b}] - sum(h, out[g, h]*x[h{of_b}])  {{id=first, dep=w_down:rest}}
        x[n-1-u{of_b}] = (x[n-1-u{of_b}] - sum(v, out[n-1-u, n-1-v]*x[n-1-v{of_b}]))/(
            out[n-1-u, n-1-u])  {{id=second, dep=first}}
        """
    if not start:
        domains.pop()
    return _Body(domains, factored.instructions + text, (*_NESTS, "e, f", "g, h", "u, v"))


def _fft(w: _Writer) -> _Body:
    is_inverse = w.form.option("direction") == "inverse"
    turn = f"{'' if is_inverse else '-'}{2 * math.pi!r}j"
    value = f"sum(l, x[l]*exp({turn}*((l*j) % n)/n))"
    domains = ["{ [j]: 0<=j<n }", "{ [l]: 0<=l<n }"]
    return _Body(domains, f"out[j] = {value}{'/n' if is_inverse else ''}")


_BODIES: Mapping[str, Callable[[_Writer], _Body]] = {
    "gemm": _gemm,
    "gemv": _gemv,
    "syrk": _syrk,
    "herk": _herk,
    "trsm": _trsm,
    "potrf": _potrf,
    "getrf": _getrf,
    "gesv": _gesv,
    "fft": _fft,
}
assert _BODIES.keys() == ROUTINES.keys()

__all__ = ["ROUTINES", "Form", "Routine", "routine_kernel"]
