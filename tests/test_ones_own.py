"""Transformations of the user's own: what they may say that is not so, and what is done then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NameTaken
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.proof import Rearranged
from polygen.transformation import to_tag

KNL = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


def test_errors_of_ones_own_begin_with_the_name_of_the_step() -> None:
    @pg.transformation
    def picky(kernel: pg.Kernel) -> pg.Kernel:
        raise NameTaken(f"'{kernel.name}' is taken", excerpt="line", remedy="take another")

    with pytest.raises(
        NameTaken, match=r"^picky: 'polygen_kernel' is taken\n  . line\n  rem"
    ) as it:
        picky(KNL)
    assert it.traceback[-1].name == "picky"


# What functions of the user's may say that is not so.  Each moves `i` to `k`, but for what it says.


def moved(kernel: Kernel, **more: Any) -> Kernel:
    domains = pg.make_kernel("{ [k]: 0<=k<n }", "out[k] = k").domains
    values: dict[str, ex.Expression] = {"i": ex.Variable("k")}
    instructions = tuple(
        insn.map_expressions(lambda node: walk.substitute(node, values)).copy(
            within_inames=frozenset("k")
        )
        for insn in kernel.instructions
    )
    return kernel.copy(**{"domains": domains, "instructions": instructions, **more})


K = ex.Variable("k")
LIES: list[tuple[str, Callable[[Kernel], Any], str]] = [
    ("nothing said", moved, "step: it leaves out iterations, or has new ones"),
    ("shifted", lambda k: Rearranged(moved(k), {"i": ex.sum_of(K, 1)}), "leaves out iterations"),
    (
        "turned around",
        lambda k: Rearranged(moved(k), {"i": ex.sum_of(ex.Variable("n"), -1, ex.negated(K))}),
        "step: instruction 'insn' would write",
    ),
    ("all at once", lambda k: Rearranged(moved(k), {"i": 0}), "leaves out iterations"),
    ("unknown", lambda k: Rearranged(moved(k), {"i": ex.Variable("z")}), "is no affine function"),
    ("squared", lambda k: Rearranged(moved(k), {"i": ex.product_of(K, K)}), "is no affine"),
    ("no iname", lambda k: Rearranged(moved(k), {"i": K, "z": K}), "'z' is no iname"),
    ("a text", lambda k: Rearranged(moved(k), {"i": "k"}), "of what old inames are"),  # type: ignore[dict-item]
    ("a list", lambda k: Rearranged(moved(k), [("i", K)]), "of what old inames are"),  # type: ignore[arg-type]
    (
        "of which instruction",
        lambda k: Rearranged(moved(k), {"i": K}, {"insm": {"i": K}}),
        "the instruction 'insm', which there is not",
    ),
    (
        "renamed which",
        lambda k: Rearranged(moved(k), {"i": K}, ids={"insm": "insn"}),
        "the instruction 'insm', which there is not",
    ),
    ("ids", lambda k: Rearranged(moved(k), {"i": K}, ids=[("insn", "insn")]), "is no dictionary"),  # type: ignore[arg-type]
    ("no kernel", lambda _: Rearranged("kernel"), "returned 'kernel', which is no kernel"),  # type: ignore[arg-type]
    ("domains", lambda k: k.copy(domains=("{ [i]: 0<=i<n }",)), "whose domains are"),
    ("instructions", lambda k: k.copy(instructions=("a[i] = 1",)), "whose instructions are"),
    ("in a list", lambda k: k.copy(instructions=list(k.instructions)), "whose instructions are"),
    ("tags", lambda k: k.copy(tags={"i": "g.0"}), "tag_inames makes of texts"),
    ("tags of", lambda k: k.copy(tags={"z": to_tag("g.0")}), "tags are about 'z', which is no"),
    ("priorities", lambda k: k.copy(priorities=(("i", "z"),)), "priorities are about 'z'"),
    ("target", lambda k: k.copy(target="metal"), "whose target are 'metal'"),
    (
        "expression",
        lambda k: k.copy(instructions=(k.instructions[0].copy(expression="a[i]"),)),
        "in whose instruction 'insn' is 'a",
    ),
]


@pytest.mark.parametrize(("name", "lie", "text"), LIES, ids=[name for name, *_ in LIES])
def test_lies(name: str, lie: Callable[[Kernel], Any], text: str) -> None:
    def step(kernel: Kernel) -> Any:
        return lie(kernel)

    with pytest.raises(pg.UserError, match=text) as caught:
        pg.transformation(step)(KNL)
    assert "step" in caught.value.what, name
    assert "test_ones_own.py:" in str(caught.value)


def test_what_is_so() -> None:
    def step(kernel: Kernel) -> Rearranged:
        return Rearranged(moved(kernel), {"i": K})

    _, (out,) = pg.transformation(step)(KNL)(a=np.arange(5.0))
    np.testing.assert_array_equal(out, 2 * np.arange(5.0))


def test_what_was_vouched_for_stays_noted() -> None:
    def forgetful(kernel: Kernel) -> Kernel:
        return kernel.copy(claims=())

    step: Any = pg.split_iname
    vouched = step(KNL, "i", 4, unsafe=True)
    for made in (pg.transformation(forgetful), pg.transformation(declared=True)(forgetful)):
        with pytest.raises(
            pg.errors.MalformedKernel, match=r"forgetful .* the claim split_iname\("
        ):
            made(vouched)
    data = [pg.GlobalArg("ind", "int32", "n"), pg.GlobalArg("out", None, "m"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[ind[i]] = 2*a[i]", data)
    knl = pg.assume_injective(knl, "ind")
    with pytest.raises(pg.errors.MalformedKernel, match="claim assume_injective"):
        pg.transformation(forgetful)(knl)
    renamed = pg.transformation(
        lambda k: pg.rename_argument(k, "ind", "to")
    )  # its claim goes along
    with pytest.raises(pg.errors.NotTheSame, match="it has other arguments"):
        pg.transformation(renamed)(knl)


NO_STEPS: list[tuple[Callable[..., Any], str]] = [
    (lambda: None, "<lambda> takes no kernel"),
    (lambda *, kernel: kernel, "<lambda> takes no kernel"),
    (lambda kernel, unsafe: (kernel, unsafe), "has an argument 'unsafe', as every"),
    (lambda *kernels: kernels, "<lambda> takes arguments that have no names"),
]


@pytest.mark.parametrize(
    ("function", "text"), NO_STEPS, ids=["none", "by name", "unsafe", "no names"]
)
def test_what_can_be_no_transformation(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text) as caught:
        pg.transformation(function)
    assert "test_ones_own.py:" in str(caught.value)


def test_annotations_that_mean_nothing() -> None:
    def odd(kernel: Kernel, other: NoSuchType) -> Kernel:  # type: ignore[name-defined]  # noqa: F821
        raise AssertionError(kernel, other)

    with pytest.raises(InvalidArgument, match="annotations that mean nothing: name 'NoSuchType'"):
        pg.transformation(odd)(KNL, 3)


MANY = {"a": 1}


def test_arguments_without_annotations_are_anything() -> None:
    def split(kernel: Kernel, sizes: Any, other: Any = None, named: Any = MANY) -> Kernel:
        return pg.split_iname(kernel, "i", sizes[0] + len(named), outer_tag=other and "g.0")

    split.__annotations__.clear()
    step: Any = pg.transformation(split)
    sizes = [3, {"x": [4]}]
    knl = step(KNL, sizes, pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = i", name="other"))
    sizes[0] = 100  # the history has what was passed
    assert pg.replay(KNL, knl.history) == knl
    shown = "split(sizes=[3, {'x': [4]}], other=<kernel 'other'>, named={'a': 1})"
    assert str(knl.history[0]) == shown
