"""What is refused, and how: messages, limits, copies of temporaries, arrays that may overlap."""

from __future__ import annotations

from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.integers import proving
from polygen.errors import (
    CannotProve,
    IllegalStep,
    NewObligation,
    NoLoopNest,
    NotTheSame,
    ObligationViolated,
    OutOfBounds,
    ProofLimit,
)
from polygen.ir import expression as ex
from polygen.ir.domain import Domain
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import transformation
from tests.oracle.cases import kernel
from tests.proof.patterns import PATTERNS, array, scalar


def test_a_refusal_names_two_instances() -> None:
    with pytest.raises(IllegalStep) as caught:
        pg.tag_inames(PATTERNS["forward"].kernel(), {"i": "g.0"})
    assert caught.value.what == (
        "tag_inames would change what kernel 'polygen_kernel' computes: for n=3, s[i=1] writes "
        "the element of 'a' that s[i=2] reads; after the step, either might come first"
    )
    assert "sum(i, ...)" in str(caught.value.remedy)


def test_doubt_says_what_data_may_do() -> None:
    with pytest.raises(CannotProve, match="depends on data"):
        pg.tag_inames(PATTERNS["scatter"].kernel(), {"i": "g.0"})


def test_arrays_that_may_overlap() -> None:
    with pytest.raises(CannotProve, match="'a' and 'b' may overlap"):
        pg.tag_inames(PATTERNS["alias"].kernel(), {"i": "g.0"})


def test_a_limit_is_an_error_and_leaves_isl_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = PATTERNS["wavefront"].kernel()
    monkeypatch.setattr(proving, "MOST_OPERATIONS", 20)
    with pytest.raises(ProofLimit, match="within the limit"):
        pg.split_iname(knl, "i", 3)
    monkeypatch.undo()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert "i_outer" in pg.split_iname(knl, "i", 3).inames


def test_more_may_be_done_for_more_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "\n".join(f"<> t{k} = a[i] + {k}" for k in range(120))
    total = " + ".join(f"t{k}" for k in range(120))
    knl = pg.make_kernel("{ [i]: 0<=i<n }", f"{lines}\nout[i] = {total}")
    with proving.limited(knl, "something", "or not"):
        assert isl.DEFAULT_CONTEXT.get_max_operations() == 2 * proving.MOST_OPERATIONS
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    # As much for each instruction as fewer of them need.
    monkeypatch.setattr(proving, "MOST_OPERATIONS", 400_000)
    assert "i_outer" in pg.split_iname(knl, "i", 128).inames


def test_the_work_of_a_step_itself_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = PATTERNS["wavefront"].kernel()
    monkeypatch.setattr(proving, "MOST_IN_A_STEP", 20)
    with pytest.raises(ProofLimit, match=r"could not be taken for kernel .* within the limit"):
        pg.split_iname(knl, "i", 3)
    monkeypatch.undo()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    assert "i_outer" in pg.split_iname(knl, "i", 3).inames


@transformation
def load_ahead(knl: Kernel) -> Kernel:
    """Load what the only instruction chooses, whatever it chooses."""
    (use,) = knl.assignments
    (choice,) = use.values
    assert isinstance(choice, ex.If)
    t = ex.Variable("t")
    first = pg.Assignment("first", t, choice.then, use.within_inames)
    use = pg.Assignment(
        use.id,
        use.assignees[0],
        ex.If(choice.condition, t, choice.else_),
        use.within_inames,
        frozenset({"first"}),
    )
    return knl.copy(instructions=(first, use), temporaries=(pg.TemporaryVariable("t"),))


def _chosen(condition: str) -> Kernel:
    data = [array("idx", "n", dtype="int32"), array("x", "8"), array("b", "n")]
    return kernel("{ [i]: 0<=i<n }", f"b[i] = if({condition}, x[idx[i]], 0) {{id=b}}", *data)


def test_what_has_to_hold_of_the_data_for_the_first_time() -> None:
    knl = _chosen("idx[i] >= 0 and idx[i] < 8")
    with pytest.raises(NewObligation) as caught:
        load_ahead(knl)
    assert caught.value.what == (
        "load_ahead would make kernel 'polygen_kernel' one that is well formed only if, in "
        "'first', x[idx[i]] is inside of 'x': 0 <= idx[i] < 8; data decides that, and before the "
        "step, that is touched only where idx[i] >= 0 and idx[i] < 8"
    )
    assert "load_ahead(..., unsafe=True)" in str(caught.value.remedy)
    assert "-> [i] t = x[idx[i]]" in str(caught.value)
    step: Any = load_ahead
    taken = step(knl, unsafe=True)
    idx = np.array([3, 8], np.int32)
    with pytest.raises(ObligationViolated, match=r"needs x\[8\]"):
        taken(idx=idx, x=np.zeros(8), b=np.zeros(2), check_assumptions=True)


def test_a_kernel_that_is_not_well_formed_before_a_step() -> None:
    """The step is not what is wrong."""
    with pg.without_proofs():
        domain = "{ [i]: 0<=i<8 }"
        knl = kernel(domain, "b[i] = if(i > 2, x[i], 0) {id=b}", array("x", "n"), array("b", "8"))
    with pytest.raises(OutOfBounds) as caught:
        load_ahead(knl)
    assert caught.value.what.startswith(
        "load_ahead cannot be proved: kernel 'polygen_kernel' is not well formed before it: in "
        "kernel 'polygen_kernel', for n=0, b[i=3] reads x[3], which is outside of 'x'"
    )


