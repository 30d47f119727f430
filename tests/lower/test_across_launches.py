"""Values that are needed after the end of a launch: stored, computed again, or refused."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import PrivateAcrossLaunches
from polygen.ir.kernel import Kernel
from polygen.lower.across_launches import Keeper
from polygen.lower.program import HostLoop, HostNode
from polygen.proof import is_proved
from tests.oracle.cases import Step, agree_in_arrays, grid, kernel, lowered, same, split, steps, tag

AUTO, PRIVATE, GLOBAL = pg.AddressSpace.AUTO, pg.AddressSpace.PRIVATE, pg.AddressSpace.GLOBAL
LOOPS = {"t": "{ [t]: 0<=t<T }", **{i: f"{{ [{i}]: 0<={i}<n }}" for i in "ijkmp"}}
SIZES = [{"T": t, "n": n} for t, n in ((0, 3), (2, 0), (1, 1), (2, 5))]
SOME = SIZES[2:]


def auto(*names: str, dtype: Any = "float64") -> list[pg.TemporaryVariable]:
    return [pg.TemporaryVariable(name, dtype, (), AUTO) for name in names]


def arrays(*names: str, dtype: Any = "float64") -> list[pg.GlobalArg]:
    return [pg.GlobalArg(name, dtype, "n") for name in names]


def sequence(loops: str, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose instructions come as they are written."""
    return kernel([LOOPS[i] for i in loops], text, *data, seq_dependencies=True, **options)


def in_steps(loops: str, text: str, *data: Any) -> Kernel:
    """Return a kernel whose instructions say their order, in a loop over `t` outside of others."""
    outside = [f"t, {i}" for i in loops]
    return kernel([LOOPS[i] for i in "t" + loops], text, *data, loop_priority=outside)


def nest(knl: Kernel) -> Any:
    """Return the launches of a kernel, those in a loop on the host in a list of their own."""

    def inside(nodes: Sequence[HostNode]) -> list[Any]:
        return [inside(n.body) if isinstance(n, HostLoop) else "launch" for n in nodes]

    return inside(lowered(knl).host)


def stored(knl: Kernel) -> dict[str, tuple[Any, ...]]:
    """Return what a kernel has in global memory beside its arguments."""
    return {t.name: t.shape for t in lowered(knl).global_temporaries}


# --- scalars and sums in steps of time

SUM = """
for t
    s = sum(j, x[j])
    for i
        x[i] = x[i] - s
    end
end
"""


@pytest.mark.parametrize(
    "mapping",
    [tag(i="g.0"), grid("i", 2), steps(grid("i", 2), split("j", 2, inner_tag="l.0"))],
    ids=["groups", "work items", "a tree"],
)
def test_a_sum_that_all_need_takes_two_launches_a_step(mapping: Step) -> None:
    knl = sequence("tij", SUM, *auto("s"), *arrays("x"))
    mapped = mapping(knl)
    assert nest(mapped) == [["launch", "launch"]]
    assert stored(mapped) == {"s": ()}
    assert pg.address_spaces(mapped) == {"s": GLOBAL}
    agree_in_arrays(knl, SIZES, mapping)


def test_zero_steps_and_no_elements() -> None:
    knl = tag(i="g.0")(sequence("tij", SUM, *auto("s"), *arrays("x")))
    for target in ("c", "opencl"):
        for steps_, n in ((0, 3), (2, 0), (3, 7)):
            x = np.arange(1.0, n + 1)
            expected = x.copy()
            for _ in range(steps_):
                expected -= expected.sum()
            knl.executor(target)(x=x, T=steps_, n=n)
            np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    ("text", "names", "steps_of_it"),
    [
        ("a = sum(j, x[j])\nb = a + 1\nfor i\nx[i] = x[i] - b\nend", "ab", 2),
        ("a = sum(j, x[j])\nb = max(j, x[j])\nfor i\nx[i] = x[i] - a*b\nend", "ab", 2),
        ("a = min(j, x[j])\nfor i\nx[i] = x[i] - a\nend\nfor k\ny[k] = x[n-1-k] + a\nend", "a", 3),
        (
            "a = sum(j, x[j])\nfor i\nx[i] = x[i] - a\nend\n"
            "b = sum(m, x[m])\nfor k\nx[k] = x[k] + a - 2*b\nend",
            "ab",
            4,
        ),
        ("a = sum(j, x[j])\nif a > 3\nfor i\nx[i] = x[i] - a\nend\nend", "a", 2),
        ("a = sum(j, x[j])\nfor i\nx[i] = if(a > 3, x[i] - a, y[i])\nend", "a", 2),
        ("a = max(j, x[j])\nb = sum(m, x[m] - a)\nfor i\nx[i] = x[i] - b + a\nend", "ab", 2),
        ("a = 0.0\na = a + sum(j, x[j])\nfor i\nx[i] = x[i] - a\nend", "a", 2),
    ],
    ids=[
        "a chain",
        "two sums",
        "two launches",
        "two sums in turn",
        "by data",
        "a choice",
        "a sum of another",
        "twice",
    ],
)
def test_scalars_of_several_launches(text: str, names: str, steps_of_it: int) -> None:
    loops = "t" + "".join(i for i in "ijkm" if f"for {i}" in text or f"({i}," in text)
    knl = sequence(loops, f"for t\n{text}\nend", *auto(*names), *arrays("x", "y"))
    mapping = tag(**{i: "g.0" for i in "ik" if i in loops})
    (inner,) = nest(mapping(knl))
    assert len(inner) == steps_of_it
    agree_in_arrays(knl, SOME if "m" in text else SIZES, mapping)


