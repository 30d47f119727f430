"""Programs that the catalogues of legal and illegal steps are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"
LOOPS = "{ [i,j]: 0<=i,j<n }"
FROM1 = "{ [i]: 1<=i<n }"
PLANE = "{ [i,j]: 0<=i<n and 0<=j<n }"
INSIDE = "{ [i,j]: 1<=i<n and 1<=j<n }"
TIME = "{ [t,i]: 0<=t<n and 1<=i<n }"
SPACES = {s.value: s for s in pg.AddressSpace}


def scalar(name: str, space: str = "private") -> pg.TemporaryVariable:
    """Return a temporary without subscripts."""
    return pg.TemporaryVariable(name, "float64", (), SPACES[space])


def array(name: str, *shape: str, **options: Any) -> pg.GlobalArg:
    """Return an array argument."""
    return pg.GlobalArg(name, options.pop("dtype", "float64"), ", ".join(shape), **options)


@dataclass(frozen=True)
class Pattern:
    """A program: domains, instructions, what is declared, and bounds of arrays of subscripts."""

    domains: str | list[str]
    text: str
    data: tuple[Any, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    priority: str = ""

    def kernel(self) -> Kernel:
        """Return the kernel."""
        lines = "\n".join(line.strip() for line in self.text.strip().splitlines())
        data = self.data or ("...",)
        return kernel(self.domains, lines, *data, loop_priority=self.priority or ())


# A step: the name of the transformation, and its arguments.
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def tag(**tags: str) -> Call:
    """Return a step that tags inames."""
    return "tag_inames", (tags,), {"force": True}


def prior(order: str) -> Call:
    """Return a step that gives loops a priority."""
    return "prioritize_loops", (order,), {}


def split(iname: str, length: int, outer: str | None = None, inner: str | None = None) -> Call:
    """Return a step that splits an iname."""
    return "split_iname", (iname, length), {"outer_tag": outer, "inner_tag": inner}


def rename(iname: str, name: str) -> Call:
    """Return a step that renames an iname."""
    return "rename_iname", (iname, name), {}


def move(text: str) -> Call:
    """Return a step that maps inames."""
    return "map_domain", (f"{{ {text} }}",), {}


def fuse(iname: str, other: str) -> Call:
    """Return a step that fuses a loop with another."""
    return "rename_iname", (iname, other), {"existing_ok": True}


def own(inames: str, within: str) -> Call:
    """Return a step that gives instructions loops of their own."""
    return "duplicate_inames", (inames, within), {}


def inward(inames: str) -> Call:
    """Return a step that splits reductions in two."""
    return "split_reduction_inward", (inames,), {}


def outward(inames: str) -> Call:
    """Return a step that splits reductions in two."""
    return "split_reduction_outward", (inames,), {}


def take(knl: Kernel, call: Call, **options: Any) -> Kernel:
    """Take a step."""
    name, args, kwargs = call
    function: Callable[..., Kernel] = getattr(pg, name)
    return function(knl, *args, **kwargs, **options)


def _two(first: str, second: str, inames: str = "i", other: str | None = None) -> str:
    other = inames if other is None else other
    return f"{first}  {{id=s, inames={inames}, dep=*}}\n{second}  {{id=u, inames={other}, dep=*s}}"


def _branches(other: str) -> str:
    """Return two updates under conditions."""
    return (
        "b[i] = b[i] + a[i,j] {id=s, dep=*, if=c[i] > 0}\n"
        f"b[i] = 2*b[i] + a[i,j] {{id=u, dep=*s, if={other}}}"
    )


PATTERNS: dict[str, Pattern] = {
    # recurrences
    "forward": Pattern(FROM1, "a[i] = a[i-1] + 1  {id=s}"),
    "backward": Pattern(LINE, "a[i] = a[i+1] + 1  {id=s}"),
    "distance 2": Pattern("{ [i]: 2<=i<n }", "a[i] = a[i-2] + 1  {id=s}"),
    "running sum": Pattern(LINE, "a[0] = a[0] + b[i]  {id=s}"),
    "row recurrence": Pattern(INSIDE, "a[i,j] = a[i,j-1] + 1  {id=s}"),
    "column recurrence": Pattern(INSIDE, "a[i,j] = a[i-1,j] + 1  {id=s}"),
    "diagonal": Pattern(INSIDE, "a[i,j] = a[i-1,j-1] + 1  {id=s}"),
    "antidiagonal": Pattern(
        "{ [i,j]: 1<=i<n and 0<=j<n-1 }", "a[i,j] = a[i-1,j+1] + 1  {id=s}", priority="i,j"
    ),
    "wavefront": Pattern(INSIDE, "a[i,j] = a[i-1,j] + a[i,j-1]  {id=s}"),
    # stencils, in place and not
    "jacobi": Pattern(
        "{ [i]: 1<=i<n-1 }", "b[i] = a[i-1] + a[i+1]  {id=s}"
    ),
    "in place": Pattern("{ [i]: 1<=i<n-1 }", "a[i] = a[i-1] + a[i+1]  {id=s}"),
    "gauss-seidel": Pattern(
        "{ [t,i]: 0<=t<n and 1<=i<n-1 }", "a[i] = a[i-1] + a[i+1]  {id=s, inames=t:i}",
        priority="t,i",
    ),
    "time": Pattern(TIME, "a[t+1,i] = a[t,i-1] + a[t,i+1]  {id=s}", priority="t,i"),
    "halo": Pattern(LINE, "b[i] = a[i] + a[i+1] + a[i+2]  {id=s}"),
    # triangles
    "triangle": Pattern("{ [i,j]: 0<=i<n and 0<=j<=i }", "a[i,j] = b[j]  {id=s}"),
    "solve": Pattern(
        "{ [i,j]: 0<=i<n and 0<=j<i }", "x[i] = x[i] - l[i,j]*x[j]  {id=s}"
    ),
    # subscripts
    "strided": Pattern(LINE, "a[2*i] = a[2*i+1] + 1  {id=s}"),
    "strided clash": Pattern(LINE, "a[2*i] = a[i] + 1  {id=s}"),
    "halves": Pattern(LINE, "a[i//2] = b[i]  {id=s}"),
    "modulo": Pattern(LINE, "a[i%4] = b[i]  {id=s}", (array("a", "4"), array("b", "n"), "...")),
    "reverse": Pattern(LINE, "a[n-1-i] = b[i]  {id=s}"),
    "reverse in place": Pattern(LINE, "a[n-1-i] = a[i] + 1  {id=s}", (array("a", "n"), "...")),
    "minimum": Pattern(LINE, "a[min(i,3)] = b[i]  {id=s}", (array("a", "4"), "...")),
    "maximum": Pattern(LINE, "a[i] = a[max(i-1,0)] + 1  {id=s}", (array("a", "n"), "...")),
    "transpose in place": Pattern(PLANE, "a[i,j] = a[j,i] + 1  {id=s}", priority="i,j"),
    "last write": Pattern(LINE, "a[0] = b[i]  {id=s}"),
    "last column": Pattern(PLANE, "a[i] = b[i,j]  {id=s}"),
    "scatter": Pattern(
        LINE, "a[idx[i]] = b[i]  {id=s}",
        (array("idx", "n", dtype="int32"), array("a", "4"), "..."), {"idx": 4},
    ),
    "gather": Pattern(
        LINE, "a[i] = b[idx[i]]  {id=s}",
        (array("idx", "n", dtype="int32"), array("b", "4"), "..."), {"idx": 4},
    ),
    "gather in place": Pattern(
        LINE, "a[i] = a[idx[i]] + 1  {id=s}",
        (array("idx", "n", dtype="int32"), array("a", "n+4"), "..."), {"idx": 4},
    ),
    "alias": Pattern(
        LINE, "a[i] = b[i]  {id=s}",
        (array("a", "n", may_alias=True), array("b", "n"), "..."),
    ),
    # predicates
    "predicate apart": Pattern(
        "{ [i]: 0<=i<10 }",
        "a[i] = b[i] {id=s, dep=*, if=i<5}\nc[i] = a[7] {id=u, inames=i, dep=*s}",
    ),
    "predicate clash": Pattern(
        "{ [i]: 0<=i<10 }", "a[i] = a[2] + 1  {id=s, if=i<5}",
    ),
    "predicate data": Pattern(FROM1, "a[i] = a[i-1] + 1  {id=s, if=c[i] > 0}"),
    "branches": Pattern(PLANE, _branches("not c[i] > 0"), priority="i, j"),
    "branches of other data": Pattern(PLANE, _branches("not d[i] > 0"), priority="i, j"),
    "branches of other places": Pattern(PLANE, _branches("not c[j] > 0"), priority="i, j"),
    # two statements
    "anti": Pattern(LINE, _two("b[i] = a[i+1]", "a[i] = c[i]")),
    "flow": Pattern(FROM1, _two("a[i] = c[i]", "b[i] = a[i-1]")),
    "pointwise": Pattern(LINE, _two("a[i] = c[i]", "b[i] = a[i]")),
    "overwrite": Pattern(LINE, _two("a[i] = b[i]", "a[i+1] = c[i]")),
    "plane then line": Pattern(PLANE, _two("a[i,j] = c[i,j]", "b[i] = a[i,0]", "i:j", "i")),
    "feedback": Pattern(FROM1, _two("b[i] = a[i-1]", "a[i] = b[i] + c[i]")),
    "ahead": Pattern(LINE, _two("a[i] = c[i]", "b[i] = a[i+1]")),
    # loops to fuse
    "loops": Pattern(LOOPS, _two("a[i] = c[i]", "b[j] = a[j]", other="j")),
    "loops apart": Pattern(LOOPS, _two("a[i] = c[i]", "b[j] = c[j]", other="j")),
    "loops ahead": Pattern(LOOPS, _two("a[i] = c[i]", "b[j] = a[j+1]", other="j")),
    "loops behind": Pattern(
        "{ [i,j]: 1<=i,j<n }", _two("a[i] = c[i]", "b[j] = a[j-1]", other="j")
    ),
    "loops mirrored": Pattern(LOOPS, _two("a[i] = c[i]", "b[j] = a[n-1-j]", other="j")),
    "loops overwrite ahead": Pattern(LOOPS, _two("b[i] = a[i]", "a[j+1] = c[j]", other="j")),
    "loops overwrite behind": Pattern(
        "{ [i,j]: 1<=i,j<n }", _two("b[i] = a[i]", "a[j-1] = c[j]", other="j")
    ),
    "loops twice": Pattern(LOOPS, _two("a[i] = b[i]", "a[j+1] = c[j]", other="j")),
    "loops one element": Pattern(
        LOOPS,
        "a[0] = c[i] {id=s, inames=i, dep=*, if=i == 2}\nb[j] = a[0] {id=u, inames=j, dep=*s}",
    ),
    "loops halves": Pattern(LOOPS, _two("a[i//2] = b[i]", "b[j] = a[j//2]", other="j")),
    "loops stencil": Pattern(
        "{ [i,j]: 1<=i,j<n-1 }",
        _two("a[i] = c[i-1] + c[i+1]", "b[j] = a[j-1] + a[j+1]", other="j"),
    ),
    "loops total": Pattern(
        LOOPS,
        "t = 0 {id=z, dep=*}\nt = t + a[i] {id=s, inames=i, dep=*z}\n"
        "b[j] = t {id=u, inames=j, dep=*s}",
        (scalar("t", "global"), "..."),
    ),
    "loops scatter": Pattern(
        LOOPS, _two("a[idx[i]] = c[i]", "b[j] = a[j]", other="j"),
        (array("idx", "n", dtype="int32"), array("a", "n+4"), "..."), {"idx": 4},
    ),
    "loops scratch": Pattern(
        LOOPS,
        "t = a[i] {id=s, inames=i, dep=*}\nb[i] = t {id=u, inames=i, dep=*s}\n"
        "v = a[j] {id=w, inames=j, dep=*u}\nc[j] = v {id=x, inames=j, dep=*w}",
        (scalar("t"), scalar("v"), "..."),
    ),
    "loops one scratch": Pattern(
        LOOPS,
        "t = a[i] {id=s, inames=i, dep=*}\nb[i] = t {id=u, inames=i, dep=*s}\n"
        "t = c[j] {id=w, inames=j, dep=*u}\nc[j] = t {id=x, inames=j, dep=*w}",
        (scalar("t"), "..."),
    ),
    "planes": Pattern(
        "{ [i,j,k,l]: 0<=i,j,k,l<n }",
        _two("a[i,k] = c[i,k]", "b[j,l] = a[j,l]", "i:k", "j:l"),
    ),
    "planes ahead": Pattern(
        "{ [i,j,k,l]: 0<=i,j,k,l<n }",
        _two("a[i,k] = c[i,k]", "b[j,l] = a[j,l+1]", "i:k", "j:l"),
    ),
    "planes down": Pattern(
        "{ [i,j,k,l]: 0<=i,j,k,l<n }",
        _two("a[i,k] = c[i,k]", "b[j,l] = a[j+1,l]", "i:k", "j:l"),
    ),
    "loop then sum": Pattern(
        LOOPS, _two("a[i] = c[i]", "b[0] = sum(j, a[j])", other="")
    ),
    # temporaries
    "private": Pattern(LINE, _two("t = a[i]", "b[i] = t"), (scalar("t"), "...")),
    "local scalar": Pattern(LINE, _two("t = a[i]", "b[i] = t"), (scalar("t", "local"), "...")),
    "global scalar": Pattern(LINE, _two("t = a[i]", "b[i] = t"), (scalar("t", "global"), "...")),
    "carried": Pattern(
        LINE,
        "t = 0 {id=z, dep=*}\nb[i] = t {id=s, inames=i, dep=*z}\nt = a[i] {id=u, dep=*s}",
        (scalar("t"), "..."),
    ),
    "accumulator": Pattern(
        ["{ [i]: 0<=i<n }"],
        "acc = 0 {id=z, dep=*}\nacc = acc + a[i] {id=s, inames=i, dep=*z}\n"
        "b[0] = acc {id=u, dep=*s}",
        (scalar("acc"), "..."),
    ),
    "row sums": Pattern(
        PLANE,
        "acc = 0 {id=z, inames=i, dep=*}\nacc = acc + a[i,j] {id=s, inames=i:j, dep=*z}\n"
        "b[i] = acc {id=u, inames=i, dep=*s}",
        (scalar("acc"), "..."),
    ),
    "tile": Pattern(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<4 }",
        "t[i] = a[g,i] {id=s, inames=g:i, dep=*}\nb[g,j] = t[3-j] {id=u, inames=g:j, dep=*s}",
        (pg.TemporaryVariable("t", "float64", (4,), SPACES["local"]), "..."),
    ),
    "private tile": Pattern(
        "{ [g,i,j]: 0<=g<n and 0<=i,j<4 }",
        "t[i] = a[g,i] {id=s, inames=g:i, dep=*}\nb[g,j] = t[3-j] {id=u, inames=g:j, dep=*s}",
        (pg.TemporaryVariable("t", "float64", (4,)), "..."),
    ),
    # reductions and others
    "reduction": Pattern(PLANE, "b[i] = sum(j, a[i,j])  {id=s}"),
    "double sum": Pattern(
        "{ [i,j,k]: 0<=i,j,k<n }", "b[i] = sum((j,k), a[j,k]*c[i,j])  {id=s}"
    ),
    "reduction of itself": Pattern(
        "{ [i,j]: 0<=i<n and 0<=j<i }", "x[i] = b[i] + sum(j, x[j])  {id=s}"
    ),
    "product": Pattern(
        "{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {id=s, inames=i:j:k}"
    ),
    "copy": Pattern(PLANE, "a[i,j] = b[j,i]  {id=s}"),
}  # fmt: skip
