"""``for t while c`` and ``break if c``: what they become, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e
from polygen.ir import expression as ex
from polygen.language.domains import parse_domains
from polygen.language.instructions import Written
from polygen.language.kernel_assembly import assemble, read_options
from polygen.language.kernel_data import read_kernel_data
from polygen.language.parser import parse_statement
from polygen.language.said import Said
from polygen.language.while_loops import Break, LoopBegin, LoopEnd, Part, ended_by_conditions

OPEN, LINE = "{ [t]: 0<=t }", "{ [t]: 0<=t<n }"


def instructions(knl: pg.Kernel) -> list[str]:
    return str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0].split("\n")


def made(text: str, domains: object = OPEN, **options: object) -> pg.Kernel:
    return pg.make_kernel(domains, text, seq_dependencies=True, **options)  # type: ignore[arg-type]


WHOLE = """
<> x = a[0]
for t while x > 1
  x = x/2
  if x < b[0]
    break if x > c[0]
  end
  out[t % 2] = x
end
"""


def test_a_flag_says_whether_the_loop_goes_on() -> None:
    knl = made(WHOLE)
    assert instructions(knl) == [
        "[] x = a[0]  {id=insn}",
        "[] t_runs = 1  {id=t_begin, dep=insn}",
        "[t] t_runs = if(t_runs and x > 1, 1, 0)  {id=t_head, dep=insn:t_begin}",
        "[t] x = x/2  {id=insn_0, dep=t_begin:t_head, if=t_runs}",
        "[t] t_runs = if(t_runs and not (x < b[0] and x > c[0]), 1, 0)  "
        "{id=t_break, dep=insn_0:t_begin:t_head}",
        "[t] out[t % 2] = x  {id=insn_1, dep=t_begin:t_break:t_head, if=t_runs}",
    ]
    assert [str(size) for size in knl.derived_sizes] == ["t_end = <unbounded>"]
    assert [d.text for d in knl.domains] == ["[t_end] -> { [t] : 0 <= t < t_end }"]
    assert knl.address_space("t_runs") is pg.AddressSpace.PRIVATE


def test_it_is_read_back_as_it_is_printed() -> None:
    knl = made(WHOLE)
    assert pg.parse_kernel(str(knl)) == knl
    assert str(pg.parse_kernel(str(knl))) == str(knl)


def test_nobody_passes_the_end() -> None:
    assert [a.name for a in made(WHOLE).arguments] == ["a", "b", "c", "out"]


def test_names_that_are_taken_are_left_alone() -> None:
    knl = made("for t while t_runs[0] > t_end\n t_runs[0] = t_runs[0] - 1  {id=t_begin}\nend")
    assert instructions(knl)[0] == "[] t_runs_0 = 1  {id=t_begin_0}"
    assert [str(size) for size in knl.derived_sizes] == ["t_end_0 = <unbounded>"]


@pytest.mark.parametrize(
    ("text", "domains", "data"),
    [
        ("for t while t_runs[t] > 0\n out[t] = 1\nend", LINE, ["..."]),
        ("for t\n out[t] = 1\n break if t_runs[t] > 0\nend", LINE, ["..."]),
        ("for t while a[t] > 0\n out[t] = 1\nend", "{ [t]: 0<=t<t_runs }", ["..."]),
        ("for t while a[t] > 0\n out[t] = 1\nend", LINE, [pg.ValueArg("t_runs"), "..."]),
    ],
)
def test_flags_have_names_of_their_own(text: str, domains: str, data: list[object]) -> None:
    knl = made(text, domains, kernel_data=data)
    assert "t_runs" in [a.name for a in knl.arguments]
    assert [t.name for t in knl.temporaries] == ["t_runs_0"]


def test_instructions_inside_of_two_loops_ask_the_outer_flag_first() -> None:
    knl = made(
        "for i while a[0] > 0\n for t while b[0] > 0\n  b[0] = b[0] - 1\n end\n"
        " a[0] = a[0] - 1\nend",
        ["{ [i]: 0<=i }", OPEN],
    )
    assert [text.partition("  {")[0] for text in instructions(knl)] == [
        "[] i_runs = 1",
        "[i] i_runs = if(i_runs and a[0] > 0, 1, 0)",
        "[i] t_runs = if(i_runs, 1, 0)",
        "[i, t] t_runs = if(i_runs and t_runs and b[0] > 0, 1, 0)",
        "[i, t] b[0] = b[0] - 1",
        "[i] a[0] = a[0] - 1",
    ]
    asked = {i.id: [str(p) for p in i.predicates] for i in knl.instructions if i.predicates}
    assert asked == {"insn": ["i_runs and t_runs"], "insn_0": ["i_runs"]}


def test_break_alone_ends_the_loop_where_it_stands() -> None:
    knl = made("for t\n if a[t] > 0\n  break\n end\n b[t] = 1\nend", "{ [t]: 0<=t<n }")
    assert instructions(knl)[1].startswith("[t] t_runs = if(t_runs and not a[t] > 0, 1, 0)")
    assert knl.derived_sizes == ()


def test_without_an_order_instructions_follow_what_the_loop_asks() -> None:
    knl = pg.make_kernel(
        OPEN,
        """
        for t while x[0] > 1
          x[0] = x[0]/2             {id=half}
          break if x[0] < y[0]
          out[0] = t                {id=out, dep=half}
        end
        """,
    )
    before = {i.id: i.depends_on for i in knl.instructions}
    assert before["half"] == {"t_begin", "t_head"}
    assert before["t_break"] == {"t_begin", "t_head", "half"}
    assert before["out"] == {"t_begin", "t_head", "t_break", "half"}


def test_several_texts_may_hold_one_loop() -> None:
    parts = ["for t while x[0] > 1", "x[0] = x[0]/2", "end"]
    assert pg.make_kernel(OPEN, parts) == pg.make_kernel(OPEN, "\n".join(parts))


def test_a_loop_may_have_a_step() -> None:
    knl = made("for t while x[0] > 1\n x[0] = x[0]/2\n end\n", "{ [t]: t >= 3 and t mod 2 = 1 }")
    _, (x,) = pg.add_dtypes(knl, {"x": np.float64}).executor("c")(x=np.array([5.0]))
    assert x[0] == 0.625


@pytest.mark.parametrize(
    ("text", "domains", "error", "why"),
    [
        ("break", LINE, e.MalformedInstruction, "'break' stands in no 'for'"),
        ("if a[0] > 1\nbreak\nend", LINE, e.MalformedInstruction, "'break' stands in no 'for'"),
        (
            "for i, t while a[0] > 1\na[0] = 1\nend",
            ["{ [i]: 0<=i<n }", OPEN],
            e.MalformedInstruction,
            "a condition ends a loop, and this 'for' is of several: i, t",
        ),
        (
            "for t while a[0] > 1\na[0] = 1\nend\nfor t while a[0] > 1\na[0] = 1\nend",
            OPEN,
            e.MalformedInstruction,
            "a condition ends the loop of 't' already",
        ),
        ("for t while\na[0] = 1\nend", OPEN, e.MalformedInstruction, "found the end"),
        ("for t\na[0] = 1\nend", OPEN, e.UnboundedDomain, "the iname 't' has no upper bound"),
        (
            "for t while a[0] > 1\na[0] = 1\nend",
            "{ [t]: t <= 3 }",
            e.UnboundedDomain,
            "the iname 't' has no lower bound",
        ),
        (
            "for t while a[0] > 1\na[0] = 1\nend\nb[0] = t",
            OPEN,
            e.EndlessLoop,
            "instruction 'insn_0' is in the loop of 't', which has no end but a condition",
        ),
        (
            "for t while a[0] > 1\na[0] = 1\nend\nb[0] = sum(t, t)  {inames=}",
            OPEN,
            e.EndlessLoop,
            "instruction 'insn_0' reduces over the loop of 't'",
        ),
    ],
)
def test_refused(text: str, domains: object, error: type[e.UserError], why: str) -> None:
    with pytest.raises(error) as caught:
        made(text, domains)
    assert type(caught.value) is error
    assert why in str(caught.value)


def test_an_end_is_not_to_be_assumed_nor_fixed() -> None:
    knl = made(WHOLE)
    with pytest.raises(e.EndlessLoop, match="an assumption mentions 't_end'"):
        pg.assume(knl, "t_end >= 1")
    with pytest.raises(e.UnknownArgument):
        pg.fix_parameters(knl, t_end=3)


@pytest.mark.parametrize("tag", ["g.0", "l.0", "ilp", "vec", "unr"])
def test_such_a_loop_stays_one(tag: str) -> None:
    with pytest.raises(e.UserError):
        pg.generate_code(pg.tag_inames(pg.add_dtypes(made(WHOLE), {"a": np.float32}), {"t": tag}))


def test_an_array_along_the_loop_has_to_be_long_enough() -> None:
    knl = made(
        "for t while a[t] > 1\n b[0] = a[t]\nend",
        OPEN,
        kernel_data=[pg.GlobalArg("a", shape="n"), "..."],
    )
    assert [o.kind for o in pg.obligations(knl)] == ["inside"]


def test_such_an_array_is_as_long_as_it_is() -> None:
    knl = made("for t while a[0] > 1\n a[0] = a[0] - 1\n b[t] = 1\nend")
    assert [str(extent) for extent in knl.array("b").shape or ()] == ["b_len"]
    assert [(o.kind, o.array) for o in pg.obligations(knl)] == [("inside", "b")]


def test_programs_may_say_loops_as_parts() -> None:
    """As builders do, beside statements of their own: no text is read."""
    here = Said(more_inames=frozenset(("t",)), is_in_for=True)
    x = ex.Subscript(ex.Variable("x"), 0)
    parts: list[Part] = [
        LoopBegin(("t",), ex.Comparison(x, ">", 1), Said(), "while x[0] > 1"),
        parse_statement("x[0] = x[0]/2").inside(here),
        Break(ex.Comparison(x, "<", 0), here, "break if x[0] < 0"),
        LoopEnd(),
    ]
    text = "for t while x[0] > 1\nx[0] = x[0]/2\nbreak if x[0] < 0\nend"
    loops = parse_domains(OPEN, ended_by_conditions(parts))
    options = read_options({}, name="polygen_kernel", seq_dependencies=True)
    declared = read_kernel_data(["..."])
    assert assemble(Written(parts), loops, declared, options) == made(text)