ACCUMULATED: dict[str, tuple[str, str, str]] = {  # what is before the steps, and in each one
    "product": ("", "a = product(j, x[j])", "x[i] = x[i] - a"),
    "all of it": ("", "a = if(all(j, x[j] > 0), 1, 2)", "x[i] = x[i] - a"),
    "of one's own": ("", "a = across_launches(j, x[j])", "x[i] = x[i] - a"),
    "one in another": ("", "a = max(j, sum(m, x[m]*j))", "x[i] = x[i] - a"),
    "on both sides": ("", "a = sum(j, x[j])", "x[i] = if(a > 3, x[i] - a, x[i]*2)"),
    "in some steps": ("a = 1", "a = sum(j, x[j])  {if=t % 2 == 0}", "x[i] = x[i] - a"),
    "kept for the next": ("b = 0", "b = b + sum(j, x[j])\na = b", "x[i] = x[i] - a"),
}


@pytest.mark.parametrize("name", ACCUMULATED)
def test_accumulators_of_all_kinds(name: str) -> None:
    pg.register_reduction("across_launches", "a/2 + b", 0)  # its order counts
    before, text, use = ACCUMULATED[name]
    loops = "tij" + "m" * ("(m," in text)
    text = f"{before}\nfor t\n{text}\nfor i\n{use}\nend\nend"
    knl = sequence(loops, text, *auto("a", "b")[: 1 + ("b" in before)], *arrays("x"))
    mapping = tag(i="g.0")
    *_, steps_of_it = nest(mapping(knl))
    assert steps_of_it == ["launch", "launch"]
    agree_in_arrays(knl, SOME, mapping)


def test_two_results_of_one_reduction() -> None:
    text = "for t\nv, p = argmax(j, x[j], j)\nfor i\nx[i] = x[i] - v + if(i == p, 7, 0)\nend\nend"
    knl = sequence("tij", text, *auto("v"), *auto("p", dtype="int32"), *arrays("x"))
    mapped = tag(i="g.0")(knl)
    assert nest(mapped) == [["launch", "launch"]]
    assert stored(mapped) == {"v": (), "p": ()}
    agree_in_arrays(knl, SOME, tag(i="g.0"))


@pytest.mark.parametrize("dtype", ["complex64", "float16", "int8"])
def test_types_of_what_is_stored(dtype: str) -> None:
    knl = sequence("tij", SUM, *auto("s", dtype=dtype), *arrays("x", dtype=dtype))
    run = tag(i="g.0")(knl).executor("c")
    x = (np.arange(5) % 3 - 2).astype(dtype)
    expected = x.copy()
    for _ in range(2):
        total = expected.dtype.type(0)
        for value in expected:
            total = np.add(total, value, dtype=dtype)
        expected = expected - total
    run(x=x, T=2, n=5)
    np.testing.assert_array_equal(x, expected)


def test_nested_steps_of_time() -> None:
    text = """
        for p
            s = 0
            for t
                s = sum(j, x[j])
                for i
                    x[i] = x[i] - s
                end
            end
            for k
                x[k] = x[k] + s
            end
        end
        """
    knl = sequence("ptijk", text, *auto("s"), *arrays("x"))
    mapping = tag(i="g.0", k="g.0")
    assert nest(mapping(knl)) == [["launch", ["launch", "launch"], "launch"]]
    agree_in_arrays(knl, [{"T": 2, "n": 3}, {"T": 0, "n": 2}], mapping)


