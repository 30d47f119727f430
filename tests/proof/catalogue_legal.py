"""Steps that must be accepted."""

from __future__ import annotations

from tests.proof.patterns import (
    Call,
    fuse,
    inward,
    move,
    outward,
    own,
    prior,
    rename,
    split,
    tag,
)

G, L = "g.0", "l.0"


def _any_order(pattern: str, iname: str) -> list[tuple[str, tuple[Call, ...]]]:
    """A loop that carries nothing: parallel, in pieces, in any order of these."""
    outer, inner = f"{iname}_outer", f"{iname}_inner"
    ways: tuple[tuple[Call, ...], ...] = (
        (tag(**{iname: G}),),
        (tag(**{iname: L}),),
        (split(iname, 2, G, L),),
        (split(iname, 3), prior(f"{inner},{outer}")),
        (split(iname, 2), tag(**{inner: L}), split(outer, 2, G)),
    )
    return [(pattern, way) for way in ways]


def _in_order(pattern: str, iname: str) -> list[tuple[str, tuple[Call, ...]]]:
    """A loop that carries something: in pieces, in the same order."""
    return [
        (pattern, (split(iname, 2),)),
        (pattern, (split(iname, 3), prior(f"{iname}_outer,{iname}_inner"))),
        (pattern, (rename(iname, "row"), split("row", 4, None, "unr"))),
    ]


SERIAL = {
    "forward": "i", "backward": "i", "running sum": "i", "in place": "i", "gauss-seidel": "t",
    "solve": "j", "halves": "i", "modulo": "i", "last write": "i", "scatter": "i", "alias": "i",
    "predicate data": "i", "anti": "i", "flow": "i", "overwrite": "i", "carried": "i",
    "accumulator": "i", "global scalar": "i", "gather in place": "i", "maximum": "i",
    "reduction of itself": "i", "time": "t", "predicate clash": "i", "strided clash": "i",
}  # fmt: skip

FREE = {
    "row recurrence": "i", "jacobi": "i", "halo": "i", "triangle": "i", "strided": "i",
    "reverse": "i", "gather": "i", "predicate apart": "i", "pointwise": "i", "private": "i",
    "row sums": "i", "copy": "j", "reduction": "i", "product": "i", "last column": "i",
    "plane then line": "i", "private tile": "g",
}  # fmt: skip

# A loop inside, or a barrier, keeps the order of what the parallel iname separates.
KEPT_INSIDE = {"diagonal": "i", "solve": "i", "anti": "i", "flow": "i"}

STRIPS = [(pattern, iname) for pattern, iname in SERIAL.items() if pattern != "time"]

# Two instructions in a loop, of which all instances of the first may come first.
APART = ("anti", "flow", "pointwise", "predicate apart")

