"""What a `Builder` refuses, and what errors say of the program that its calls come from."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pymbolic
import pytest

import polygen as pg
from polygen import errors


def var(name: str) -> Any:
    """Return pymbolic's variable, on which operators take handles."""
    return pymbolic.var(name)


MODEL = """\
def smooth(x, half):
\tfor new in range(1, n):
        half = x[new] / 2
        x[new] = half + x[
            new - 1]
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    """Return the name of a file with a program."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


def _smooth(model: str, first: int = 1) -> pg.Builder:
    builder = pg.Builder(location=(model, 1))
    size = builder.size("n")
    x = builder.array("x", "float64", (size,))
    half = builder.temporary("half", location=(model, 3, 8, 12))
    with builder.loop("new", first, size, location=(model, 2, 1, 24)) as new:
        builder.assign(half, x[new] / 2, location=(model, 3, 8, 25))
        builder.assign(x[new], half + x[new - 1], location=(model, 4, 8, None))
    return builder


def _lines(error: BaseException) -> list[str]:
    return str(error).splitlines()


# --- places


def test_errors_show_the_line_of_the_program_with_carets(model: str) -> None:
    with pytest.raises(errors.IllFormedKernel) as info:
        _smooth(model, first=0).kernel(seq_dependencies=True)
    shown = _lines(info.value)
    assert "insn_0[new=0] reads x[-1], which is outside of 'x'" in shown[0]
    assert shown[1:4] == [
        f"  at {model}:4:9",
        "  | x[new] = half + x[",  # the statement ends in another line: all of this one is meant
        "  | ^^^^^^^^^^^^^^^^^^",
    ]
    assert shown[-1] == "  names: 'new' is new_, 'half' is half_ in the kernel"


def test_errors_of_calls_show_the_line_too(model: str) -> None:
    builder = pg.Builder()
    with pytest.raises(errors.NonAffineDomain) as info:
        builder.loop("i", 1, var("n") ** 2, location=(model, 2, 12, 23))
    assert _lines(info.value)[1:4] == [
        f"  at {model}:2:13",
        "  | for new in range(1, n):",
        "  |            ^^^^^^^^^^^",
    ]


def test_a_refused_step_shows_the_step_and_the_program(model: str) -> None:
    knl = _smooth(model).kernel(seq_dependencies=True)
    with pytest.raises(errors.IllegalStep) as info:
        pg.tag_inames(knl, {"new_": "g.0"})
    shown = _lines(info.value)
    assert "insn_0[new=1] writes the element of 'x' that insn_0[new=2] reads" in shown[0]
    assert shown[1].startswith(f"  at {__file__}:")
    assert shown[1].endswith(f" and {model}:4:9")
    assert shown[2] == "  | x[new] = half + x["


def test_a_place_without_columns_shows_its_line(model: str) -> None:
    with pytest.raises(errors.NonAffineDomain) as info:
        pg.Builder(location=(model, 3)).loop("i", 0, var("n") ** 2)
    shown = _lines(info.value)
    assert shown[1:3] == [f"  at {model}:3", "  | half = x[new] / 2"]
    assert "^" not in str(info.value)


def test_calls_without_places_show_their_own_lines() -> None:
    builder = pg.Builder()
    x = builder.array("x", "float64", (4,))
    with builder.loop("i", 0, 4) as i:
        x[i] = x[i + 1]  # which is outside
    with pytest.raises(errors.IllFormedKernel) as info:
        builder.kernel()
    assert _lines(info.value)[2] == "  | x[i] = x[i + 1]  # which is outside"


def test_what_cannot_be_read_is_not_shown(model: str) -> None:
    for place in ((f"{model}.gone", 3, 8, 12), (model, 99, 8, 12), ("model.py", 1, 0, 3)):
        with pytest.raises(errors.NonAffineDomain) as info:
            pg.Builder().loop("i", 0, var("n") ** 2, location=place)
        assert _lines(info.value)[1] == f"  at {place[0]}:{place[1]}:{place[2] + 1}"
        assert not _lines(info.value)[2].startswith("  | half")
        assert "def smooth" not in str(info.value)


