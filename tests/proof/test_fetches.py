"""Old values depend on the order of updates: that is kept, or claimed not to matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    NotDeterministic,
    NotDifferentiable,
    NotPrivatizable,
    UnorderedAccess,
    UserError,
)

ANY = "{atomic=any_order}"
ADD = "out[i] = fetch_add(h[b[i]], 1) {id=s, CLAIM}"


def kernel(text: str, dtype: str = "int32", **said: Any) -> pg.Kernel:
    data = [pg.GlobalArg("h", dtype, shape=4), pg.GlobalArg("b", np.int32, "n")]
    data.append(pg.GlobalArg("out, x", dtype, "n"))
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."], **said)


STEPS: dict[str, Callable[[pg.Kernel], pg.Kernel]] = {
    "tag": lambda knl: pg.tag_inames(knl, {"i": "g.0"}),
    "reverse": lambda knl: pg.reverse(knl, "i"),
    "shared": lambda knl: pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0"),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("out[i] = fetch_add(h[2], x[i])", IllegalStep),
        ("out[i] = exchange(h[b[i]], i)", CannotProve),
    ],
)
def test_the_order_is_kept_or_claimed(text: str, error: type[UserError], step: str) -> None:
    with pytest.raises(error) as caught:
        STEPS[step](kernel(text))
    remedy = caught.value.remedy
    assert remedy is not None
    assert "if old values may come in any order, claim that: {atomic=any_order} with 'i" in remedy
    claimed = STEPS[step](kernel(f"{text}  {ANY}"))
    assert "any_order" in str(claimed)
    assert pg.parse_kernel(str(claimed)) == claimed


def test_other_elements_need_no_claim() -> None:
    assert pg.parallel_inames(kernel("out[i] = fetch_mul(x[i], 3)"))["i"].parallel
    assert not pg.parallel_inames(kernel("out[i] = fetch_mul(h[0], 3)"))["i"].parallel
    assert pg.parallel_inames(kernel(f"out[i] = fetch_mul(h[0], 3)  {ANY}"))["i"].parallel


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        ("ADD", "x[i] = exchange(h[b[i]], 1) {id=t, CLAIM}", False),
        ("ADD", "h[b[i]] += 2 {id=t, atomic}", False),
        ("out[i] = fetch_sub(h[b[i]], 1) {id=s, CLAIM}", "h[b[i]] += 2 {id=t, atomic}", False),
        ("ADD", "h[b[i]] *= 2 {id=t, atomic}", True),
        ("out[i] = exchange(h[b[i]], 1) {id=s, CLAIM}", "h[b[i]] += 2 {id=t, atomic}", True),
        ("out[i] = fetch_add(h[b[i]], h[b[i]]) {id=s, CLAIM}", "h[b[i]] += 2 {id=t, atomic}", True),
        ("ADD", "x[i] = fetch_add(h[b[i]], 1) {id=t}", True),
        ("ADD", "x[i] = h[0] {id=t, dep=s}", True),
        ("ADD", "h[0] = i {id=t, dep=s}", True),
    ],
)  # fmt: skip
def test_what_comes_in_any_order(first: str, second: str, is_refused: bool) -> None:
    """Two that claim it, and those with one operation; nothing else."""
    lines = f"{first}\n{second}".replace("ADD", ADD).replace("CLAIM", "atomic=any_order")
    if is_refused:
        with pytest.raises((CannotProve, IllegalStep, UnorderedAccess)):
            pg.tag_inames(kernel(lines), {"i": "g.0"})
    else:
        assert pg.tag_inames(kernel(lines), {"i": "g.0"}).history


def test_sums_that_round() -> None:
    """Claimed updates come in any order, whatever their type; with others, that may be seen."""
    lines = "out[i] = fetch_add(h[b[i]], x[i]) {id=s, atomic=any_order}"
    exact = {"allow_reassociation": False}
    alone = pg.set_options(kernel(lines, "float32"), **exact)
    assert pg.tag_inames(alone, {"i": "g.0"}).history
    both = kernel(lines + "\nh[b[i]] += x[i] {id=t, atomic, dep=s}", "float32")
    assert pg.tag_inames(both, {"i": "g.0"}).history
    with pytest.raises(CannotProve):
        pg.tag_inames(pg.set_options(both, **exact), {"i": "g.0"})


def test_unordered_instructions() -> None:
    with pytest.raises(UnorderedAccess, match="leaves open which of two") as caught:
        kernel("out[i] = fetch_add(h[0], 1) {id=s}\nx[i] = fetch_add(h[0], 2) {id=t}")
    assert caught.value.remedy is not None
    assert "claim that: {atomic=any_order} with 's' and 't'" in caught.value.remedy
    mixed = "out[i] = fetch_add(h[0], 1) {id=s}\nx[i] = h[0] {id=t, dep=*}"
    with pytest.raises(UnorderedAccess) as caught:
        kernel(mixed)
    assert caught.value.remedy is not None
    assert "any_order" not in caught.value.remedy


def test_a_list_of_what_was_found() -> None:
    """Places in a list, as they come: that no two write one is a claim of its own."""
    text = """
    for i
        <> place = fetch_add(count[0], 1)  {id=take, if=x[i] > 0, atomic=any_order}
        found[place] = i                   {id=put, if=x[i] > 0, dep=take}
    end
    """
    data = [pg.GlobalArg("count", np.int32, 1), pg.GlobalArg("found", np.int32, "n"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("x", np.float32), *data])
    with pytest.raises(CannotProve) as caught:
        STEPS["shared"](knl)
    assert "assume_independent(knl, 'put', 'put') would do" in (caught.value.remedy or "")
    knl = pg.split_iname(
        pg.assume_independent(knl, "put", "put"), "i", 64, outer_tag="g.0", inner_tag="l.0"
    )
    x = np.random.default_rng(2).standard_normal(3000).astype(np.float32)
    count, places = np.zeros(1, np.int32), np.zeros(3000, np.int32)
    knl.executor("c")(x=x, count=count, found=places)
    (wanted,) = np.nonzero(x > 0)
    np.testing.assert_array_equal(np.sort(places[: count[0]]), wanted)


def test_equivalence() -> None:
    """Of what is left open, one call tells nothing; what is in order is compared as it is."""
    claimed = kernel(f"out[i] = fetch_add(h[b[i]], 1)  {ANY}")
    other = kernel(f"out[i] = fetch_add(h[b[i]], 2)  {ANY}")
    assert pg.equivalent(claimed, claimed.copy(name="other")).answer == "equal"
    found = pg.equivalent(claimed, other)
    assert found.answer == "unknown"
    assert "'insn' returns old values in any order" in str(found)
    assert not found.tried
    fetched = kernel("out[i] = fetch_sub(x[i], b[i])")
    plain = kernel("out[i], x[i] = x[i], x[i] - b[i]")
    assert pg.equivalent(fetched, plain).answer == "equal"
    assert pg.equivalent(fetched, kernel("out[i] = fetch_add(x[i], b[i])")).answer == "different"


def test_determinism() -> None:
    text = f"out[i] = fetch_add(h[b[i]], 1)  {ANY}"
    alone = pg.set_options(kernel(text), deterministic=True)
    assert "h[b[i]]" in pg.generate_code(alone, "cuda").source
    with pytest.raises(NotDeterministic, match="'insn' returns old values in the order in which"):
        pg.generate_code(pg.tag_inames(alone, {"i": "g.0"}), "cuda")
    own = pg.set_options(kernel("out[i] = fetch_add(x[i], 1)"), deterministic=True)
    assert "x[i]" in pg.generate_code(pg.tag_inames(own, {"i": "g.0"}), "cuda").source


def test_steps_that_have_no_old_values() -> None:
    knl = kernel(f"out[i] = fetch_add(h[b[i]], 1)  {ANY}")
    with pytest.raises(NotPrivatizable, match="'insn' returns old values of 'h', which a copy"):
        pg.privatize_atomics(knl, "h", "i")
    reals = kernel("out[i] = fetch_add(h[b[i]], x[i])", "float64")
    for mode in "tangent", "reverse":
        with pytest.raises(NotDifferentiable, match="an atomic update that returns the old value"):
            pg.diff_kernel(reals, "out", "x", mode=mode)
