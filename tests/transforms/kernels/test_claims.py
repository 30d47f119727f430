"""What a user vouches for, one claim and several: how it is kept, and which is asked for."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import CannotProve, ProofLimit, UnknownArgument
from polygen.ir.claims import Independent, Injective
from polygen.proof import without_suggestions
from tests.oracle.cases import kernel
from tests.transforms.kernels.scattered import LINE, PARALLEL, injective, scatter

# --- how they are kept


def test_claims_are_printed_and_read() -> None:
    knl = pg.assume_independent(injective(scatter(), "idx"), "s", "s")
    knl = pg.tag_inames(knl, PARALLEL, unsafe=True)  # type: ignore[call-arg]
    lines = str(knl).splitlines()
    assert lines[lines.index("CLAIMS:") + 1 :][:3] == [
        "assume_injective('idx')",
        "assume_independent('s', 's')",
        "tag_inames(iname_to_tag={'i': 'g.0'}, force=False, ignore_nonexistent=False, unsafe=True)",
    ]
    again = pg.parse_kernel(str(knl))
    assert again == knl
    assert again.claims[:2] == (Injective("idx"), Independent("s", "s"))
    with pytest.raises(UnknownArgument):
        pg.parse_kernel(str(knl).replace("assume_injective('idx')", "assume_injective('jdx')"))


def test_claims_are_steps() -> None:
    knl = pg.assume_independent(injective(scatter(), "idx"), "s", "s")
    assert [step.name for step in knl.history] == ["assume_injective", "assume_independent"]
    assert pg.replay(scatter(), knl.history) == knl
    assert pg.assume_injective(knl, "idx") is knl
    assert pg.assume_independent(knl, "s", "s") is knl


# --- which of them is asked for


ADVICE = [
    ("a[idx[i]] = b[i]  {id=s}", "assume_injective(knl, 'idx')"),
    ("a[idx[jdx[i]]] = b[i]  {id=s}",
     "assume_injective(knl, 'jdx') and assume_injective(knl, 'idx')"),
    ("a[idx[i]] = a[jdx[i]] + b[i]  {id=s}", "assume_independent(knl, 's', 's')"),
    ("a[low[i]] = b[i]  {id=s}\na[high[i]] = c[i]  {id=u, dep=s}",
     "assume_injective(knl, 'low') and assume_injective(knl, 'high') and "
     "assume_independent(knl, 's', 'u')"),
]  # fmt: skip


def test_a_trial_is_refused_as_any_step_but_names_no_claims() -> None:
    text, _ = ADVICE[0]
    knl = scatter(text)
    with pytest.raises(CannotProve) as plain:
        pg.tag_inames(knl, PARALLEL)
    with pytest.raises(CannotProve) as trial, without_suggestions():
        pg.tag_inames(knl, PARALLEL)
    assert trial.value.what == plain.value.what
    assert "would do" in str(plain.value.remedy)
    assert "would do" not in str(trial.value.remedy)


@pytest.mark.parametrize(("text", "claims"), ADVICE)
def test_a_refusal_names_claims_that_suffice(text: str, claims: str) -> None:
    knl = scatter(text)
    with pytest.raises(CannotProve) as caught:
        pg.tag_inames(knl, PARALLEL)
    assert caught.value.remedy == (
        f"say what you know of the data: {claims} would do; or, if you know that this is not so, "
        "tag_inames(..., unsafe=True) takes the step and notes it in the kernel"
    )
    for call in claims.split(" and "):
        knl = eval(f"pg.{call}", {"pg": pg, "knl": knl})  # noqa: S307  (from the table above)
    assert pg.tag_inames(knl, PARALLEL).tags


def test_where_a_loop_is_bound_by_data() -> None:
    domains = [LINE, "{ [j]: 0<=j<c }"]
    out = pg.GlobalArg("out", shape="n")
    knl = kernel(domains, "<> c = count[i] {id=c}\nout[i] = sum(j, out[j]) {id=s}", out, "...")
    with pytest.raises(CannotProve) as caught:
        pg.tag_inames(knl, PARALLEL)
    assert "assume_independent(knl, 's', 's') would do" in str(caught.value.remedy)
    assert pg.tag_inames(pg.assume_independent(knl, "s", "s"), PARALLEL).tags


def test_no_claims_are_looked_for_past_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object) -> None:
        raise ProofLimit("too much")

    with monkeypatch.context() as patch:
        patch.setattr("polygen.proof.sufficient_claims", gives_up)
        with pytest.raises(CannotProve) as caught:
            pg.tag_inames(scatter(), PARALLEL)
    assert str(caught.value.remedy).startswith("if you know that this is not so")