def test_an_array_that_is_declared_auto() -> None:
    text = (
        "for t\nfor p\nh[p] = sum(j, x[j]*(p + 1))\nend\nfor i\nx[i] = x[i] - h[0] + h[2]\nend\nend"
    )
    domains = [LOOPS["t"], LOOPS["i"], LOOPS["j"], "{ [p]: 0<=p<3 }"]
    h = pg.TemporaryVariable("h", "float64", (3,), AUTO)
    knl = kernel(domains, text, h, *arrays("x"), seq_dependencies=True)
    assert nest(tag(i="g.0")(knl)) == [["launch", "launch"]]
    agree_in_arrays(knl, SIZES, tag(i="g.0"))


def test_a_scalar_that_bounds_a_loop() -> None:
    text = "for t\nc = sum(j, if(x[j] > 1, 1, 0))\nfor i\nx[i] = x[i] - sum(k, y[k])\nend\nend"
    domains = [LOOPS["t"], LOOPS["i"], LOOPS["j"], "{ [k]: 0<=k<c }"]
    data = (*auto("c", dtype="int32"), *arrays("x", "y"))
    knl = kernel(domains, text, *data, seq_dependencies=True)
    with pg.without_proofs():  # that c is at most n, nobody knows
        assert nest(tag(i="g.0")(knl)) == [["launch", "launch"]]
        agree_in_arrays(knl, SIZES, tag(i="g.0"))


# --- what differs between work items

TWICE = """
v = 2*x[i]          {id=v, inames=t:i, dep=*}
b[i] = v + t        {id=b, inames=t:i, dep=*v}
x[i] = b[i//2] + v  {id=x, inames=t:i, dep=*b:v}
"""


@pytest.mark.parametrize(
    ("mapping", "shape"),
    [
        (tag(i="g.0"), 1),
        (grid("i", 2), 2),
        (split("i", 2, outer_tag="g.0", inner_tag="ilp"), 2),
        (split("i", 2, outer_tag="g.0", inner_tag="vec"), 2),
    ],
    ids=["groups", "work items", "lanes", "vectors"],
)
def test_each_work_item_has_an_element(mapping: Step, shape: int) -> None:
    knl = in_steps("i", TWICE, *auto("v"), *arrays("b", "x"))
    mapped = mapping(knl)
    assert nest(mapped) == [["launch", "launch"]]
    assert len(stored(mapped)["v"]) == shape
    agree_in_arrays(knl, SIZES, mapping)


def test_sums_that_differ_between_work_items() -> None:
    text = """
        s = sum(j, x[j]*(i + 1))  {id=s, inames=t:i, dep=*}
        b[i] = s + t              {id=b, inames=t:i, dep=*s}
        y[i] = b[i//2] + s        {id=y, inames=t:i, dep=*b:s}
        """
    knl = in_steps("ij", text, *auto("s"), *arrays("b", "x", "y"))
    assert [len(shape) for shape in stored(tag(i="g.0")(knl)).values()] == [1]
    agree_in_arrays(knl, SIZES, tag(i="g.0"))


# --- what conditions ask for

ASKED = """
v = {value} > 1          {{id=v, inames=t:i, dep=*}}
b[i] = b[i] + t          {{id=b, inames=t:i, dep=*v, if=v}}
y[i] = y[i] + b[i//2]    {{id=y, inames=t:i, dep=*b:v, if=v}}
"""


@pytest.mark.parametrize("declared", [AUTO, PRIVATE])
def test_conditions_are_asked_again_in_each_launch(declared: pg.AddressSpace) -> None:
    v = pg.TemporaryVariable("v", address_space=declared)
    knl = in_steps("i", ASKED.format(value="x[i]"), v, *arrays("b", "x", "y"))
    mapped = tag(i="g.0")(knl)
    assert nest(mapped) == [["launch", "launch"]]
    assert stored(mapped) == {}
    assert pg.address_spaces(mapped) == {"v": PRIVATE}
    assert pg.save_and_reload_temporaries(mapped) is mapped or declared is PRIVATE
    agree_in_arrays(knl, SIZES, tag(i="g.0"))


def test_conditions_about_what_changes_are_stored() -> None:
    v = pg.TemporaryVariable("v", address_space=AUTO)
    knl = in_steps("i", ASKED.format(value="b[i]"), v, *arrays("b", "y"))
    assert [len(shape) for shape in stored(tag(i="g.0")(knl)).values()] == [1]
    agree_in_arrays(knl, SIZES, tag(i="g.0"))


