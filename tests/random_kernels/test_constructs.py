"""That random kernels have all there is in them, and are what their texts and scripts say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from importlib import resources
from typing import Any

import lark
import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import KernelCall, Options
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Nested, Separate, Strided, Vector
from polygen.ir.reduction import BUILT_IN
from tests.random_kernels.expressions import COMPLEX, INTEGERS, REALS
from tests.random_kernels.functions import CALLS, GENERATORS
from tests.random_kernels.library_programs import random_program
from tests.random_kernels.maker import Maker, random_maker
from tests.random_kernels.statements import STATEMENTS

COUNT = 165
SCRIPTS = 60  # of so many of them


@cache
def _made(target: str = "c") -> list[tuple[Maker, Kernel]]:
    makers = [random_maker(seed, target) for seed in range(COUNT if target == "c" else COUNT // 6)]
    with pg.without_proofs():
        return [(maker, maker.kernel()) for maker in makers]


def _lacking(wanted: set[Any], found: Iterator[set[Any]], least: int = 2) -> list[str]:
    """Return what is in fewer kernels than that; `found` is what is in each."""
    counted = Counter(x for each in found for x in each)
    return sorted(f"{x}: {counted[x]}" for x in wanted if counted[x] < least)


def test_all_statements_are_there() -> None:
    found = (set(maker.constructs) for maker, _ in _made())
    more = {"own_mix", "own_half", "old value", "ended loop"}
    assert not _lacking({*STATEMENTS, *more}, found, 4)


@pytest.mark.parametrize("part", [
    *("for i, j\n", "dep=*", "priority=-1", "gbarrier", "lbarrier", "nop", "<> t", "reduce("),
    *("simul_reduce(", "xor_all(", "horner3(", "$first(", " or ", "mod 2", "exists(", "[[5*"),
    *("sum<float64>", "segmented(sum)", "product(", "table[", "idx[", "alpha", "ConstantArg"),
    *("cast(np.", "np.int", "initializer: ", "strides: <runtime>", "offset: <auto>", "offset: 5"),
    *("stride:auto", "dim_names: ", "may_alias", "alignment: 16", "(pad_to=", "<float32> ", "unr"),
    *CALLS,
])  # fmt: skip
def test_text(part: str) -> None:
    texts = ("\n".join([*m.domains, *m.lines, str(knl), "<float32> "]) for m, knl in _made())
    assert sum(part in text for text in texts) > 1


# --- the grammar


def _grammar() -> lark.Lark:
    text = resources.files("polygen.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    start = ["instruction", "rule", "block"]
    return lark.Lark(text, parser="lalr", start=start, maybe_placeholders=False)


def _start(line: str) -> str:
    if ":=" in line:
        return "rule"
    return "block" if re.match(r"(if|elif|else|for|with|end|break)\b", line) else "instruction"


def _alternatives(tree: Any) -> set[str]:
    return {str(part.data) for part in tree.iter_subtrees()}


# Parts of arrays, and what only scripts for Loo.py write: tests/compat/test_given_parts.py and
# test_conversions.py.
OTHERS = {
    *("begin", "bounded_axis", "call_alone", "end", "part", "slice", "step"),
    *("double", "single_imaginary"),
}


def test_all_of_the_grammar_is_there() -> None:
    parser = _grammar()
    # Rules that begin with "?" are in no tree; their alternatives have names of their own.
    named = {r.alias or (None if r.options.expand1 else r.origin.name) for r in parser.rules}
    wanted = {str(getattr(name, "value", name)) for name in named if name is not None}
    wanted = {name for name in wanted if not name.startswith("_")}
    assert len(wanted) > 50

    def found(lines: Iterable[str]) -> set[str]:
        return set[str]().union(*(_alternatives(parser.parse(x, start=_start(x))) for x in lines))

    libraries = {"library", "word"}  # these have random programs of their own
    assert not _lacking(libraries, (found(random_program(seed).lines) for seed in range(9)))
    assert not _lacking(wanted - libraries - OTHERS, (found(maker.lines) for maker, _ in _made()))


# --- the text of kernels

SECTIONS = {
    "ARGUMENTS": "argument_line",
    "TEMPORARIES": "temporary",
    "REDUCTIONS": "reduction",
    "INAME TAGS": "tag",
    "PRIORITIES": "priority",
}


def _lines(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the lines of a kernel's text that kernel.lark is about, each after its section."""
    section = ""
    for line in str(kernel).splitlines():
        if line.startswith("---") or line.removesuffix(":") in SECTIONS:
            section = line.removesuffix(":")
        elif section in SECTIONS:
            yield section, line


def test_all_of_the_text_of_kernels_is_there() -> None:
    folder = resources.files("polygen.language")
    texts = [
        folder.joinpath(f"{n}.lark").read_text(encoding="utf-8") for n in ("grammar", "kernel")
    ]
    start = list(SECTIONS.values())
    parser = lark.Lark("\n".join(texts), parser="lalr", start=start, maybe_placeholders=False)
    own = set(re.findall(r"^\??([a-z_]+):|-> (\w+)$", texts[1], re.MULTILINE))
    named = {r.alias or (None if r.options.expand1 else r.origin.name) for r in parser.rules}
    wanted = {str(getattr(name, "value", name)) for name in named} & {a or b for a, b in own}
    assert len(wanted) >= 24
    found = (
        set[str]().union(*(_alternatives(parser.parse(x, start=SECTIONS[s])) for s, x in _lines(k)))
        for target in ("c", "opencl")
        for _, k in _made(target)
    )
    assert not _lacking(wanted - {"base_storage"}, found)  # tests/compat/test_storage.py


