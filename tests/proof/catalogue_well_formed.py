"""Kernels that must be accepted when they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.proof.catalogue_ill_formed import CUBE, INT, ROWS, TILE, TWO, G, L, local, private
from tests.proof.patterns import FROM1, INSIDE, LINE, PLANE, TIME, array, scalar

EIGHT = "{ [i]: 0<=i<8 }"


@dataclass(frozen=True)
class WellFormed:
    """A kernel that must be accepted.

    Attributes:
        pattern: what kind of kernel it is.
        domains: loop domains.
        text: instructions.
        data: what is declared.
        tags: inames on axes, by steps that are proved.
        options: of `make_kernel`.
        limits: arrays of subscripts, and what these are less than.
        obligations: how many there are.
    """

    pattern: str
    domains: str | list[str]
    text: str
    data: tuple[Any, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    obligations: int = 0

    def kernel(self) -> Kernel:
        """Return the kernel, with proofs."""
        lines = "\n".join(line.strip() for line in self.text.strip().splitlines())
        knl = kernel(self.domains, lines, *self.data, "...", **self.options)
        return pg.tag_inames(knl, self.tags) if self.tags else knl


def well(pattern: str, domains: Any, text: str, *data: Any, **more: Any) -> WellFormed:
    """Return a kernel that must be accepted."""
    return WellFormed(pattern, domains, text, data, **more)


def prior(order: str, **more: Any) -> dict[str, Any]:
    return {"loop_priority": order, **more}


IDX = array("idx", "n", dtype="int32")
AT_LEAST_1 = {"assumptions": "n >= 1"}

CATALOGUE: list[WellFormed] = [
    # in place
    well("in place", LINE, "a[i] = 2*a[i] {id=s}"),
    well("in place", LINE, "a[n-1-i] = a[i] + 1 {id=s}", array("a", "n")),
    well("in place", FROM1, "a[i] = a[i-1] + a[i] {id=s}"),
    well("in place", LINE, "a[i] = a[i+1] {id=s}"),
    well("in place", LINE, "a[i] = 2*a[i] {id=s}\na[i] = a[i] + 1 {id=u, dep=s}"),
    well("in place", PLANE, "a[i,j] = a[j,i] + 1 {id=s}", options=prior("j, i")),
    well("in place", TWO, "a[i] = b[i] {id=s}\na[j] = a[j]/2 + a[n-1-j] {id=u, dep=s}"),
    # scans and recurrences
    well("scan", FROM1, "a[i] = a[i-1] + b[i] {id=s}"),
    well("scan", FROM1, "a[0] = b[0] {id=z}\na[i] = a[i-1] + b[i] {id=s, dep=z}",
         options=AT_LEAST_1),
    well("scan", LINE, "t = 0 {id=z, dep=*}\nt = t + b[i] {id=s, dep=z}\na[i] = t {id=u, dep=s}",
         scalar("t")),
    well("scan", "{ [i]: 2<=i<n }", "a[i] = a[i-1] + a[i-2] {id=s}"),
    well("scan", INSIDE, "a[i,j] = a[i,j-1] + b[i,j] {id=s}"),
    well("scan", INSIDE, "a[i,j] = a[i-1,j] + b[i,j] {id=s}"),
    well("scan", INSIDE, "a[i,j] = a[i-1,j-1] + b[i,j] {id=s}"),
    # wavefronts and sweeps
    well("wavefront", INSIDE, "a[i,j] = a[i-1,j] + a[i,j-1] {id=s}"),
    well("wavefront", INSIDE, "a[i,j] = a[i-1,j] + a[i,j-1] + a[i-1,j-1] {id=s}"),
    well("wavefront", "{ [p,i]: 0<=i<n and i<=p<i+n }",
         "a[p-i+1,i+1] = a[p-i,i+1] + a[p-i+1,i] {id=s}", options=prior("p, i")),
    well("sweep", "{ [t,i]: 0<=t<n and 1<=i<n-1 }", "a[i] = a[i-1] + a[i+1] {id=s, inames=t:i}",
         options=prior("t, i")),
    well("sweep", TIME, "a[t+1,i] = a[t,i-1] + a[t,i+1] {id=s}", options=prior("t, i")),
    well("sweep", ["{ [t]: 0<=t<n }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
         "b[i] = a[n-1-i] {id=s, inames=t:i, dep=*}\na[j] = 2*b[j] {id=u, inames=t:j, dep=s}",
         array("a", "n"), array("b", "n")),
    well("sweep", ["{ [t]: 0<=t<n }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
         "b[i] = a[n-1-i] {id=s, inames=t:i, dep=*}\na[j] = 2*b[j] {id=u, inames=t:j, dep=s}",
         array("a", "n"), array("b", "n"), tags={"i": G, "j": G}),
    # stencils, and what stays inside
    well("stencil", "{ [i]: 1<=i<n-1 }", "b[i] = a[i-1] + a[i] + a[i+1] {id=s}"),
    well("stencil", LINE, "b[i] = a[i] + a[i+1] + a[i+2] {id=s}"),
    well("stencil", LINE, "b[i] = a[max(i-1, 0)] + a[min(i+1, n-1)] {id=s}", array("a", "n")),
    well("stencil", LINE, "b[i] = a[(i+n-1) % 8] {id=s}", array("a", "8")),
    well("stencil", LINE, "b[i] = a[i] + if(i > 0, a[i-1], 0) {id=s}"),
    well("stencil", LINE, "b[i] = a[i-1] {id=s, if=i > 0}\nb[0] = a[0] {id=u, inames=}",
         options=AT_LEAST_1),
    well("stencil", LINE, "b[i] = a[i] {id=s, if=i < n//2}\nb[i] = c[i] {id=u, if=i >= n//2}"),
    # triangles, strides, other domains
    well("triangle", "{ [i,j]: 0<=i<n and 0<=j<=i }", "a[i,j] = b[j] + b[i-j] {id=s}"),
    well("triangle", "{ [i,j]: 0<=j<i<n }", "x[i] = x[i] - l[i,j]*x[j] {id=s}"),
    well("triangle", [LINE, "{ [j]: 0<=j<i }"], "x[i] = b[i] - sum(j, l[i,j]*x[j]) {id=s}"),
    well("triangle", CUBE.replace("n }", "n and k<=i and k<=j }"),
         "c[i,j] = c[i,j] + a[i,k]*a[j,k] {id=s, inames=i:j:k}"),
    well("strided", "{ [i]: 0<=i<n and i mod 3 = 1 }", "a[i] = a[i-1] + a[i+1] {id=s}"),
    well("strided", "{ [i,k]: 0<=i<n and i = 2*k }", "a[k] = b[i] {id=s}"),
    well("strided", LINE, "a[2*i] = b[i] {id=s}\na[2*i+1] = c[i] {id=u}"),
    well("strided", LINE, "a[3*i] = a[3*i+1] {id=s}\na[3*i+2] = a[3*i+1] {id=u}"),
    well("strided", "{ [i,j]: 0<=4*i+j<n and 0<=j<4 }", "a[4*i+j] = b[4*i+j] {id=s}"),
    well("antidiagonal", "{ [i,j]: 0<=i,j<n and i+j=n-1 }", "a[i,j] = b[i] {id=s}"),
    # writes of which the last one counts
    well("last write", LINE, "a[0] = b[i] {id=s}"),
    well("last write", PLANE, "a[i] = b[i,j] {id=s}"),
    well("last write", PLANE, "a[0] = b[i,j] {id=s}"),
    well("last write", PLANE, "a[0] = b[i,j] {id=s}\nc[i,j] = a[0] {id=u}"),
    well("last write", LINE, "a[i//2] = b[i] {id=s}"),
    well("last write", LINE, "t = b[i] {id=s}\na[0] = t {id=u, inames=}", scalar("t"),
         options=AT_LEAST_1),
    # scratch
    well("scratch", LINE, "t = b[i] {id=s}\na[i] = t*t {id=u}", scalar("t")),
    well("scratch", PLANE, "t = b[i,j] {id=s}\na[j,i] = t {id=u}", scalar("t")),
    well("scratch", PLANE, "t = b[i,j] {id=s}\na[j,i] = t {id=u}", scalar("t"),
         tags={"i": G, "j": L}),
    well("scratch", PLANE, "t = b[i,j] {id=s}\na[j,i] = t {id=u}", scalar("t", "global")),
    well("scratch", PLANE,
         "t = 0 {id=z, inames=i}\nt = t + b[i,j] {id=s, dep=z}\na[i] = t {id=u, dep=s}",
         scalar("t")),
    well("scratch", LINE, "t = b[i] {id=s, if=b[i] > 0}\na[i] = t {id=u, if=b[i] > 0}",
         scalar("t")),
    well("scratch", LINE, "t = b[i] {id=s, if=b[i] > 0}\na[i] = if(b[i] > 0, t, 1) {id=u}",
         scalar("t")),
    well("scratch", LINE, "t[idx[i] % 4] = b[i] {id=s}\na[i] = t[idx[i] % 4] {id=u}", IDX,
         private("t", 4), limits={"idx": 9}),
    well("scratch", LINE, "t = 0 {id=z, inames=i}\nt = b[i] {id=s, dep=z, if=b[i] > 0}\n"
         "a[i] = t {id=u, dep=z:s}", scalar("t")),
    well("scratch", ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<4 }", "{ [k]: 0<=k<4 }"],
         "t[j] = b[i,j] {id=s, inames=i:j}\na[i,k] = t[3-k] {id=u, inames=i:k}", private("t", 4)),
    well("scratch", EIGHT, "t[i] = b[i] {id=s}\na[i] = t[i] {id=u}", private("t", 8)),
    well("scratch", "{ [i]: 0<=i<8 }",
         "t[0] = b[0] {id=z, dep=*}\nt[i+1] = t[i] + b[i] {id=s, dep=z}\n"
         "a[0] = t[8] {id=u, inames=, dep=s}", private("t", 9)),
    well("scratch", "{ [i,j]: 0<=i<n and 0<=j<8 }",
         "t[j] = b[i,j] {id=s, inames=i:j}\na[i] = sum(j, t[j]) {id=u}", private("t", 8)),
    # tiles
    well("tile", TILE, "t[i] = a[g,i] {id=s, inames=g:i}\nb[g,j] = t[3-j] {id=u}", local("t", 4)),
    well("tile", TILE, "t[i] = a[g,i] {id=s, inames=g:i}\nb[g,j] = t[3-j] {id=u}", local("t", 4),
         tags={"g": G, "i": L, "j": L}),
    well("tile", TILE, "t[i] = a[g,i] {id=s, inames=g:i}\nb[g,j] = t[3-j] {id=u}", private("t", 4),
         tags={"g": L}),
    # reductions
    well("reduction", PLANE, "b[i] = sum(j, a[i,j]) {id=s}"),
    well("reduction", CUBE, "c[i,j] = sum(k, a[i,k]*b[k,j]) {id=s}"),
    well("reduction", CUBE, "c[i,j] = c[i,j] + a[i,k]*b[k,j] {id=s, inames=i:j:k}"),
    well("reduction", [*TWO, "{ [k]: 0<=k<n }"],
         "s[0] = max((i,j), a[i,j]) {id=s}\nb[k] = a[k,0] - s[0] {id=u}", array("s", "1")),
    well("reduction", PLANE, "b[i] = sum(j, a[j]*max(j, a[i])) {id=s}", tags={"i": G}),
    # data
    well("gather", LINE, "b[i] = a[idx[i]] {id=s}", IDX, array("a", "4"), limits={"idx": 4},
         obligations=1),
    well("scatter", LINE, "a[idx[i]] = b[i] {id=s}", IDX, array("a", "4"), limits={"idx": 4},
         obligations=1),
    well("scatter", LINE, "a[idx[i] % 4] = a[idx[i] % 4] + b[i] {id=s}", IDX, array("a", "4"),
         limits={"idx": 9}),
    well("sparse rows", [LINE, "{ [j]: start<=j<stop }"],
         """start = rows[i] {id=lo}
         stop = rows[i+1] {id=hi}
         y[i] = sum(j, values[j]*x[columns[j]]) {id=s}""",
         pg.TemporaryVariable("start", "int32"), pg.TemporaryVariable("stop", "int32"),
         array("rows", "n+1", dtype="int32"), array("columns", "9", dtype="int32"),
         array("values", "9"), array("x", "4"), limits={"rows": 9, "columns": 4}, obligations=3),
    well("rows of many lengths", ROWS, "count = counts[i] {id=c}\na[i,j] = 1 {id=s, if=j<9}", INT,
         array("counts", "n", dtype="int32"), array("a", "n", "9"), limits={"counts": 9},
         obligations=0),
    well("condition", FROM1, "a[i] = a[i-1] + 1 {id=s, if=c[i] > 0}"),
    well("condition", FROM1, "a[i] = if(c[i] > 0, a[i-1], a[i]) {id=s}"),
    well("arrays that may overlap", LINE, "a[i] = b[i] {id=s}", array("a", "n", may_alias=True),
         array("b", "n")),
]  # fmt: skip