CATALOGUE: list[tuple[str, tuple[Call, ...]]] = [
    *(case for pattern, iname in SERIAL.items() for case in _in_order(pattern, iname)),
    *(case for pattern, iname in FREE.items() for case in _any_order(pattern, iname)),
    *(case for pattern, iname in KEPT_INSIDE.items() for case in _any_order(pattern, iname)[:3]),
    # interchange, tiling
    ("row recurrence", (prior("j,i"),)),
    ("column recurrence", (prior("j,i"),)),
    ("diagonal", (prior("j,i"),)),
    ("wavefront", (prior("j,i"),)),
    ("wavefront", (split("i", 2), split("j", 2), prior("i_outer,j_outer,i_inner,j_inner"))),
    ("diagonal", (split("i", 2), split("j", 3), prior("j_outer,i_outer,j_inner,i_inner"))),
    ("column recurrence", (tag(j=G),)),
    ("column recurrence", (prior("i,j"), tag(j=L))),
    ("antidiagonal", (prior("i,j"), tag(j=L))),
    ("diagonal", (prior("i,j"), tag(j=L))),
    ("time", (prior("t,i"), tag(i=L))),
    ("time", (prior("t,i"), split("i", 2, G, L))),
    ("product", (prior("k,i,j"),)),
    ("product", (prior("k,j,i"), tag(i=G, j=L))),
    ("product", (split("k", 2), prior("k_outer,i,j,k_inner"))),
    ("copy", (split("i", 2), split("j", 2), prior("i_outer,j_outer,i_inner,j_inner"))),
    ("triangle", (prior("i,j"), tag(i=G, j=L))),
    ("reduction", (split("j", 3),)),
    ("reduction", (split("j", 3), prior("j_outer,j_inner"), tag(i=G))),
    # disjoint pieces, copies
    ("distance 2", (split("i", 2), tag(i_inner="unr"))),
    ("halves", (split("i", 2), tag(i_outer=G))),
    ("modulo", (split("i", 4), tag(i_inner=L))),
    ("modulo", (split("i", 4), prior("i_inner,i_outer"))),
    ("tile", (tag(g=G),)),
    ("tile", (tag(g=G), tag(i=L, j=L))),
    ("tile", (tag(i=L, j=L),)),
    ("tile", (tag(j=L, i="unr"),)),
    ("private", (tag(i=G), tag(i="for"))),
    ("row sums", (tag(i=G), tag(i=L), tag(i="unr"))),
    ("private tile", (tag(i="unr", j="unr", g=L),)),
    ("local scalar", (tag(i=G),)),
    # other coordinates
    *((pattern, (move(f"[{i}] -> [r] : r = {i} + 3"),)) for pattern, i in SERIAL.items()),
    *((pattern, (move(f"[{i}] -> [o,p] : {i} = 3*o+p and 0<=p<3"),)) for pattern, i in STRIPS),
    *((pattern, (move(f"[{i}] -> [r] : r = -{i}"),)) for pattern, i in FREE.items()),
    *((pattern, (move(f"[{i}] -> [{i}'] : {i}' = 5-{i}"),)) for pattern, i in FREE.items()),
    ("wavefront", (move("[i,j] -> [p,q] : p = i+j and q = j"),)),
    ("wavefront", (move("[i,j] -> [p,q] : p = j and q = i-j"),)),
    ("wavefront", (move("[i,j] -> [p,q] : p = i+j and q = i"), tag(q=G))),
    ("wavefront", (move("[i,j] -> [p,q] : p = 2*i+j and q = i+j"),)),
    ("antidiagonal", (move("[i,j] -> [i,p] : p = i+j"), prior("p,i"))),
    ("antidiagonal", (move("[j] -> [r] : r = n-j"), prior("r,i"))),
    ("diagonal", (move("[i,j] -> [i,p] : p = j-i"), tag(p=G))),
    ("diagonal", (move("[i,j] -> [p,i] : p = i-j"),)),
    ("time", (move("[t,i] -> [p,t] : p = i+t"),)),
    (
        "time",
        (
            move("[t,i] -> [t,p] : p = i+t"),
            split("t", 2),
            split("p", 2),
            prior("t_outer,p_outer,t_inner,p_inner"),
        ),
    ),
    ("time", (prior("t,i"), move("[i] -> [r] : r = n-i"))),
    ("gauss-seidel", (move("[t,i] -> [p,t] : p = i+t"),)),
    ("gauss-seidel", (move("[t,i] -> [p,t] : p = i+2*t"), tag(t=G))),
    (
        "gauss-seidel",
        (
            move("[t,i] -> [t,p] : p = i+t"),
            split("t", 2),
            split("p", 2),
            prior("t_outer,p_outer,t_inner,p_inner"),
        ),
    ),
    (
        "copy",
        (move("[i,j] -> [io,jo,ii,ji] : i = 2*io+ii and 0<=ii<2 and j = 3*jo+ji and 0<=ji<3"),),
    ),
    ("reverse in place", (move("[i] -> [r] : r = i+n"),)),
    ("reduction", (move("[i,j] -> [i,p] : p = i+j"), tag(i=G))),
    ("reduction", (move("[j] -> [r] : r = -j"), split("r", 2))),
    ("double sum", (move("[j,k] -> [p,q] : p = j+k and q = j-k"),)),
    ("tile", (move("[g] -> [r] : r = n-g"), tag(r=G))),
    ("tile", (move("[i] -> [r] : r = 3-i"), move("[j] -> [s_] : s_ = 3-j"), tag(r=L, s_=L))),
    ("private", (move("[i] -> [r] : r = 7-i"), tag(r=G))),
    ("row sums", (move("[i] -> [r] : r = n-1-i"), tag(r=L))),
    # one loop instead of two
    ("loops", (fuse("j", "i"),)),
    ("loops", (fuse("i", "j"), tag(j=G))),
    ("loops", (fuse("i", "j"), split("j", 2, G, L))),
    ("loops", (split("i", 2), split("j", 2), fuse("j_outer", "i_outer"))),
    ("loops apart", (fuse("j", "i"), move("[i] -> [r] : r = -i"))),
    ("loops behind", (fuse("j", "i"),)),
    ("loops overwrite behind", (fuse("j", "i"),)),
    ("loops scratch", (fuse("j", "i"), tag(i=G))),
    ("loops one scratch", (fuse("i", "j"), tag(j=L))),
    ("loop then sum", (fuse("j", "i"),)),
    ("planes", (fuse("j", "i"),)),
    ("planes", (fuse("l", "k"),)),
    ("planes", (fuse("j", "i"), fuse("l", "k"), tag(i=G, k=L))),
    ("planes ahead", (fuse("j", "i"),)),
    ("planes down", (fuse("l", "k"),)),
    # two loops instead of one
    *((pattern, (own("i", insn),)) for pattern in APART for insn in "su"),
    ("pointwise", (own("i", "u"), fuse("i_0", "i"))),
    *(("branches", (own("j", insn),)) for insn in "su"),
    ("branches", (own("i,j", "u"), tag(i=G, i_0=G))),
    ("anti", (own("i", "u"), tag(i=G), tag(i_0=L))),
    ("flow", (own("i", "u"), tag(i=G, i_0=G))),
    ("plane then line", (own("i,j", "s"),)),
    ("plane then line", (own("j", "s"),)),
    ("row sums", (own("j", "s"),)),
    ("tile", (own("j", "u"),)),
    ("loops", (fuse("j", "i"), own("i", "u"))),
    ("planes", (fuse("j", "i"), fuse("l", "k"), own("k", "u"), own("i,k", "s"))),
    ("double sum", (own("j,k", "s"),)),
    # reductions in parts
    ("double sum", (inward("j"),)),
    ("double sum", (outward("j"), tag(i=G))),
    ("double sum", (inward("k"), split("j", 2), split("k", 3))),
    ("double sum", (split("j", 2), outward("j_outer"))),
]