def test_instructions_that_wait_for_each_other_show_all_their_places(model: str) -> None:
    with pytest.raises(errors.DependencyCycle) as info:
        _smooth(model).kernel()
    places = _lines(info.value)[1].removeprefix("  at ").split(" and ")
    assert sorted(places) == [f"{model}:3:9", f"{model}:4:9"]


def test_data_that_breaks_an_obligation_shows_the_access(model: str) -> None:
    builder = pg.Builder()
    x, place = builder.array("half", "float64", (4,)), builder.array("place", "int32", (4,))
    with builder.loop("i", 0, 4) as i:
        builder.assign(x[place[i]], i, location=(model, 3, 8, 12))
    knl = builder.kernel()
    with pytest.raises(errors.ObligationViolated) as info:
        knl(half_=np.zeros(4), place=np.array([0, 1, 7, 3], np.int32), check_assumptions=True)
    shown = _lines(info.value)
    assert shown[1].startswith(f"  at {__file__}:")
    assert shown[1].endswith(f" and {model}:3:9")
    assert shown[2:4] == ["  | half = x[new] / 2", "  | ^^^^"]
    assert shown[-1] == "  names: 'half' is half_ in the kernel"


def _no_type(builder: pg.Builder, place: Any) -> None:
    builder.temporary("t", location=place)
    pg.generate_code(builder.kernel(), "c")


def _no_shape(builder: pg.Builder, place: Any) -> None:
    builder.array("t", "float64", location=place)
    builder.kernel()


def _no_constant_shape(builder: pg.Builder, place: Any) -> None:
    local = pg.AddressSpace.LOCAL
    builder.temporary("t", "float64", (builder.size("n"),), local, location=place)
    builder.kernel()


def _no_scalar_in_a_shape(builder: pg.Builder, place: Any) -> None:
    builder.array("x", "float64", (4,))
    builder.array("t", "float64", (var("x"),), location=place)
    builder.kernel()


def _no_layout(builder: pg.Builder, place: Any) -> None:
    builder.array("t", "float64", (4, 4), dim_tags="N0, N0", location=place)
    builder.kernel()


def _wrong_rule(builder: pg.Builder, place: Any) -> None:
    builder.rule("f", "a", lambda a: builder.reduce("sum", "k", a), location=place)
    builder.kernel()


def _kept_by_none(builder: pg.Builder, place: Any) -> None:
    y = builder.array("y", "float64", (4,))
    builder.assign(y, builder.library("gemm", y, y), location=place)
    builder.kernel()


@pytest.mark.parametrize(
    "draw",
    [
        *(_no_type, _no_shape, _no_constant_shape, _no_scalar_in_a_shape, _no_layout),
        *(_wrong_rule, _kept_by_none),
    ],
)
def test_errors_of_declarations_show_their_places(
    draw: Callable[[pg.Builder, Any], None], model: str
) -> None:
    with pytest.raises(errors.UserError) as info:
        draw(pg.Builder(location=(model, 1)), (model, 3, 8, 12))
    shown = _lines(info.value)
    assert shown[1:4] == [f"  at {model}:3:9", "  | half = x[new] / 2", "  | ^^^^"]


# --- names


def test_names_are_shown_as_the_user_wrote_them(model: str) -> None:
    knl = _smooth(model).kernel(seq_dependencies=True)
    assert knl.written_names == {"new_": "new", "half_": "half"}
    assert knl.names_in_errors == {"new_": "new", "half_": "half", "n": "n", "x": "x"}
    with pytest.raises(errors.UnknownIname) as info:
        pg.tag_inames(knl, {"now": "g.0"})
    assert "remedy: did you mean 'new_'?" in str(info.value)  # steps take the kernel's names
    assert _lines(info.value)[-1] == "  names: 'new' is new_ in the kernel"
    again = pickle.loads(pickle.dumps(info.value))  # noqa: S301  (of this test's own)
    assert str(again) == str(info.value)


