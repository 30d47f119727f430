"""Last writes that are found at once, against those that isl finds."""

from __future__ import annotations

import islpy as isl
import pytest

import polygen as pg
from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.dataflow import last_write, read_sources
from polygen.analysis.dataflow.last_write import write_in_iteration
from polygen.ir.kernel import Kernel

LOCAL = pg.AddressSpace.LOCAL


def _nothing(*_: object) -> None:
    return None


def _read(kernel: Kernel, insn_id: str, name: str) -> Access:
    (found,) = (a for a in touched(kernel, insn_id)[name] if not a.is_write)
    return found


def _kernel(domain: str, text: str, shape: tuple[int, ...], tags: dict[str, str]) -> Kernel:
    temporary = pg.TemporaryVariable("t", "float32", shape=shape, address_space=LOCAL)
    with pg.without_proofs():
        knl = pg.make_kernel(domain, text, [temporary, "..."])
        return pg.tag_inames(knl, tags)


TILE = "{ [g,l,f]: 0<=g<n and 0<=l<8 and 0<=f<8 }"
FOUND = {
    "tile": (TILE, "t[f] = a[8*g + f] {id=w}\nout[g,l] = t[7 - l] {id=r, dep=w}", (8,)),
    "more is written": (TILE, "t[f+1] = a[g,f] {id=w}\nout[g,l] = t[l+1] {id=r,dep=w}", (9,)),
    "through another": (
        "{ [g,l,e,f]: 0<=g<n and 0<=l<8 and 0<=e<8 and 0<=f<8 }",
        "t[e, e+2*f] = a[g,e,f] {id=w}\nout[g,l] = t[l,l+4] {id=r, dep=w}",
        (8, 22),
    ),
    "from the other end": (TILE, "t[8-f] = a[g,f] {id=w}\nout[g,l] = t[l+1] {id=r,dep=w}", (9,)),
    "one from another": (
        "{ [g,l,e,f]: 0<=g<n and 0<=l<8 and 0<=e<8 and 0<=f<8 }",
        "t[e, f-e+7] = a[g,e,f] {id=w}\nout[g,l] = t[l,7] {id=r, dep=w}",
        (8, 15),
    ),
    "by the group": (TILE, "t[g+f] = a[g,f] {id=w}\nout[g,l] = t[g+l] {id=r,dep=w}", (99,)),
    "in a reduction": (TILE, "t[f] = a[8*g + f] {id=w}\nout[g] = sum(l, t[l]) {id=r, dep=w}", (8,)),
}
NOT_FOUND = {
    "not all is written": (TILE, "t[f] = a[g,f] {id=w}\nout[g,l] = t[l+1] {id=r,dep=w}", (9,)),
    "too many are read": (
        "{ [g,l,f]: 0<=g<n and 0<=l<8 and 0<=f<7 }",
        "t[f] = a[g,f] {id=w}\nout[g,l] = t[l] {id=r,dep=w}",
        (8,),
    ),
    "every other one": (TILE, "t[2*f] = a[g,f] {id=w}\nout[g,l] = t[l] {id=r,dep=w}", (15,)),
    "the same twice": (TILE, "t[f, f] = a[g,f] {id=w}\nout[g,l] = t[l, 0] {id=r,dep=w}", (8, 8)),
    "rounded": (TILE, "t[f//2] = a[g,f] {id=w}\nout[g,l] = t[l//2] {id=r,dep=w}", (8,)),
    "comes later": (TILE, "t[f] = a[g,f] {id=w, dep=r}\nout[g,l] = t[l] {id=r, dep=*}", (8,)),
    "several instances": (
        "{ [g,l,e,f]: 0<=g<n and 0<=l<8 and 0<=e<8 and 0<=f<8 }",
        "t[f] = a[g,e,f] {id=w, inames=g:e:f}\nout[g,l] = t[l] {id=r, inames=g:l, dep=w}",
        (8,),
    ),
    "several instances in one subscript": (
        "{ [g,l,e,f]: 0<=g<n and 0<=l<8 and 0<=e<8 and 0<=f<8 }",
        "t[e+f] = a[g,e,f] {id=w, inames=g:e:f}\nout[g,l] = t[l] {id=r, inames=g:l, dep=w}",
        (15,),
    ),
    "two writers": (
        TILE,
        "t[f] = a[g,f] {id=w}\nt[0] = 1 {id=v, dep=w}\nout[g,l] = t[l] {id=r, dep=v:w}",
        (8,),
    ),
    "data decides": (
        TILE,
        "t[f] = a[g,f] {id=w, if=b[f] > 0}\nout[g,l] = t[l] {id=r, dep=w}",
        (8,),
    ),
}


