"""Kernels that must be refused when they are made: what each is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polygen as pg
from polygen.errors import (
    IllFormedKernel,
    NestingDecides,
    OutOfBounds,
    UninitializedRead,
    UnorderedAccess,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.patterns import FROM1, INSIDE, LINE, PLANE, TIME, array, scalar

CUBE = "{ [i,j,k]: 0<=i,j,k<n }"
TWO = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
TILE = "{ [g,i,j]: 0<=g<n and 0<=i,j<4 }"
ROWS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<count }"]
G, L = "g.0", "l.0"


@dataclass(frozen=True)
class IllFormed:
    """A kernel that must be refused.

    Attributes:
        pattern: what kind of mistake it is.
        kind: the error.
        domains: loop domains.
        text: instructions.
        data: what is declared.
        about: part of the message, beside the class: the variable, or the loops.
        tags: inames on axes, as steps without proof may leave them.
        options: of `make_kernel`.
    """

    pattern: str
    kind: type[IllFormedKernel]
    domains: str | list[str]
    text: str
    about: str
    data: tuple[Any, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def kernel(self) -> Kernel:
        """Return the kernel, unproved."""
        lines = "\n".join(line.strip() for line in self.text.strip().splitlines())
        with pg.without_proofs():
            knl = kernel(self.domains, lines, *self.data, "...", **self.options)
            return pg.tag_inames(knl, self.tags) if self.tags else knl


def unordered(
    pattern: str, domains: Any, text: str, about: str, *data: Any, **more: Any
) -> IllFormed:
    """Return a kernel with two instances in no order."""
    return IllFormed(pattern, UnorderedAccess, domains, text, about, data, **more)


def nested(pattern: str, domains: Any, text: str, about: str, *data: Any, **more: Any) -> IllFormed:
    """Return a kernel whose result depends on which loop is outside."""
    return IllFormed(pattern, NestingDecides, domains, text, about, data, **more)


def unwritten(
    pattern: str, domains: Any, text: str, about: str, *data: Any, **more: Any
) -> IllFormed:
    """Return a kernel that reads what was not written."""
    return IllFormed(pattern, UninitializedRead, domains, text, about, data, **more)


def outside(
    pattern: str, domains: Any, text: str, about: str, *data: Any, **more: Any
) -> IllFormed:
    """Return a kernel that touches what is not there."""
    return IllFormed(pattern, OutOfBounds, domains, text, about, data, **more)


def local(name: str, *shape: int) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, "float64", shape, pg.AddressSpace.LOCAL)


def private(name: str, *shape: int) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, "float64", shape)


INT = pg.TemporaryVariable("count", "int32")
DATA = array("counts", "n", dtype="int32")

CATALOGUE: list[IllFormed] = [
    # two writers of one element, and nothing between them
    unordered("two writers", LINE, "a[i] = b[i] {id=s}\na[i] = c[i] {id=u}", "'a'"),
    unordered("two writers", LINE, "a[i] = b[i] {id=s}\na[n-1-i] = c[i] {id=u}", "'a'"),
    unordered("two writers", TWO, "a[i] = b[i] {id=s}\na[j] = c[j] {id=u}", "'a'"),
    unordered("two writers", PLANE, "a[i,j] = b[i] {id=s}\na[j,i] = c[i] {id=u}", "'a'",
              options={"loop_priority": "i, j"}),
    unordered("two writers", LINE, "a[i] = b[i] {id=s, if=i<4}\na[i] = c[i] {id=u, if=i>2}", "'a'"),
    unordered("two writers", LINE, "a[2*i] = b[i] {id=s}\na[3*i] = c[i] {id=u}", "'a'"),
    unordered("two writers", LINE, "a[i//2] = b[i] {id=s}\na[i] = c[i] {id=u}", "'a'"),
    unordered("two writers", LINE,
              "a[i] = b[i] {id=s}\na[i] = c[i] {id=u, dep=s}\na[i] = d[i] {id=v, dep=s}", "'a'"),
    # a reader that depends on nothing: two instructions write what it reads, or it says so
    unordered("reader", LINE, "t = b[i] {id=s, dep=*}\na[i] = t {id=u, inames=i, dep=*}", "'t'",
              scalar("t")),
    unordered("reader", LINE, "a[i] = b[i] {id=s}\nc[i] = a[i] {id=u, dep=*}", "'a'"),
    unordered("reader", TWO, "a[i] = b[i] {id=s}\nc[j] = a[n-1-j] {id=u, dep=*}", "'a'"),
    unordered("reader", LINE, "t = 0 {id=z}\nt = t + b[i] {id=s, dep=z}\na[0] = t {id=u, dep=z}",
              "'t'", scalar("t")),
    unordered("reader", LINE, "t = b[i] {id=s}\nt = c[i] {id=u, dep=s}\na[i] = t {id=v}", "'t'",
              scalar("t")),
    unordered("reader", TWO, "a[i] = b[i] {id=s}\nc[0] = sum(j, a[j]) {id=u, dep=*}", "'a'"),
    unordered("reader", LINE, "a[i] = 2 {id=s}\nc[i] = 1 {id=u, dep=*, if=a[i] > 1}", "'a'"),
    # an accumulator whose beginning or end is in no order
    unordered("accumulator", LINE, "t = 0 {id=z}\nt = t + b[i] {id=s}\na[0] = t {id=u, dep=s}",
              "'t'", scalar("t")),
    unordered("accumulator", PLANE,
              "t = 0 {id=z, inames=i}\nt = t + b[i,j] {id=s}\na[i] = t {id=u, dep=s}", "'t'",
              scalar("t")),
    unordered("accumulator", LINE, "a[0] = 0 {id=z}\na[0] = a[0] + b[i] {id=s}", "'a'"),
    unordered("accumulator", PLANE, "a[i] = 0 {id=z}\na[i] = a[i] + b[i,j] {id=s}", "'a'"),
    unordered("bounds", ROWS, "count = counts[i] {id=s}\na[i,j] = 1 {id=u, dep=*}", "'count'",
              INT, DATA, array("a", "n", "9")),
    # one instruction in parallel with itself
    unordered("parallel", FROM1, "a[i] = a[i-1] + 1 {id=s}", "'a'", tags={"i": G}),
    unordered("parallel", LINE, "a[0] = b[i] {id=s}", "'a'", tags={"i": L},
              options={"assumptions": "n <= 8"}),
    unordered("parallel", LINE, "a[i//2] = b[i] {id=s}", "'a'", tags={"i": G}),
    unordered("parallel", PLANE, "a[i] = b[i,j] {id=s}", "'a'", tags={"j": G}),
    unordered("parallel", LINE, "t = b[i] {id=s}\na[i] = t {id=u}", "'t'",
              scalar("t", "global"), tags={"i": G}),
    unordered("parallel", INSIDE, "a[i,j] = a[i-1,j] + 1 {id=s}", "'a'", tags={"i": G}),
    unordered("parallel", LINE, "a[n-1-i] = a[i] + 1 {id=s}", "'a'", array("a", "n"),
              tags={"i": G}),
    unordered("local tile", TILE, "t[i] = a[g,i] {id=s, inames=g:i}\nb[g,j] = t[3-j] {id=u, dep=*}",
              "'t'", local("t", 4), tags={"g": G, "i": L, "j": L}),
    unordered("local tile", TILE,
              "t[i] = a[g,i] {id=s}\nt[j] = b[g,j] {id=u}\nc[g,j] = t[j] {dep=s:u}", "'t'",
              local("t", 4), tags={"g": G, "i": L, "j": L}),
    # which loop is outside
    nested("stencil in place", "{ [t,i]: 0<=t<n and 1<=i<n-1 }",
           "a[i] = a[i-1] + a[i+1] {id=s, inames=t:i}", "'i' or that over 't'"),
    nested("stencil in place", "{ [t,i,j]: 0<=t<n and 1<=i,j<n-1 }",
           "a[i,j] = a[i-1,j] + a[i,j+1] {id=s, inames=t:i:j}", "'t'"),
    nested("time steps", TIME, "a[t+1,i] = a[t,i-1] + a[t,i+1] {id=s}", "'i' or that over 't'"),
    nested("time steps", "{ [t,i]: 0<=t<n and 0<=i<n }",
           "b[i] = a[n-1-i] {id=s, inames=t:i, dep=*}\na[i] = 2*b[i] {id=u, inames=t:i}", "'a'"),
    nested("shear", "{ [i,j]: 1<=i<n and 0<=j<n-1 }", "a[i,j] = a[i-1,j+1] + 1 {id=s}", "'j'"),
    nested("shear", "{ [i,j]: 1<=i<n and 0<=j<n-2 }", "a[i,j] = a[i-1,j+2] + 1 {id=s}", "'j'"),
    nested("shear", PLANE, "a[i,j] = b[i,j] {id=s}\n"
           "c[i,j] = a[i-1,j+1] {id=u, dep=s, if=i>=1 and j<n-1}", "'j'"),
    nested("shear", CUBE, "a[i,j,k] = a[i+1,j,n-1-k] + 1 {id=s}", "'i' or that over 'k'"),
    nested("transposition", PLANE, "a[i,j] = a[j,i] + 1 {id=s}", "'j'"),
    nested("transposition", PLANE, "a[i,j] = b[i,j] {id=s}\nc[i,j] = a[j,i] {id=u}", "'j'"),
    nested("last write", "{ [i,j]: 0<=i<n and 0<=j<n-i }", "a[0] = b[i,j] {id=s}", "'j'"),
    nested("last write", PLANE, "a[i+j] = b[i,j] {id=s}", "'j'"),
    nested("last write", PLANE,
           "a[i+j] = b[i,j] {id=s}\nc[i,j] = a[idx[i] % 3] {id=u, dep=s}", "'j'",
           array("a", "2*n+3"), array("idx", "n", dtype="int32")),
    nested("last write", "{ [i,j,k,l,m]: 0<=i,j,k,l,m<2 }", "a[i+j+k+l+m] = b[i,j,k,l,m] {id=s}",
           "'i' or that over 'j'"),
    nested("last write", PLANE, "t = b[i,j] {id=s, if=i+j<3}\na[0] = t {id=u, inames=}", "'t'",
           scalar("t"), options={"assumptions": "n >= 4"}),
    nested("sum over two loops", PLANE, "a[0] = a[0]/2 + b[i,j] {id=s}", "'j'"),
    nested("sum over two loops", CUBE, "a[i] = a[i]/2 + b[i,j,k] {id=s}", "'j' or that over 'k'"),
    # a temporary that nothing has written, or not all of it
    unwritten("scalar", LINE, "a[i] = t {id=s}", "'t'", scalar("t")),
    unwritten("scalar", LINE, "t = t + b[i] {id=s}\na[0] = t {id=u, inames=}", "'t'", scalar("t")),
    unwritten("scalar", LINE, "t = b[i] {id=s}\na[0] = t {id=u, inames=}", "'t'", scalar("t")),
    unwritten("predicate", LINE, "t = b[i] {id=s, if=i > 0}\na[i] = t {id=u}", "'t'", scalar("t")),
    unwritten("predicate", LINE, "t = b[i] {id=s, if=i > 2}\na[i] = t {id=u, if=i > 1}", "'t'",
              scalar("t")),
    unwritten("part of an array", "{ [i]: 0<=i<8 }", "t[i] = b[i] {id=s}\na[i] = t[7-i] {id=u}",
              "t[", private("t", 8)),
    unwritten("part of an array", "{ [i]: 0<=i<8 }", "t[i] = b[i] {id=s}\na[i] = t[i+1] {id=u}",
              "t[1]", private("t", 9)),
    unwritten("part of an array", ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<10 }"],
              "t[i] = b[i] {id=s}\na[j] = t[j] {id=u}", "t[8]", private("t", 10)),
    unwritten("part of an array", ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<16 }"],
              "t[2*i] = b[i] {id=s}\na[j] = t[j] {id=u}", "t[1]", private("t", 16)),
    unwritten("carried", "{ [i]: 0<=i<n }", "a[i] = t {id=s, dep=*}\nt = b[i] {id=u, dep=s}", "'t'",
              scalar("t")),
    unwritten("carried", "{ [i]: 1<=i<8 }", "t[i] = t[i-1] + b[i] {id=s}\na[i] = t[i] {id=u}",
              "t[0]", private("t", 8)),
    unwritten("reduction", ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<8 }"],
              "t[i] = b[i] {id=s}\na[0] = sum(j, t[j]) {id=u, inames=}", "t[", private("t", 8),
              options={"assumptions": "n <= 7"}),
    unwritten("reduction in a loop", "{ [i,j]: 0<=i<n and 0<=j<8 }",
              "t[j] = b[i,j] {id=s, inames=i:j}\na[i] = sum(j, t[7-j]) {id=u}", "t[",
              private("t", 8)),
    unwritten("bounds", ROWS, "a[i,j] = 1 {id=s, inames=i:j}", "'count'", INT,
              array("a", "n", "9")),
    unwritten("copies", ["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
              "t = b[i] {id=s}\na[j] = t {id=u, inames=j}", "'t'", scalar("t"),
              tags={"i": L, "j": G}),
    # outside of an array
    outside("halo", LINE, "b[i] = a[i-1] {id=s}", "a[-1]"),
    outside("halo", LINE, "b[i] = a[i-1] + a[i+1] {id=s}", "'a'", array("a", "n")),
    outside("halo", LINE, "b[i] = a[i+1] {id=s}", "'a'", array("a", "n")),
    outside("halo", PLANE, "b[i,j] = a[i,j-1] {id=s}", "'a'"),
    outside("halo", PLANE, "b[i,j] = a[i+1,j] {id=s}", "'a'", array("a", "n", "n+1")),
    outside("reversed", LINE, "b[i] = a[n-i] {id=s}", "'a'", array("a", "n")),
    outside("reversed", LINE, "b[n-2-i] = a[i] {id=s}", "b[-1]"),
    outside("strided", LINE, "b[i] = a[2*i+1] {id=s}", "'a'", array("a", "2*n-1")),
    outside("strided", LINE, "a[2*i] = b[i] {id=s}", "'a'", array("a", "n")),
    outside("constant", LINE, "b[i] = a[3] {id=s}", "a[3]", array("a", "n")),
    outside("constant", LINE, "a[0] = b[i] {id=s}", "a[0]", array("a", "m")),
    outside("transposed", "{ [i,j]: 0<=i<n and 0<=j<m }", "b[j,i] = a[i,j] {id=s}", "'b'",
            array("b", "n", "m")),
    outside("predicate", LINE, "b[i] = a[i-1] {id=s, if=i >= 0}", "a[-1]"),
    outside("predicate", LINE, "b[i] = if(i < n - 1, a[i+1], a[i]) {id=s}", "'a'",
            array("a", "n-1")),
    outside("reduction", PLANE, "b[i] = sum(j, a[i+j]) {id=s}", "'a'", array("a", "2*n-2")),
    outside("temporary", LINE, "t[i] = a[i] {id=s}\nb[i] = t[i] {id=u}", "'t'", private("t", 8)),
    outside("temporary", "{ [i]: 0<=i<8 }", "t[i%4] = a[i] {id=s}\nb[i] = t[i//3] {id=u}", "t[2]",
            private("t", 2)),
    outside("minimum", LINE, "b[i] = a[max(i-1, 0)] + a[min(i, 4)] {id=s}", "'a'", array("a", "4")),
    outside("negative", LINE, "b[i] = a[i+off] {id=s}", "a[-1]"),
]  # fmt: skip