def test_names_are_printed_and_read(model: str) -> None:
    knl = _smooth(model).kernel(seq_dependencies=True)
    text = str(knl)
    assert 'NAMES:\nnew_: "new"\nhalf_: "half"\n---' in text
    again = pg.parse_kernel(text)
    assert again == knl
    assert again.written_names == knl.written_names
    split = pg.split_iname(knl, "new_", 4)
    named = 'new__outer: "new_outer"\nnew__inner: "new_inner"\nhalf_: "half"'
    assert f"NAMES:\n{named}\n---" in str(split)
    assert pg.parse_kernel(str(split)).names_in_errors == split.names_in_errors
    with pytest.raises(errors.MalformedText):
        pg.parse_kernel(text.replace('"half"', "half"))


def test_a_name_that_means_two_things_is_the_kernels() -> None:
    builder = pg.Builder()
    for number in range(2):
        with builder.loop("i", 0, 8) as i:
            builder.assign(var("x")[i + number], var("x")[i + 9])
    builder.declare(pg.GlobalArg("x", "float64", 9))
    with pytest.raises(errors.IllFormedKernel) as info:
        builder.kernel(seq_dependencies=True)
    assert "insn[i=0] reads x[9]" in str(info.value)
    assert "[i_0] x[i_0 + 1] = x[i_0 + 9]" in str(info.value)
    assert _lines(info.value)[-1] == "  names: 'i' is i_0 in the kernel"


def test_carets_stay_below_what_they_mark() -> None:
    error = errors.UserError("'half_' is wrong", excerpt="a + half_ + half_\n    ^^^^^")
    assert _lines(error.with_names({"half_": "half"}))[1:3] == [
        "  | a + half + half",
        "  |     ^^^^",
    ]


# --- what is refused


def _otherwise_first(builder: pg.Builder) -> None:
    with builder.otherwise():
        pass


def _otherwise_late(builder: pg.Builder) -> None:
    with builder.when(builder.size("n") > 0):
        builder.assign(var("x")[0], 1)
    builder.assign(var("x")[1], 1)
    with builder.otherwise():
        pass


def _otherwise_twice(builder: pg.Builder) -> None:
    with builder.when(builder.size("n") > 0):
        pass
    with builder.otherwise():
        pass
    with builder.otherwise(builder.size("m") > 0):
        pass


def _open_twice(builder: pg.Builder) -> None:
    with builder.loop("i", 0, 3) as i, i:
        pass


def _turned(builder: pg.Builder) -> None:
    i, j = builder.loop("i", 0, 3), builder.loop("j", 0, 3)
    with i, j:
        pass
    with j, i:
        pass


def _changed_condition(builder: pg.Builder) -> None:
    x = builder.array("x", "float64", 4)
    with builder.loop("i", 0, 4) as i:
        with builder.when(x[i] > 0):
            x[i] = -1
        with builder.otherwise():
            x[i] = 1
    builder.kernel(seq_dependencies=True)


def _same(loop: object) -> object:
    return loop