@transformation
def share_loops(knl: Kernel) -> Rearranged:
    """Let loops over j, k and i be those of all instructions."""
    i, j, k = (ex.Variable(name) for name in "ijk")
    domains = tuple(Domain(isl.Set(f"{{ [{name}] : 0 <= {name} < 8 }}")) for name in "ijk")
    new = [
        pg.Assignment("c", ex.Subscript(ex.Variable("c"), (j, k)), 1, frozenset("jk")),
        pg.Assignment("d", ex.Subscript(ex.Variable("d"), (k, i)), 2, frozenset("ki")),
    ]
    moved = knl.copy(domains=domains, instructions=(knl.instruction("s"), *new))
    return Rearranged(moved, {"l": j, "m": k, "p": k, "q": i})


def test_no_nest_is_said_in_terms_of_the_users_instructions() -> None:
    """A reduction is several instructions inside."""
    domains = [f"{{ [{a},{b}]: 0<={a},{b}<8 }}" for a, b in ("ij", "lm", "pq")]
    lines = "b[i] = sum(j, a[i,j]) {id=s}\nc[l,m] = 1 {id=c}\nd[p,q] = 2 {id=d}"
    data = [array(name, "8", "8") for name in "acd"]
    with pytest.raises(NoLoopNest) as caught:
        share_loops(kernel(domains, lines, *data))
    assert "b[i] = sum(j, a[i, j])  {id=s}" in str(caught.value)
    assert "s'0" not in str(caught.value)


# --- copies


def _two_loops(first: str, second: str, read: str = "t") -> Kernel:
    text = f"t = a[i]  {{id=w, inames=i, dep=*}}\nb[j] = {read}  {{id=r, inames=j, dep=*w}}"
    return kernel([first, second], text, scalar("t"), "...")


def test_the_index_on_an_axis_counts_from_the_first_value() -> None:
    """Retagging keeps the copies only where both loops have the same index."""
    knl = _two_loops("{ [i]: 0<=i<4 }", "{ [j]: 2<=j<6 }")
    with pg.without_proofs():
        knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    pg.tag_inames(knl, {"i": "g.0", "j": "g.0"}, force=True)
    with pytest.raises(IllegalStep) as caught:
        pg.tag_inames(knl, {"i": "g.0"}, force=True)
    assert "w[i=0] writes the element of 't' that r[j=2] reads" in caught.value.what


def test_a_reader_without_the_axis_finds_no_copy() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and j=i }",
        "t = a[j]  {id=w, inames=i:j, dep=*}\nb[i] = t  {id=r, inames=i, dep=*w}",
        scalar("t"),
        "...",
    )
    with pytest.raises(IllegalStep, match="each would have a copy of its own"):
        pg.tag_inames(knl, {"j": "l.0"})


# --- transformations of one's own


GLOBAL = pg.AddressSpace.GLOBAL


@transformation
def merge_domains(knl: Kernel) -> Rearranged:
    """Write all domains as one, which an empty one makes empty."""
    both = knl.domains[0].flat.intersect(knl.domains[1].flat)
    names = ", ".join(knl.inames)
    text = str(both).replace("{  : ", f"{{ [{names}] : ")
    parameters = ", ".join(knl.parameters)
    text = f"[{parameters}] -> " + text[text.index("{") :]
    return Rearranged(knl.copy(domains=(Domain(isl.Set(text)),)))


@transformation
def share(knl: Kernel) -> Kernel:
    """Move temporaries to global memory."""
    shared = tuple(
        pg.TemporaryVariable(t.name, t.dtype, t.shape, pg.AddressSpace.GLOBAL)
        for t in knl.temporaries
    )
    return knl.copy(temporaries=shared)


def test_domains_that_become_one() -> None:
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"], "b[i] = sum(j, a[i,j])")
    with pytest.raises(NotTheSame, match="leaves out iterations"):
        merge_domains(knl)


def test_storage_may_move_where_no_two_instances_meet() -> None:
    assert share(PATTERNS["private"].kernel()).temporaries[0].address_space is GLOBAL


@transformation
def narrow(knl: Kernel) -> Kernel:
    """Give temporaries another type."""
    return knl.copy(
        temporaries=tuple(pg.TemporaryVariable(t.name, "float16", t.shape) for t in knl.temporaries)
    )


def test_a_type_is_not_changed() -> None:
    with pytest.raises(NotTheSame, match="'t' has another type"):
        narrow(PATTERNS["private"].kernel())


def test_scratch_with_several_writers_in_loops_bound_by_data() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<count }"],
        """count = c[i]       {id=c, inames=i, dep=*}
        acc = 0               {id=z, inames=i, dep=*}
        t = a[i,j]            {id=t, inames=i:j, dep=*c}
        acc = acc + t         {id=s, inames=i:j, dep=*z:t}
        out[i] = acc          {id=u, inames=i, dep=*s}""".replace("        ", ""),
        *(scalar("acc"), scalar("t"), pg.TemporaryVariable("count", "int32")),
        *(array("a", "n", "10"), array("c", "n", dtype="int32"), "..."),
    )
    assert pg.tag_inames(knl, {"i": "g.0"}).tags
    with pytest.raises(pg.UserError):
        pg.tag_inames(knl, {"j": "l.0"})


def test_an_iname_may_be_called_like_another_in_a_second_instance() -> None:
    """`i_other` is an iname of its own, not what `i` is called in the other instance."""
    text = "a[i,i_other] = a[i+1,i_other] + 1  {id=s}"
    knl = kernel("{ [i,i_other]: 0<=i,i_other<n }", text)
    with pytest.raises(IllegalStep, match=r"s\[i=0, i_other=0\] reads .* s\[i=1, i_other=0\]"):
        pg.tag_inames(knl, {"i": "g.0"})
    assert pg.tag_inames(knl, {"i_other": "g.0"}).tags