def test_conditions_that_ask_for_a_stored_sum() -> None:
    text = """
        for t
            s = sum(j, x[j])
            big = s > 3
            if big
                for i
                    x[i] = x[i] - s
                end
                for k
                    y[k] = x[n-1-k]
                end
            end
        end
        """
    big = pg.TemporaryVariable("big", address_space=AUTO)
    knl = sequence("tijk", text, *auto("s"), big, *arrays("x", "y"))
    mapping = tag(i="g.0", k="g.0")
    assert stored(mapping(knl)) == {"s": ()}
    agree_in_arrays(knl, SIZES, mapping)


# --- what nobody declared


def test_the_result_of_a_sum_in_place() -> None:
    """Everyone reads what the sum is stored in: it is in memory of its own first."""
    text = "for t\nfor i\nx[i] = 2*x[i]\nend\nx[0] = x[0] + sum(j, x[j])\nend"
    knl = sequence("tij", text, *arrays("x"), assumptions="n >= 1")
    mapped = tag(i="g.0")(knl)
    assert nest(mapped) == [["launch", "launch", "launch"]]
    assert list(stored(mapped).values()) == [()]
    agree_in_arrays(knl, SOME, tag(i="g.0"))


def test_a_sum_in_a_private_scalar() -> None:
    knl = sequence("tij", SUM.replace("s =", "<> s ="), *arrays("x"))
    mapped = tag(i="g.0")(knl)
    assert nest(mapped) == [["launch", "launch"]]
    assert pg.address_spaces(mapped) == {"s": PRIVATE}
    agree_in_arrays(knl, SIZES, tag(i="g.0"))


def test_a_sum_over_steps_that_the_host_takes() -> None:
    """The kernel's own nest says so: everyone waits between two of its updates."""
    text = """
        b[i] = x[i//2] + t           {id=b, inames=t:i, dep=*}
        x[k] = b[n-1-k] + 1          {id=x, inames=t:k, dep=*b}
        w[0] = sum(t, x[0]*(t + 1))  {id=w, inames=, dep=*x}
        """
    w = pg.GlobalArg("w", "float64", (1,))
    knl = kernel(
        [LOOPS[i] for i in "tik"],
        text,
        *arrays("b", "x"),
        w,
        loop_priority=["t, i", "t, k"],
        assumptions="n >= 1",
    )
    mapping = tag(i="g.0", k="g.0")
    assert nest(mapping(knl)) == ["launch", ["launch", "launch"], "launch"]
    agree_in_arrays(knl, [{"T": 0, "n": 2}, *SOME], mapping)


# --- on threads


def test_threads_of_c_wait_for_each_other() -> None:
    knl = tag(i="g.0")(sequence("tij", SUM, *auto("s"), *arrays("x")))
    x = np.arange(5000) % 3 - 1.0
    expected = x.copy()
    for _ in range(3):
        expected -= expected.sum()
    code = str(pg.generate_code(knl, "c"))
    assert "#pragma omp" in code
    knl.executor("c")(x=x, T=3)
    np.testing.assert_array_equal(x, expected)


# --- refused


def test_private_temporaries_are_refused_where_they_are_lost() -> None:
    knl = in_steps("i", TWICE.replace("v = 2", "<> v = 2"), *arrays("b", "x"))
    with pytest.raises(PrivateAcrossLaunches, match="'v' is private, but its value is") as caught:
        lowered(tag(i="g.0")(knl))
    assert caught.value.remedy is not None
    assert "set_temporary_address_space(kernel, 'v', 'auto')" in caught.value.remedy
    made = pg.set_temporary_address_space(tag(i="g.0")(knl), "v", "auto")
    agree_in_arrays(made, SIZES, same)


def test_accumulators_of_several_conditions_are_refused_by_name() -> None:
    """What is lost there are accumulators in the place of others, which no variable stands for."""
    all_of = "all(r, if(r != 1, a[x, i], 0))"
    knl = kernel(
        ["{ [x,i]: 0<=x<m and 0<=i<n }", "{ [r]: 0<=r<3 }"],
        f"""
        a[x, i] = x + i                               {{id=a}}
        b[x, i] = product(r, if(r != 1, a[x, i], 0))  {{dep=a, priority=3, if={all_of}}}
        b[x, i] = a[x, i + 2]                         {{dep=a, if=not {all_of}, if=u[x] > 0}}
        b[x, i] = 3             {{dep=a, priority=3, if=not {all_of}, if=not u[x] > 0}}
        """,
        pg.GlobalArg("a, b", "int32", "m, n + 2"),
        pg.GlobalArg("u", "int32", "m"),
        loop_priority="x, i",
    )
    with pg.without_proofs(), pytest.raises(PrivateAcrossLaunches, match="'acc_r_1' is private"):
        lowered(tag(i="g.1")(knl))


