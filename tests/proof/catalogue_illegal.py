"""Steps that must be refused: on which program, which step, and what each would break."""

from __future__ import annotations

from dataclasses import dataclass

from tests.proof.patterns import Call, prior, split, tag

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
]  # fmt: skip