@pytest.mark.parametrize("case", FOUND)
@pytest.mark.parametrize("on_axes", [False, True])
def test_the_same_as_isl_finds(case: str, on_axes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"g": "g.0", **({} if case == "in a reduction" else {"l": "l.0"})} if on_axes else {}
    knl = _kernel(*FOUND[case], tags)
    read = _read(knl, "r", "t")
    found = write_in_iteration(knl, read)
    assert found is not None
    writer, pairs, _ = found
    assert writer == "w"
    assert read.reference is not None
    monkeypatch.setattr(read_sources, "write_in_iteration", _nothing)
    sources = read_sources.sources(knl, read.reference)
    assert sources is not None
    (source,) = sources
    assert source.writer == "w"
    assert source.pairs.is_equal(pairs)
    assert not pairs.is_equal(isl.Set("{ : }"))


@pytest.mark.parametrize("case", sorted(FOUND.keys() - {"through another"}))
def test_subscripts_say_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for pairs would ask which copies are the same."""
    knl = _kernel(*FOUND[case], {})
    monkeypatch.setattr(last_write, "same_copy", _nothing)
    assert write_in_iteration(knl, _read(knl, "r", "t")) is not None


@pytest.mark.parametrize("case", NOT_FOUND)
def test_not_seen_at_once(case: str) -> None:
    knl = _kernel(*NOT_FOUND[case], {"g": "g.0", "l": "l.0"})
    assert write_in_iteration(knl, _read(knl, "r", "t")) is None


def test_other_copies_are_not_read() -> None:
    own = pg.TemporaryVariable("t", "float32", shape=(8,), address_space=pg.AddressSpace.PRIVATE)
    with pg.without_proofs():
        knl = pg.make_kernel(
            TILE, "t[f] = a[8*g + f] {id=w}\nout[g,l] = t[l] {id=r, dep=w}", [own, "..."]
        )
        knl = pg.tag_inames(knl, {"g": "g.0", "f": "l.0", "l": "l.0"})
    # Each work item has the one element that it wrote, at its own number.
    found = write_in_iteration(knl, _read(knl, "r", "t"))
    sources = read_sources.sources(knl, _read(knl, "r", "t").reference)  # type: ignore[arg-type]
    assert found is not None
    assert sources is not None
    assert [s.writer for s in sources] == ["w"]
    with pg.without_proofs():
        shifted = pg.make_kernel(
            TILE, "t[f] = a[8*g + f] {id=w}\nout[g,l] = t[7-l] {id=r, dep=w}", [own, "..."]
        )
        shifted = pg.tag_inames(shifted, {"g": "g.0", "f": "l.0", "l": "l.0"})
    assert write_in_iteration(shifted, _read(shifted, "r", "t")) is None


def test_a_domain_with_numbers_that_isl_has_no_formula_for() -> None:
    domain = "{ [j]: exists e: 0<=j<9 and 2*e<=j and 3*e>=j+1 }"
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<12 }", domain],
        "t[i] = a[i] {id=w}\nout[j] = t[j + 1] {id=r, dep=w}",
        [pg.TemporaryVariable("t", "float32", (12,)), pg.GlobalArg("a, out", "float32", 12)],
    )
    assert write_in_iteration(knl, _read(knl, "r", "t")) is not None
    with pytest.raises(pg.errors.OutOfBounds, match=r"reads t\[12\]"):
        pg.make_kernel(
            ["{ [i]: 0<=i<12 }", domain],
            "t[i] = a[i] {id=w}\nout[j] = t[j + 4] {id=r, dep=w}",
            [pg.TemporaryVariable("t", "float32", (12,)), pg.GlobalArg("a, out", "float32", 12)],
        )
