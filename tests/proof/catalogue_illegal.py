"""Steps that must be refused: on which program, which step, and what each would break."""

from __future__ import annotations

from dataclasses import dataclass

from tests.proof.patterns import Call, fuse, move, own, prior, split, tag

G, L = "g.0", "l.0"


@dataclass(frozen=True)
class Illegal:
    """A step to refuse.

    Attributes:
        pattern: the program.
        steps: calls, of which all but the last are legal.
        name: the variable that the witness is about.
        kinds: what its dependence may be: more than one where a step breaks several.
        now: what may become of it.
        data: whether data decides, so that the refusal is `CannotProve`.
    """

    pattern: str
    steps: tuple[Call, ...]
    name: str
    kinds: str
    now: str
    data: bool = False


def _both(
    pattern: str, iname: str, name: str, kinds: str, now: str = "unordered", data: bool = False
) -> list[Illegal]:
    """An iname that must not be parallel: as groups, as work items, and in pieces."""
    ways = (tag(**{iname: G}), tag(**{iname: L}), split(iname, 2, G, L))
    return [Illegal(pattern, (way,), name, kinds, now, data) for way in ways]


def _downward(pattern: str, name: str, kinds: str, data: bool = False) -> list[Illegal]:
    """A loop over i that must not run downward: under a new name, and under its own."""
    ways = (move("[i] -> [r] : r = -i"), move("[i] -> [i'] : i' = -i"))
    return [Illegal(pattern, (way,), name, kinds, "reversed", data) for way in ways]


def _apart(pattern: str, name: str, kinds: str, inames: str = "i") -> list[Illegal]:
    """Two instructions, s and u, that must stay in one loop."""
    ways = (own(inames, "s"), own(inames, "u"))
    return [Illegal(pattern, (way,), name, kinds, "reversed") for way in ways]


RI = "reversed unordered"

