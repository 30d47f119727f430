"""What a user vouches for: what it allows, where it is wrong, how it is kept."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    ClaimContradicted,
    InvalidArgument,
    MalformedKernel,
    ProofLimit,
    UnknownArgument,
    UnknownInstruction,
)
from polygen.ir.claims import Independent, Injective
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

LINE = "{ [i]: 0<=i<n }"
PLANE = "{ [i,j]: 0<=i,j<n }"
PARALLEL = {"i": "g.0"}


def scatter(text: str = "a[idx[i]] = b[i]  {id=s}", domain: str = LINE, *data: object) -> Kernel:
    shape = "m, n" if ",j]" in text.partition("=")[0] else "m"
    idx = [pg.GlobalArg("idx", "int32", "k")] if "idx[jdx" in text else []
    return kernel(domain, text, pg.GlobalArg("a", shape=shape), *idx, *data, "...")


def injective(knl: Kernel, *names: str) -> Kernel:
    for name in names:
        knl = pg.assume_injective(knl, name)
    return knl


# --- what they allow

UNLOCKED = [
    ("a[idx[i]] = b[i]", LINE, ("idx",)),
    ("a[idx[i]] = a[idx[i]] + b[i]", LINE, ("idx",)),
    ("a[2*idx[i]] = a[2*idx[i]+1] + b[i]", LINE, ("idx",)),  # even, and odd
    ("a[idx[n-1-i]] = b[i]", LINE, ("idx",)),
    ("a[idx[2*i+1]] = b[i]", LINE, ("idx",)),
    ("a[idx[jdx[i]]] = b[i]", LINE, ("idx", "jdx")),
    ("a[idx[i,3]] = b[i]", LINE, ("idx",)),
    ("a[idx[i],j] = a[idx[i],j] + b[i,j]", PLANE, ("idx",)),
    ("a[idx[i],j] = a[idx[i],n-1-j] + b[i,j]", PLANE, ("idx",)),
]


@pytest.mark.parametrize(("text", "domain", "names"), UNLOCKED)
def test_distinct_subscripts(text: str, domain: str, names: tuple[str, ...]) -> None:
    knl = scatter(text, domain)
    if "n-1-j" in text:
        knl = pg.prioritize_loops(knl, "i, j")
    for count in range(len(names)):
        with pytest.raises(CannotProve):
            pg.tag_inames(injective(knl, *names[:count]), PARALLEL)
    knl = injective(knl, *names)
    assert pg.tag_inames(knl, PARALLEL).claims == tuple(map(Injective, names))
    split = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    assert split.claims == knl.claims


LOCKED = [
    ("a[idx[i//2]] = b[i]", LINE),
    ("a[idx[i]//2] = b[i]", LINE),
    ("a[idx[i]] = a[idx[i]+1] + b[i]", LINE),
    ("a[idx[i]] = a[jdx[i]] + b[i]", LINE),
    ("a[idx[i]] = a[idx[i]//2] + b[i]", LINE),
    ("a[idx[j]] = b[i,j]", PLANE),
    ("a[idx[i]*idx[i]] = b[i]", LINE),
    ("a[idx[i]+jdx[i]] = b[i]", LINE),
]


@pytest.mark.parametrize(("text", "domain"), LOCKED)
def test_what_is_not_implied(text: str, domain: str) -> None:
    knl = scatter(text, domain)
    knl = injective(knl, *(name for name in ("idx", "jdx") if name in text))
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)


def test_an_array_that_may_overlap_what_is_written_is_no_table() -> None:
    idx = pg.GlobalArg("idx", "int32", "n", may_alias=True)
    knl = injective(
        kernel(LINE, "a[idx[i]] = b[i]", pg.GlobalArg("a", shape="m"), idx, "..."), "idx"
    )
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)


def test_independent_instances() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s, if=c[i] > 0}")
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)
    knl = pg.assume_independent(knl, "s", "s")
    assert pg.tag_inames(knl, PARALLEL).claims == (Independent("s", "s"),)


def test_independent_instructions() -> None:
    knl = scatter("a[low[i]] = b[i]  {id=s}\na[high[i]] = c[i]  {id=u, dep=s}")
    knl = injective(knl, "low", "high")
    with pytest.raises(CannotProve):
        pg.tag_inames(knl, PARALLEL)
    assert pg.tag_inames(pg.assume_independent(knl, "u", "s"), PARALLEL).tags


def test_arrays_that_do_not_overlap() -> None:
    a = pg.GlobalArg("a", "float64", "n", may_alias=True)
    knl = kernel(LINE, "a[i] = b[i]  {id=s}", a, pg.GlobalArg("b", shape="n"), "...")
    assert pg.tag_inames(pg.assume_independent(knl, "s", "s"), PARALLEL).tags


# --- what they may not say


def test_claims_that_the_kernel_contradicts() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1  {id=s}\nb[i] = a[i]  {id=u}")
    with pytest.raises(ClaimContradicted) as caught:
        pg.assume_independent(knl, "s", "s")
    assert caught.value.what == (
        "'s' and 's' are not independent: for n=3, s[i=2] reads the element of 'a' that s[i=1] "
        "writes"
    )
    with pytest.raises(
        ClaimContradicted, match=r"s\[i=1\] writes the element of 'a' that u\[i=1\]"
    ):
        pg.assume_independent(knl, "s", "u")


def test_claims_about_nothing() -> None:
    knl = scatter()
    with pytest.raises(UnknownArgument, match="did you mean 'idx'"):
        pg.assume_injective(knl, "idxx")
    with pytest.raises(
        MalformedKernel, match=r"'a' cannot .* injective: instruction 's' writes it"
    ):
        pg.assume_injective(knl, "a")
    with pytest.raises(MalformedKernel, match=r"'n' cannot .* injective: it is no array argument"):
        pg.assume_injective(knl, "n")
    with pytest.raises(UnknownInstruction):
        pg.assume_independent(knl, "s", "t")
    with pytest.raises(InvalidArgument):
        pg.assume_injective(knl, 3)  # type: ignore[arg-type]


def test_a_look_at_a_claim_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = kernel("{ [i]: 1<=i<n }", "a[i//2] = a[i-1] + 1  {id=s}")
    monkeypatch.setattr("polygen.analysis.integers.proving.MOST_OPERATIONS", 10)
    with pytest.raises(ProofLimit, match="are independent could not be seen within the limit"):
        pg.assume_independent(knl, "s", "s")


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
