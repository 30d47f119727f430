"""Programs, and others that compute the same by other instructions, or do not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.patterns import array

LOCAL = pg.AddressSpace.LOCAL


def temporary(name: str, shape: Any = (), space: Any = pg.AddressSpace.PRIVATE) -> Any:
    """Declare a temporary whose type is found."""
    return pg.TemporaryVariable(name, "float64", shape, space)


@dataclass(frozen=True)
class Text:
    """Domains, instructions, temporaries, and tags."""

    domains: tuple[str, ...]
    lines: str
    temporaries: tuple[Any, ...] = ()
    tags: dict[str, str] = field(default_factory=dict[str, str])

    def kernel(self, *arguments: Any) -> Kernel:
        """Return the kernel, as it is written."""
        lines = "\n".join(line.strip() for line in self.lines.strip().splitlines())
        with pg.without_proofs():
            made = kernel(self.domains, lines, *arguments, *self.temporaries)
            return pg.tag_inames(made, self.tags) if self.tags else made


@dataclass(frozen=True)
class Rewrite:
    """A program before and after.

    Attributes:
        error: the class of the error if it must be refused.
        says: what the error says.
    """

    name: str
    arguments: tuple[Any, ...]
    before: Text
    after: Text
    error: str = ""
    says: str = ""


ROW = ("{ [i]: 0<=i<n }",)
IJ = ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }")
A, B, C = array("a", "n+2"), array("b", "n"), array("c", "n")
WILD, X = array("wild", "n", dtype="int32"), array("x", "8")
INSIDE = "wild[i] >= 0 and wild[i] < 8"
ROWS = (array("a", "n", "m"), array("b", "n", "m"), array("s", "n"))

TILED = (
    "{ [i_outer,i_inner]: 0<=i_inner<4 and 0<=4*i_outer+i_inner<n }",
    "{ [f]: 0<=f<6 and 4*i_outer+f<n+2 and 0<=i_outer and 4*i_outer<n }",
)
TILE_TAGS = {"i_outer": "g.0", "i_inner": "l.0", "f": "l.0"}
STENCIL = Text(
    TILED[:1],
    "b[4*i_outer+i_inner] = a[4*i_outer+i_inner] + a[4*i_outer+i_inner+2] {id=b}",
    tags={"i_outer": "g.0", "i_inner": "l.0"},
)


def fetched(
    fetch: str = "4*i_outer+f",
    use: str = "t[i_inner] + t[i_inner+2]",
    extent: int = 6,
    dep: str = "dep=fetch",
) -> Text:
    """Return the stencil with a tile in local memory."""
    return Text(
        (TILED[0], TILED[1].replace("f<6", f"f<{extent}")),
        f"t[f] = a[{fetch}] {{id=fetch}}\nb[4*i_outer+i_inner] = {use} {{id=b, {dep}}}",
        (temporary("t", "8", LOCAL),),
        TILE_TAGS,
    )


TWICE = Text(ROW, "b[i] = 2*a[i] {id=b}\nc[i] = b[i] + 1 {id=c, dep=b}")
UPDATE = Text(IJ, "s[i] = s[i] + a[i,j] {id=u}")


def buffered(load: str = "s[i]", store: str = "t", inames: str = "i") -> Text:
    """Return the update with the sum in a temporary."""
    return Text(
        IJ,
        f"""t = {load}        {{id=load, inames={inames}, dep=*}}
        t = t + a[i,j]        {{id=u, inames=i:j, dep=*load}}
        s[i] = {store}        {{id=store, inames=i, dep=*u}}""",
        (temporary("t"),),
    )


SCRATCH = Text(("{ [i]: 0<=i<8 }",), "t = a[i] {id=t}\nb[i] = 2*t {id=b, dep=t}", (temporary("t"),))
CARRIED = Text(
    ("{ [i]: 1<=i<8 }",),
    "t = a[i] + t {id=t, dep=z}\nb[i] = 2*t {id=b, dep=t}\nt = a[0] {id=z, dep=*, inames=}",
    (temporary("t"),),
)
ROWS_OF_8 = (array("a", "n", "8"), array("b", "n", "8"), array("s", "n"))
SUMS_OF_8 = Text((IJ[0], "{ [j]: 0<=j<8 }"), "s[i] = sum(j, a[i,j]*b[i,j]) {id=s}")
SUMS = Text(IJ, "s[i] = sum(j, a[i,j]*b[i,j]) {id=s}")


REWRITES = [
    # --- a tile in local memory
    Rewrite("tile", (A, B), STENCIL, fetched()),
    Rewrite("tile, off by one", (A, B), STENCIL, fetched("4*i_outer+f+1"), "NotTheSame", "a"),
    Rewrite(
        "tile, other place",
        (A, B),
        STENCIL,
        fetched(use="t[i_inner] + t[i_inner+1]"),
        "NotTheSame",
        "a[4*i_outer + f] instead of a[4*i_outer + i_inner + 2]",
    ),
    Rewrite("tile, halo missing", (A, B), STENCIL, fetched(extent=5), "NotTheSame", "t[i_inner"),
    Rewrite("tile, halo larger", (A, B), STENCIL, fetched(extent=7)),
    # --- storing and computing anew
    Rewrite(
        "stored",
        (A, B, C),
        TWICE,
        Text(
            ROW,
            "b[i] = 2*a[i] {id=b}\nt = b[i] {id=t, dep=b}\nc[i] = t + 1 {id=c, dep=t}",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "computed anew",
        (A, B, C),
        TWICE,
        Text(
            ROW,
            "b[i] = 2*a[i] {id=b}\nt = 2*a[i] {id=t}\nc[i] = t + 1 {id=c, dep=t}",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "used directly",
        (A, B, C),
        TWICE,
        Text(ROW, "b[i] = 2*a[i] {id=b}\nc[i] = 2*a[i] + 1 {id=c}"),
    ),
    Rewrite(
        "used directly, another factor",
        (A, B, C),
        TWICE,
        Text(ROW, "b[i] = 2*a[i] {id=b}\nc[i] = 3*a[i] + 1 {id=c}"),
        "NotTheSame",
        "instruction 'c'",
    ),
    Rewrite(
        "an instruction less",
        (A, B, C),
        TWICE,
        Text(ROW, "c[i] = 2*a[i] + 1 {id=c}"),
        "NotTheSame",
        "'b' would not end with 2*a[i] any more",
    ),
    Rewrite(
        "read before it is written",
        (A, B, C),
        TWICE,
        Text(
            ROW,
            "t = b[i] {id=t, dep=*}\nb[i] = 2*a[i] {id=b, dep=t}\nc[i] = t + 1 {id=c, dep=*t}",
            (temporary("t"),),
        ),
        "IllegalStep",
        "t[i=0] reads from 'b' what b[i=0] wrote",
    ),
    # --- a sum in a temporary
    Rewrite("buffered", ROWS, UPDATE, buffered()),
    Rewrite(
        "buffered, from zero", ROWS, UPDATE, buffered(load="0.0*s[i]"), "NotTheSame", "instead of"
    ),
    Rewrite(
        "buffered, doubled", ROWS, UPDATE, buffered(store="2*t"), "NotTheSame", "'s' would end"
    ),
    # --- storage
    Rewrite(
        "an element each",
        (array("a", "8"), array("b", "8")),
        SCRATCH,
        Text(
            SCRATCH.domains,
            "t[i] = a[i] {id=t}\nb[i] = 2*t[i] {id=b, dep=t}",
            (temporary("t", "8"),),
        ),
    ),
    Rewrite(
        "an element each, another read",
        (array("a", "8"), array("b", "8")),
        SCRATCH,
        Text(
            SCRATCH.domains,
            "t[i] = a[i] {id=t}\nb[i] = 2*t[7-i] {id=b, dep=t}",
            (temporary("t", "8"),),
        ),
        "IllegalStep",
        "b[i=",
    ),
    Rewrite(
        "an element each, a value carried",
        (array("a", "8"), array("b", "8")),
        CARRIED,
        Text(
            CARRIED.domains,
            """t[i] = a[i] + t[i] {id=t, dep=z}
            b[i] = 2*t[i] {id=b, dep=t}
            t[1] = a[0] {id=z, dep=*, inames=}""",
            (temporary("t", "8"),),
        ),
        "IllegalStep",
        "t[i=2] reads from 't' what t[i=1] wrote; after the step, what nobody has written",
    ),
    Rewrite(
        "two elements in turn",
        (array("a", "8"), array("b", "8")),
        SCRATCH,
        Text(
            SCRATCH.domains,
            "t[i%2] = a[i] {id=t}\nb[i] = 2*t[i%2] {id=b, dep=t}",
            (temporary("t", "2"),),
        ),
    ),
    # --- reductions
    Rewrite(
        "a reduction of products that were stored",
        ROWS_OF_8,
        SUMS_OF_8,
        Text(
            ("{ [i]: 0<=i<n }", "{ [j]: 0<=j<8 }", "{ [k]: 0<=k<8 }"),
            "t[k] = a[i,k]*b[i,k] {id=t, inames=i:k}\ns[i] = sum(j, t[j]) {id=s, dep=t}",
            (temporary("t", "8"),),
        ),
    ),
    Rewrite(
        "a tile for each part of a reduction",
        ROWS,
        Text(
            ("{ [i]: 0<=i<n }", "{ [jo,ji]: 0<=ji<4 and 0<=4*jo+ji<m }"),
            "s[i] = sum((jo,ji), a[i,4*jo+ji]*b[i,4*jo+ji]) {id=s}",
        ),
        Text(
            (
                "{ [i]: 0<=i<n }",
                "{ [jo,ji]: 0<=ji<4 and 0<=4*jo+ji<m }",
                "{ [k]: 0<=k<4 and 4*jo+k<m and 0<=jo }",
            ),
            """t[k] = a[i,4*jo+k] {id=t, inames=i:jo:k}
            s[i] = sum((jo,ji), t[ji]*b[i,4*jo+ji]) {id=s, dep=*t, inames=i}""",
            (temporary("t", "4"),),
        ),
    ),
    Rewrite(
        "a tile before the reduction",
        ROWS,
        Text(
            ("{ [i]: 0<=i<n }", "{ [jo,ji]: 0<=ji<4 and 0<=4*jo+ji<m }"),
            "s[i] = sum((jo,ji), a[i,4*jo+ji]*b[i,4*jo+ji]) {id=s}",
        ),
        Text(
            (
                "{ [i]: 0<=i<n }",
                "{ [jo,ji]: 0<=ji<4 and 0<=4*jo+ji<m }",
                "{ [ko,k]: 0<=k<4 and 4*ko+k<m and 0<=ko }",
            ),
            """t[k] = a[i,4*ko+k] {id=t, inames=i:ko:k}
            s[i] = sum((jo,ji), t[ji]*b[i,4*jo+ji]) {id=s, dep=*t, inames=i}""",
            (temporary("t", "4"),),
        ),
        "NotTheSame",
        "instead of a[i, 4*jo + ji]",
    ),
    Rewrite(
        "another range",
        ROWS,
        SUMS,
        Text((IJ[0], "{ [j]: 0<=j<m-1 }"), "s[i] = sum(j, a[i,j]*b[i,j]) {id=s}"),
        "NotTheSame",
        "iterations",
    ),
    # --- conditions
    Rewrite(
        "a choice instead of a condition's value",
        (A, B, C),
        Text(ROW, "b[i] = if(i > 2, a[i], c[i]) {id=b}"),
        Text(
            ROW,
            "t = a[i] {id=t, if=i > 2}\nb[i] = if(i > 2, t, c[i]) {id=b, dep=t}",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "a value that is not there",
        (A, B, C),
        Text(ROW, "b[i] = if(i > 2, a[i], c[i]) {id=b}"),
        Text(
            ROW,
            "t = a[i] {id=t, if=i > 3}\nb[i] = if(i > 2, t, c[i]) {id=b, dep=t}",
            (temporary("t"),),
        ),
        "NotTheSame",
        "instruction 'b'",
    ),
    Rewrite(
        "a condition that is written otherwise",
        (A, B),
        Text(ROW, "b[i] = a[i] {id=b, if=i > 1 and i < n-1}"),
        Text(ROW, "b[i] = a[i] {id=b, if=i <= n-2, if=2 <= i}"),
    ),
    Rewrite(
        "another condition",
        (A, B),
        Text(ROW, "b[i] = a[i] {id=b, if=i > 1 and i < n-1}"),
        Text(ROW, "b[i] = a[i] {id=b, if=i <= n-2, if=3 <= i}"),
        "NotTheSame",
        "other predicates",
    ),
    # --- conditions that are data
    Rewrite(
        "a temporary that is read under a condition",
        (A, B, C),
        Text(ROW, "b[i] = if(c[i] > 0, a[i], 1) {id=b}"),
        Text(ROW, "t = a[i] {id=t}\nb[i] = if(c[i] > 0, t, 1) {id=b, dep=t}", (temporary("t"),)),
    ),
    Rewrite(
        "a temporary that an instruction under a condition reads",
        (A, B, C),
        Text(ROW, "b[i] = a[i] {id=b, if=c[i] > 0}"),
        Text(ROW, "t = a[i] {id=t}\nb[i] = t {id=b, dep=t, if=c[i] > 0}", (temporary("t"),)),
    ),
    Rewrite(
        "a copy of what was written, read under a condition",
        (A, B, C),
        Text(ROW, "a[i] = 2*a[i] {id=a}\nb[i] = if(c[i] > 0, a[i], 1) {id=b, dep=a}"),
        Text(
            ROW,
            """a[i] = 2*a[i] {id=a}
            t = a[i] {id=t, dep=a}
            b[i] = if(c[i] > 0, t, 1) {id=b, dep=t:a}""",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "a copy of what will be written, read under a condition",
        (A, B, C),
        Text(ROW, "a[i] = 2*a[i] {id=a}\nb[i] = if(c[i] > 0, a[i], 1) {id=b, dep=a}"),
        Text(
            ROW,
            """t = a[i] {id=t, dep=*}
            a[i] = 2*a[i] {id=a, dep=t}
            b[i] = if(c[i] > 0, t, 1) {id=b, dep=*t:a}""",
            (temporary("t"),),
        ),
        "CannotProve",
        "it may be read after another write",
    ),
    Rewrite(
        "another write, read under a condition",
        (A, B, C),
        Text(
            ROW,
            """a[i] = 2*a[i] {id=a}
            b[i] = if(c[i] > 0, a[i], 1) {id=b, dep=a}
            a[i] = 3*a[i] {id=z, dep=b:a}""",
        ),
        Text(
            ROW,
            """a[i] = 2*a[i] {id=a}
            a[i] = 3*a[i] {id=z, dep=a}
            b[i] = if(c[i] > 0, a[i], 1) {id=b, dep=z:a}
            t = 1.0 {id=t}""",
            (temporary("t"),),
        ),
        "CannotProve",
        "it may be read after another write",
    ),
    # --- data
    Rewrite(
        "a gather through a temporary",
        (array("idx", "n", dtype="int32"), array("x", "8"), B),
        Text(ROW, "b[i] = x[idx[i]] {id=b}"),
        Text(ROW, "t = x[idx[i]] {id=t}\nb[i] = t {id=b, dep=t}", (temporary("t"),)),
    ),
    Rewrite(
        "a gather of something else",
        (array("idx", "n+1", dtype="int32"), array("x", "8"), B),
        Text(ROW, "b[i] = x[idx[i]] {id=b}"),
        Text(ROW, "t = x[idx[i+1]] {id=t}\nb[i] = t {id=b, dep=t}", (temporary("t"),)),
        "NotTheSame",
        "x[idx[i + 1]] instead of x[idx[i]]",
    ),
    Rewrite(
        "a gather hoisted above a write",
        (array("idx", "n", dtype="int32"), array("x", "8"), B),
        Text(ROW, "x[i % 8] = 2*x[i % 8] {id=x}\nb[i] = x[idx[i]] {id=b, dep=x}"),
        Text(
            ROW,
            """t = x[idx[i]] {id=t, dep=*}
            x[i % 8] = 2*x[i % 8] {id=x, dep=t}
            b[i] = t {id=b, dep=*t:x}""",
            (temporary("t"),),
        ),
        "CannotProve",
        "depends on data",
    ),
    # --- what has to hold of the data
    Rewrite(
        "a gather hoisted above its condition",
        (WILD, X, B),
        Text(ROW, f"b[i] = if({INSIDE}, x[wild[i]], 0) {{id=b}}"),
        Text(
            ROW,
            f"t = x[wild[i]] {{id=t}}\nb[i] = if({INSIDE}, t, 0) {{id=b, dep=t}}",
            (temporary("t"),),
        ),
        "NewObligation",
        "that is touched only where wild[i] >= 0 and wild[i] < 8",
    ),
    Rewrite(
        "a scatter that nobody reads",
        (WILD, A, B),
        Text(ROW, "b[i] = a[i] {id=b}"),
        Text(ROW, "b[i] = a[i] {id=b}\nt[wild[i]] = 1 {id=t}", (temporary("t", (8,)),)),
        "NewObligation",
        "it does not have to be so",
    ),
    Rewrite(
        "a gather under the condition of another iteration",
        (WILD, X, B),
        Text(ROW, f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}"),
        Text(
            ROW,
            f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}\nt = x[wild[n-1-i]] {{id=t, if={INSIDE}}}",
            (temporary("t"),),
        ),
        "NewObligation",
        "x[wild[n - 1 - i]] is inside of 'x'",
    ),
    Rewrite(
        "a gather under a part of its condition",
        (WILD, X, B),
        Text(ROW, f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}"),
        Text(
            ROW,
            f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}\nt = x[wild[i]] {{id=t, if=wild[i] >= 0}}",
            (temporary("t"),),
        ),
        "NewObligation",
        "touched only where wild[i] < 8",
    ),
    Rewrite(
        "a gather in an instruction that nobody needs, in more iterations",
        (WILD, X, B, C),
        Text(
            (*ROW, "{ [k]: 0<=k<n and k<0 }"),
            "b[i] = c[i] {id=b}\nt = x[wild[k]] {id=t}",
            (temporary("t"),),
        ),
        Text(
            (*ROW, "{ [k]: 0<=k<n }"),
            "b[i] = c[i] {id=b}\nt = x[wild[k]] {id=t}",
            (temporary("t"),),
        ),
        "NewObligation",
        "x[wild[k]] is inside of 'x'",
    ),
    Rewrite(
        "a gather under its condition",
        (WILD, X, B),
        Text(ROW, f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}"),
        Text(
            ROW,
            f"b[i] = x[wild[i]] {{id=b, if={INSIDE}}}\n"
            "t = x[wild[i]] {id=t, if=wild[i] < 8 and i > 1 and wild[i] >= 0}",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "a tile of a gather",
        (array("idx", "8", dtype="int32"), X, array("c", "8")),
        Text(("{ [o,k]: 0<=o<2 and 0<=k<4 }",), "c[4*o+k] = 2*x[idx[4*o+k]] {id=c}"),
        Text(
            ("{ [o]: 0<=o<2 }", "{ [k]: 0<=k<4 }", "{ [l]: 0<=l<4 }"),
            "t[l] = x[idx[4*o+l]] {id=t}\nc[4*o+k] = 2*t[k] {id=c, dep=t}",
            (temporary("t", (4,)),),
        ),
    ),
    Rewrite(
        "a subscript through a temporary",
        (array("idx", "n", dtype="int32"), X, B),
        Text(
            ROW,
            "s = idx[i] {id=s}\nb[i] = x[s] {id=b, dep=s}",
            (pg.TemporaryVariable("s", "int32"),),
        ),
        Text(ROW, "t = x[idx[i]] {id=t}\nb[i] = t {id=b, dep=t}", (temporary("t"),)),
    ),
    Rewrite(
        "a gather through a subscript that both compute",
        (array("idx", "n", dtype="int32"), X, B),
        Text(
            ROW,
            "s = idx[i] {id=s}\nb[i] = x[s] + s {id=b, dep=s}",
            (pg.TemporaryVariable("s", "int32"),),
        ),
        Text(
            ROW,
            "s = idx[i] {id=s}\nt = x[s] {id=t, dep=s}\nb[i] = t + s {id=b, dep=t:s}",
            (pg.TemporaryVariable("s", "int32"), temporary("t")),
        ),
    ),
]
