"""Steps that must be accepted."""

from __future__ import annotations

from tests.proof.patterns import Call, prior, rename, split, tag

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
]