REFUSED: list[tuple[Callable[[Any], object], type[errors.UserError], str]] = [
    (_otherwise_first, errors.InvalidArgument, "'otherwise' does not follow a condition"),
    (_otherwise_late, errors.InvalidArgument, "'otherwise' does not follow a condition"),
    (_otherwise_twice, errors.InvalidArgument, "follows an 'otherwise' that has no condition"),
    (_open_twice, errors.InvalidArgument, "the loop 'i' is open already"),
    (_turned, errors.InvalidArgument, "the loop 'i' is opened inside of 'j', which was inside"),
    (_changed_condition, errors.ConditionChanges, "the condition 'x[i] > 0' of a block"),
    (
        lambda b: (b.array("half"), b.array("half")),
        errors.NameTaken,
        "the builder has something called 'half' already",
    ),
    (
        lambda b: (b.loop("j", 0, 3), b.sum("j", 0, 3, var("x")[var("j")])),
        errors.NameTaken,
        "'j' may mean a loop that there is, or the one of this reduction",
    ),
    (lambda b: b.reduce("some", "j", 1), errors.InvalidArgument, "there is no reduction 'some'"),
    (
        lambda b: b.reduce("argmax", b.loop("j", 0, 3), 1),
        errors.InvalidArgument,
        "argmax() is given 1 values to reduce, not 2",
    ),
    (lambda b: b.loop("i", 0, 3, location=("f",)), errors.InvalidArgument, "is no place in a file"),
    (
        lambda b: b.assign(var("x")[0], 1, location=("f", "3")),
        errors.InvalidArgument,
        "is no place in a file",
    ),
    (lambda b: b.when(1, location=3), errors.InvalidArgument, "Builder.when was given location=3"),
    (lambda b: b.call(3), errors.InvalidArgument, "Builder.call was given function=3"),
    (lambda b: b.where(1, 2), errors.InvalidArgument, "Builder.where needs the argument"),
    (lambda b: b.sum(3, 1), errors.InvalidArgument, "3 is no name"),
    (lambda b: b.assign(var("x")[0], 1, within=[3]), errors.InvalidArgument, "3 is no name"),
    (
        lambda b: b.sum(("i", "j"), 0, 3, 1),
        errors.InvalidArgument,
        "a reduction over i, j is given bounds",
    ),
    (
        lambda b: b.reduce("argmax", "j", 0, 3, _same),
        errors.InvalidArgument,
        "argmax() is given 1 values to reduce, not 2",
    ),
    (
        lambda b: b.assign(var("x")[0], 1, id="a b"),
        errors.InvalidArgument,
        "'a b' cannot be the id of an instruction",
    ),
    (lambda b: b.kernel(called={}), errors.InvalidArgument, "has no argument 'called'"),
    (lambda b: b.array("x", "float33"), errors.InvalidArgument, "the type of 'x'"),
    (lambda b: b.when("x > 0").__enter__(), errors.MalformedInstruction, "'x > 0'"),
]


@pytest.mark.parametrize(("draw", "kind", "what"), REFUSED)
def test_what_a_builder_refuses(
    draw: Callable[[pg.Builder], Any], kind: type[errors.UserError], what: str
) -> None:
    with pytest.raises(kind) as info:
        draw(pg.Builder())
    assert what in str(info.value)
    assert str(info.value.where).startswith(__file__)


def test_after_a_failed_block_the_builder_goes_on() -> None:
    builder = pg.Builder()
    x = builder.array("x", "float64", 4)
    with pytest.raises(ZeroDivisionError), builder.loop("i", 0, 4) as i, builder.when(i > 0):
        _ = 1 / 0
    with builder.loop("j", 0, 4) as j:
        x[j] = 1
    (insn,) = builder.kernel().instructions
    assert insn.within_inames == {"j"}
    assert not insn.predicates


def test_tables_show_names_as_the_user_wrote_them() -> None:
    builder = pg.Builder()
    size = builder.size("n")
    exp, x = builder.array("exp", "float64", (size,)), builder.array("x", "float64", (size,))
    for _ in range(2):
        with builder.loop("i", 1, size) as i:
            exp[i] = exp[i - 1] + x[i]
    with builder.loop("long", 0, size) as long:
        x[long] = 0
    knl = builder.kernel(seq_dependencies=True)
    assert [*pg.parallel_inames(knl)] == ["i", "i_0", "long_"]
    rows = str(pg.parallel_inames(knl)).splitlines()
    assert [row.split()[0] for row in rows if row[0] != " "] == ["iname", "i", "i_0", "long"]
    assert rows[1].endswith(
        "flow   insn[i] -> insn[i + 1]  through exp, distance (1), carried by i"
    )
    counts = str(pg.get_mem_access_map(knl))
    assert "store, exp," in counts
    assert "exp_" not in counts
    order = pg.explain_order(knl, "insn", "insn_0")
    assert "output insn[i] -> insn_0[i]  through exp, loop-independent" in order