# --- the intermediate representation


def _nodes(kernel: Kernel) -> Iterator[ex.Expression]:
    for insn in kernel.instructions:
        given = (*insn.arguments, *insn.results) if isinstance(insn, KernelCall) else ()
        for node in (*insn.assignees, *insn.reads, *given):
            yield from walk.subexpressions(node)
    for rule in kernel.substitutions:
        yield from walk.subexpressions(rule.expression)


def test_all_nodes_are_there() -> None:
    # Kernels have no linear subscripts.
    wanted = walk.SUPPORTED_NODES - {ex.LinearSubscript}
    found = ({type(node) for node in _nodes(kernel)} for _, kernel in _made())
    assert not _lacking({*wanted, int, float, complex, bool}, found)


def test_all_instructions_are_there() -> None:
    kinds = {pg.Assignment, pg.MultiAssignment, pg.CInstruction, KernelCall, pg.Barrier, pg.NoOp}
    found = ({type(insn) for insn in kernel.instructions} for _, kernel in _made())
    assert not _lacking(set(kinds), found)
    default = Options()
    said = (
        {
            f.name
            for insn in kernel.instructions
            for f in fields(Options)
            if getattr(insn, f.name) != getattr(default, f.name)
        }
        for _, kernel in _made()
    )
    assert not _lacking({f.name for f in fields(Options)}, said)


def test_all_operations_are_there() -> None:
    nodes = ((_nodes(kernel)) for _, kernel in _made())
    found = ({str(n.operation) for n in ns if isinstance(n, ex.Reduction)} for ns in nodes)
    assert not _lacking({*BUILT_IN, "segmented(sum)", "xor_all", "horner3"}, found)
    nodes = ((_nodes(kernel)) for _, kernel in _made())
    called = (
        {re.sub(r"_f\d\d$", "", str(n.function)) for n in ns if isinstance(n, ex.Call)}
        for ns in nodes
    )
    assert not _lacking({name for name, *_ in GENERATORS}, called)


def test_all_atomic_accesses_are_there() -> None:
    found = (
        {
            x
            for insn in kernel.instructions
            if isinstance(insn, pg.Assignment) and (a := insn.atomicity) is not None
            for x in (a.init, a.ordering, a.scope)
        }
        for _, kernel in _made()
    )
    scopes = {pg.MemoryScope.WORK_DEVICE, pg.MemoryScope.ALL_DEVICES}
    assert not _lacking({True, False, *pg.MemoryOrdering, *scopes}, found)


# --- variables and domains


def test_all_types_are_there() -> None:
    found = ({str(v.dtype) for v in kernel.variables.values()} for _, kernel in _made())
    assert not _lacking({*INTEGERS, *REALS, *COMPLEX, "bool", "bfloat16"}, found)


def test_all_storage_is_there() -> None:
    temporaries = ([t for t in k.temporaries if not t.read_only] for _, k in _made())
    assert not _lacking(set(pg.AddressSpace), ({t.address_space for t in ts} for ts in temporaries))
    tables = ({t.read_only for t in kernel.temporaries} for _, kernel in _made())
    assert not _lacking({True}, tables)
    arguments = ({type(a) for a in kernel.arguments} for _, kernel in _made())
    assert not _lacking({pg.GlobalArg, pg.ConstantArg, pg.ValueArg}, arguments)
    assert sum(any(isinstance(a, pg.ImageArg) for a in k.arguments) for _, k in _made("opencl")) > 1


def test_all_layouts_are_there() -> None:
    tags = (
        [t for a in k.arguments if isinstance(a, pg.GlobalArg) for t in a.dim_tags or ()]
        for _, k in _made()
    )
    found = (
        {type(t) for t in ts} | {Auto for t in ts if isinstance(t, Strided) and t.stride is pg.auto}
        for ts in tags
    )
    assert not _lacking({Nested, Strided, Vector, Separate, Auto}, found)


def test_all_domains_are_there() -> None:
    def kinds(kernel: Kernel) -> set[str]:
        found = {"union" for d in kernel.domains if d.set.n_basic_set() > 1}
        found |= {"stride" for d in kernel.domains if " mod " in d.text}
        data = {t.name for t in kernel.temporaries}
        found |= {"data" for d in kernel.domains if not data.isdisjoint(d.parameters)}
        return found | {"between" for d in kernel.domains if len(data & {*d.parameters}) > 1}

    assert not _lacking({"union", "stride", "data", "between"}, (kinds(k) for _, k in _made()), 4)


def test_bounds_of_errors_are_small() -> None:
    sources = [source for maker, _ in _made() for source in maker.sources]
    inexact = [s.value for s in sources if not s.value.exact and np.isfinite(s.value.most)]
    relative = sorted(value.error / value.most for value in inexact)
    assert len(relative) > 100
    assert relative[len(relative) // 2] < 1e-3
    assert relative[len(relative) * 9 // 10] < 0.05


# --- programs and scripts


def test_programs_are_what_their_texts_say() -> None:
    programs = [maker.program for maker, _ in _made() if maker.program is not None]
    assert len(programs) > COUNT // 5
    with pg.without_proofs():
        for program in programs:
            assert pg.parse_program(str(program)) == program, str(program)


def test_kernels_are_what_their_scripts_make() -> None:
    with pg.without_proofs():
        for maker, kernel in _made()[:SCRIPTS]:
            there: dict[str, Any] = {}
            exec(pg.kernel_to_python(kernel), there)  # noqa: S102  (a script of polygen's)
            assert there["knl"] == kernel, "\n".join(maker.lines)