def test_a_private_condition_about_what_changes_is_refused() -> None:
    text = ASKED.format(value="b[i]").replace("v = b", "<> v = b")
    knl = in_steps("i", text, *arrays("b", "y"))
    with pytest.raises(PrivateAcrossLaunches, match="'v' is private"):
        lowered(tag(i="g.0")(knl))


# --- by the prover of steps, and in counts


@pytest.mark.parametrize(
    "knl",
    [
        sequence("tij", SUM, *auto("s"), *arrays("x")),
        sequence("tij", SUM.replace("s =", "<float64> s ="), *arrays("x")),
        sequence("tij", SUM.replace("s =", "r = max(j, x[j])\ns ="), *auto("r", "s"), *arrays("x")),
        in_steps("i", TWICE, *auto("v"), *arrays("b", "x")),
    ],
    ids=["for all", "a result", "saved", "for each"],
)
def test_the_prover_of_steps_agrees(knl: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows nothing of launches, and looks at each kernel that is taken."""
    found: list[bool] = []
    before = vars(Keeper)["take"]

    def take(self: Keeper, attempt: Any) -> None:
        found.append(is_proved(self.kernel, attempt.kernel))
        before(self, attempt)

    monkeypatch.setattr(Keeper, "take", take)
    assert stored(tag(i="g.0")(knl))
    assert found
    assert all(found)


def test_counts_look_at_what_is_stored() -> None:
    knl = tag(i="g.0")(sequence("tij", SUM, *auto("s"), *arrays("x")))
    sizes = {"T": 3, "n": 5}
    moved = pg.get_mem_access_map(knl).group_by("variable")
    assert {k.variable: n.at(sizes) for k, n in moved.items()} == {"x": 3 * 3 * 5, "s": 3 * (1 + 5)}
    waits = pg.get_synchronization_map(knl)
    assert [n.at(sizes) for n in waits.values()] == [2 * 3]


# --- at random


def _random_steps(shuffler: random.Random) -> tuple[Kernel, Step]:
    """Return steps of time over scalars, declared auto, and arrays; and who executes what."""
    scalars, lines = ["a", "b", "c"], ["a = 1", "b = 2", "c = 3", "for t"]
    left = list("ikmp")
    for _ in range(shuffler.randint(3, 5)):
        one, other = shuffler.choice(scalars), shuffler.choice(scalars)
        array = shuffler.choice("xy")
        kind = shuffler.randint(0, 3)
        if kind == 0:
            operation = shuffler.choice(("sum", "max"))
            lines.append(f"{one} = {operation}(j, {array}[j])")
        elif kind == 1:
            lines.append(f"{one} = {other} - {shuffler.choice(scalars)}/2")
        elif left:
            iname = left.pop()
            index = shuffler.choice((iname, f"n-1-{iname}"))
            source = "xy"[array == "x"] if index != iname else shuffler.choice("xy")
            value = f"{source}[{index}]/2 + {one}"
            lines.append(f"if {other} > 0" if kind == 3 else "if n > 0")
            lines += [f"for {iname}", f"{array}[{iname}] = {value}", "end", "end"]
    lines += ["end", "for q", "out[q] = a + b + c + x[q]", "end"]
    used = [i for i in "ikmp" if i not in left]
    domains = [LOOPS[i] for i in ["t", "j", *used]] + ["{ [q]: 0<=q<n }"]
    data = (*auto(*scalars), *arrays("x", "y", "out"))
    knl = kernel(domains, "\n".join(lines), *data, seq_dependencies=True, assumptions="n >= 1")
    mapping = shuffler.choice((tag(q="g.0", **dict.fromkeys(used, "g.0")), tag(q="g.0")))
    if used and shuffler.random() < 0.3:
        mapping = steps(*(grid(i, 2) for i in [*used, "q"]))
    return knl, mapping


def _agree_at_random(seeds: range) -> None:
    in_several = 0
    for seed in seeds:
        knl, mapping = _random_steps(random.Random(seed))
        in_several += len(stored(mapping(knl))) > 0
        agree_in_arrays(knl, [{"T": 2, "n": 3}], mapping)
    assert in_several >= len(seeds) // 4


def test_at_random() -> None:
    _agree_at_random(range(4))


@pytest.mark.more
def test_more_at_random() -> None:
    _agree_at_random(range(4, 100))