CATALOGUE: list[Illegal] = [
    # a loop that carries something, in parallel
    *_both("forward", "i", "a", "flow"),
    *_both("backward", "i", "a", "anti"),
    *_both("distance 2", "i", "a", "flow"),
    *_both("running sum", "i", "a", "flow anti output"),
    *_both("row recurrence", "j", "a", "flow"),
    *_both("column recurrence", "i", "a", "flow", RI),
    *_both("antidiagonal", "i", "a", "flow", RI),
    *_both("wavefront", "i", "a", "flow", RI),
    *_both("wavefront", "j", "a", "flow", RI),
    *_both("in place", "i", "a", "flow anti"),
    *_both("gauss-seidel", "i", "a", "flow anti output", RI),
    *_both("gauss-seidel", "t", "a", "flow anti output", RI),
    *_both("time", "t", "a", "flow", RI),
    *_both("solve", "j", "x", "flow anti output", RI),
    *_both("strided clash", "i", "a", "flow anti"),
    *_both("halves", "i", "a", "output"),
    *_both("modulo", "i", "a", "output"),
    *_both("reverse in place", "i", "a", "flow anti"),
    *_both("minimum", "i", "a", "output"),
    *_both("maximum", "i", "a", "flow"),
    *_both("transpose in place", "i", "a", "flow anti", RI),
    *_both("last write", "i", "a", "output"),
    *_both("last column", "j", "a", "output"),
    *_both("predicate clash", "i", "a", "flow anti"),
    *_both("overwrite", "i", "a", "output", RI),
    *_both("product", "k", "c", "flow anti output"),
    *_both("reduction of itself", "i", "x", "flow"),
    # data decides
    *_both("scatter", "i", "a", "output", data=True),
    *_both("gather in place", "i", "a", "flow anti", data=True),
    *_both("alias", "i", "a", "flow output", data=True),
    *_both("predicate data", "i", "a", "flow", data=True),
    # temporaries
    *_both("local scalar", "i", "t", "flow anti output", "unordered reversed separated")[1:2],
    *_both("global scalar", "i", "t", "flow anti output", RI),
    *_both("carried", "i", "t", "flow", "separated"),
    *_both("accumulator", "i", "acc", "flow", "separated"),
    *_both("row sums", "j", "acc", "flow", "separated"),
    Illegal("private tile", (tag(i=L, j=L),), "t", "flow", "separated"),
    Illegal("private tile", (tag(i=L),), "t", "flow", "separated"),
    Illegal("private tile", (tag(g=G), tag(j=L, i=L)), "t", "flow", "separated"),
    Illegal("tile", (tag(g=L),), "t", "flow anti output", RI),
    Illegal("tile", (split("g", 2, None, L),), "t", "flow anti output", RI),
    Illegal("tile", (tag(i=G),), "t", "flow", "separated"),
    Illegal("tile", (tag(i=L), tag(i="for"), tag(i=G)), "t", "flow", "separated"),
    # interchanges and tilings
    Illegal("antidiagonal", (prior("j,i"),), "a", "flow", "reversed"),
    Illegal("antidiagonal", (split("i", 2), prior("j,i_outer")), "a", "flow", "reversed"),
    Illegal("antidiagonal", (split("j", 2), prior("j_outer,i,j_inner")), "a", "flow", "reversed"),
    Illegal("antidiagonal", (prior("i,j"), tag(j=G), tag(i=L)), "a", "flow", "unordered"),
    Illegal("gauss-seidel", (prior("i,t"),), "a", "flow anti output", "reversed"),
    Illegal("gauss-seidel", (split("i", 2), prior("i_outer,t,i_inner")), "a",
            "flow anti output", "reversed"),
    Illegal("gauss-seidel", (split("i", 3), prior("i_outer,t")), "a", "flow anti output",
            "reversed"),
    Illegal("time", (prior("i,t"),), "a", "flow", "reversed"),
    Illegal("time", (split("i", 4), prior("i_outer,t,i_inner")), "a", "flow", "reversed"),
    Illegal("time", (split("t", 2), split("i", 2), prior("t_outer,i_outer,t_inner,i_inner")), "a",
            "flow", "reversed"),
    Illegal("transpose in place", (prior("j,i"),), "a", "flow anti", "reversed"),
    Illegal("forward", (split("i", 2), prior("i_inner,i_outer")), "a", "flow", "reversed"),
    Illegal("backward", (split("i", 2), prior("i_inner,i_outer")), "a", "anti", "reversed"),
    Illegal("distance 2", (split("i", 4), prior("i_inner,i_outer")), "a", "flow", "reversed"),
    Illegal("running sum", (split("i", 2), prior("i_inner,i_outer")), "a", "flow anti output",
            "reversed"),
    Illegal("last write", (split("i", 2), prior("i_inner,i_outer")), "a", "output", "reversed"),
    Illegal("scatter", (split("i", 2), prior("i_inner,i_outer")), "a", "output", "reversed",
            data=True),
    Illegal("halves", (split("i", 2), tag(i_inner=L)), "a", "output", "unordered"),
    Illegal("distance 2", (split("i", 3), tag(i_inner=L)), "a", "flow", "unordered"),
    Illegal("modulo", (split("i", 4), tag(i_outer=G)), "a", "output", RI),
    Illegal("modulo", (split("i", 3), tag(i_inner=L), tag(i_outer=G)), "a", "output", "unordered"),
    # loops that run downward
    *_downward("forward", "a", "flow"),
    *_downward("backward", "a", "anti"),
    *_downward("distance 2", "a", "flow"),
    *_downward("running sum", "a", "flow anti output"),
    *_downward("column recurrence", "a", "flow"),
    *_downward("diagonal", "a", "flow"),
    *_downward("antidiagonal", "a", "flow"),
    *_downward("wavefront", "a", "flow"),
    *_downward("in place", "a", "flow anti"),
    *_downward("gauss-seidel", "a", "flow anti output"),
    *_downward("solve", "x", "flow"),
    *_downward("strided clash", "a", "flow anti"),
    *_downward("halves", "a", "output"),
    *_downward("modulo", "a", "output"),
    *_downward("reverse in place", "a", "flow anti"),
    *_downward("minimum", "a", "output"),
    *_downward("maximum", "a", "flow"),
    *_downward("transpose in place", "a", "flow anti"),
    *_downward("last write", "a", "output"),
    *_downward("predicate clash", "a", "flow anti"),
    *_downward("anti", "a", "anti"),
    *_downward("flow", "a", "flow"),
    *_downward("overwrite", "a", "output"),
    *_downward("feedback", "a", "flow"),
    *_downward("carried", "t", "flow anti"),
    *_downward("reduction of itself", "x", "flow"),
    *_downward("scatter", "a", "output", data=True),
    *_downward("gather in place", "a", "flow anti", data=True),
    *_downward("alias", "a", "flow output", data=True),
    *_downward("predicate data", "a", "flow", data=True),
    # other coordinates, in which a dependence points backward
    Illegal("antidiagonal", (move("[i,j] -> [p,q] : p = i+j and q = j"),), "a", "flow", "reversed"),
    Illegal("wavefront", (move("[i,j] -> [p,q] : p = i-j and q = j"),), "a", "flow", "reversed"),
    Illegal("wavefront", (move("[i,j] -> [p,q] : p = i and q = -j"),), "a", "flow", "reversed"),
    Illegal("diagonal", (move("[i,j] -> [p,q] : p = j-2*i and q = i"),), "a", "flow", "reversed"),
    Illegal("row recurrence", (move("[j] -> [r] : r = n-j"),), "a", "flow", "reversed"),
    Illegal("time", (move("[t] -> [r] : r = n-t"),), "a", "flow", "reversed"),
    Illegal("time", (move("[t,i] -> [p,t] : p = i-t"), prior("p,t")), "a", "flow", "reversed"),
    Illegal("gauss-seidel", (move("[t,i] -> [p,t] : p = i-t"), prior("p,t")), "a",
            "flow anti output", "reversed"),
    Illegal("gauss-seidel", (move("[t,i] -> [p,t] : p = i+t"), prior("p,t"), tag(t=G)), "a",
            "flow anti", "unordered"),
    Illegal("forward", (move("[i] -> [x,y] : i = 3*x+y and 0<=y<3"), prior("y,x")), "a", "flow",
            "reversed"),
    Illegal("forward", (move("[i] -> [y,x] : i = 3*x+y and 0<=y<3"),), "a", "flow", "reversed"),
    Illegal("wavefront", (move("[i,j] -> [io,jo,ii,ji] : i = 2*io-ii and 0<=ii<2 and "
                               "j = 2*jo+ji and 0<=ji<2"),), "a", "flow", "reversed"),
    Illegal("forward", (split("i", 4), move("[i_inner] -> [r] : r = 3-i_inner")), "a", "flow",
            "reversed"),
    # loops that must not become one
    Illegal("loops ahead", (fuse("j", "i"),), "a", "flow", "reversed"),
    Illegal("loops ahead", (fuse("i", "j"),), "a", "flow", "reversed"),
    Illegal("loops mirrored", (fuse("j", "i"),), "a", "flow", "reversed"),
    Illegal("loops overwrite ahead", (fuse("j", "i"),), "a", "anti", "reversed"),
    Illegal("loops twice", (fuse("j", "i"),), "a", "output", "reversed"),
    Illegal("loops one element", (fuse("j", "i"),), "a", "flow", "reversed"),
    Illegal("loops halves", (fuse("j", "i"),), "a", "flow anti", "reversed"),
    Illegal("loops stencil", (fuse("j", "i"),), "a", "flow", "reversed"),
    Illegal("loops total", (fuse("j", "i"),), "t", "flow", "reversed"),
    Illegal("loops scatter", (fuse("j", "i"),), "a", "flow", "reversed", data=True),
    Illegal("planes down", (fuse("j", "i"),), "a", "flow", "reversed"),
    Illegal("planes ahead", (fuse("j", "i"), fuse("l", "k")), "a", "flow", "reversed"),
    # loops that must stay one
    *_apart("ahead", "a", "anti"),
    *_apart("overwrite", "a", "output"),
    *_apart("feedback", "a", "flow"),
    *_apart("private", "t", "flow anti output"),
    *_apart("local scalar", "t", "flow anti output"),
    *_apart("global scalar", "t", "flow anti output"),
    Illegal("row sums", (own("i", "u"),), "acc", "flow anti output", "reversed"),
    Illegal("tile", (own("g,j", "u"),), "t", "flow anti output", "reversed"),
    Illegal("private tile", (own("g,i", "s"),), "t", "flow anti output", "reversed"),
    Illegal("loops scratch", (own("i", "u"),), "t", "flow anti output", "reversed"),
    Illegal("loops scratch", (fuse("j", "i"), own("i", "x")), "v", "flow anti output", "reversed"),
    Illegal("loops one scratch", (fuse("j", "i"), own("i", "x")), "t", "flow anti output",
            "reversed"),
    Illegal("loops behind", (fuse("j", "i"), move("[i] -> [r] : r = -i")), "a", "flow",
            "reversed"),
    # branches that are not each other's opposite
    *(
        Illegal(pattern, (own("j", "u"),), "b", "flow anti output", "reversed", data=True)
        for pattern in ("branches of other data", "branches of other places")
    ),
]  # fmt: skip
