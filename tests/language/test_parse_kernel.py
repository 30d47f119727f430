"""Texts that no kernel is printed as."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.errors import (
    InvalidArgument,
    MalformedDomain,
    MalformedInstruction,
    MalformedTag,
    MalformedText,
    NameTaken,
    NestingDecides,
    PolygenError,
    ReservedName,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
)
from polygen.language.make_kernel import make_kernel
from polygen.language.parse_kernel import parse_kernel

TEXT = """\
---------------------------------------------------------------------------
KERNEL: scale
TARGET: opencl
---------------------------------------------------------------------------
ARGUMENTS:
a: GlobalArg, type: float32, shape: (n), strides: <runtime>
n: ValueArg, type: int32
---------------------------------------------------------------------------
TEMPORARIES:
t: type: <runtime>, shape: (4), aspace: local
---------------------------------------------------------------------------
DOMAINS:
[n] -> { [i] : 0 <= i < n }
---------------------------------------------------------------------------
ASSUMPTIONS:
[n] -> {  : n > 0 }
---------------------------------------------------------------------------
INAME TAGS:
i: g.0
---------------------------------------------------------------------------
PRIORITIES:
i
---------------------------------------------------------------------------
INSTRUCTIONS:
[i] a[i] = 2*a[i]  {id=double}
---------------------------------------------------------------------------
OPTIONS:
return_dict: True
---------------------------------------------------------------------------"""


def test_text_is_kept() -> None:
    assert str(parse_kernel(TEXT)) == TEXT


def test_layout_does_not_matter() -> None:
    indented = "\n\n".join(f"    {line}  " for line in TEXT.splitlines())
    assert parse_kernel(indented) == parse_kernel(TEXT)


def test_nothing_is_filled_in() -> None:
    lines = "b[i] = a[i] {id=w}\nout[i] = b[n+i] {dep=*}"
    text = str(make_kernel("{ [i]: 0<=i<n }", lines))
    kernel = parse_kernel(text)
    assert kernel.instruction("insn").depends_on == frozenset()


@pytest.mark.parametrize(
    ("old", "new", "kind", "what", "column"),
    [
        ("KERNEL: scale", "KERNEL: a b", ReservedName, "line 2: 'a b'", None),
        ("KERNEL: scale", "KERNEL:", MalformedText, "line 2: this is no line", None),
        ("KERNEL: scale", "TARGET: c", MalformedText, "no line with the name", None),
        ("ARGUMENTS:", "ARGUMENT:", MalformedText, "line 5: this is no line", None),
        ("DOMAINS:", "DOMANS:", MalformedText, "this is no line of a kernel's text", None),
        ("INSTRUCTIONS:", "INSTRUCTION:", MalformedText, "this is no line", None),
        ("GlobalArg", "LocalArg", MalformedText, "line 6: found 'LocalArg' where", 3),
        ("float32", "float31", MalformedText, "line 6: 'float31' is no element type", 20),
        ("shape: (n)", "shape: n", MalformedText, "line 6: found 'n' where", 36),
        ("shape: (n)", "shape: (n", MalformedText, "line 6: found", None),
        ("<runtime>\n", "<runtime> x\n", MalformedText, "line 6: found 'x'", 60),
        ("n: ValueArg", "for: ValueArg", ReservedName, "line 7: 'for'", None),
        ("n: ValueArg", "m: ValueArg", UnknownName, "mentions 'n'", None),
        ("aspace: local", "aspace: shared", MalformedText, "line 10: 'shared' is no address", 40),
        ("0 <= i < n }", "0 <= i < }", MalformedDomain, "line 13: found '}'", 24),
        ("i: g.0", "i: g.7", MalformedTag, "line 19: 'g.7'", None),
        ("i: g.0", "j: g.0", UnknownIname, "no iname 'j'", None),
        ("PRIORITIES:\ni", "PRIORITIES:\ni j", MalformedText, "line 22: found 'j'", 2),
        ("PRIORITIES:\ni", "PRIORITIES:\nj", UnknownIname, "no iname 'j'", None),
        ("2*a[i]", "2*", MalformedInstruction, "line 25: found '{'", 15),
        ("  {id=double}", "", MalformedText, "line 25: this instruction has no id", 0),
        ("[i] a[i]", "a[i]", MalformedText, "line 25: this instruction has no list of", 0),
        ("[i] a[i]", "[i] <> a[i]", MalformedText, "line 25: a temporary is declared", 0),
        ("id=double", "id=double, dep=x", UnknownInstruction, "depends on 'x'", None),
        ("id=double", "id=double, dep=*", MalformedText, "line 25: the option dep=* leaves", 0),
        ("id=double", "id=double, dup=i", MalformedText, "the option dup= leaves open", 0),
        ("id=double", "id=double, dep_query=i", MalformedText, "option dep_query= leaves", 0),
        ("id=double", "id=double, nosync_query=i", MalformedText, "nosync_query= leaves", 0),
        ("id=double", "id=double, +inames=i", MalformedText, "option +inames= leaves", 0),
        ("[i] a[i] =", "[] a[i] =", UnknownName, "mentions 'i'", None),
        ("return_dict: True", "return_dct: True", MalformedText, "no option 'return_dct'", 0),
        ("return_dict: True", "return_dict: 1", MalformedText, "does not have this value", 13),
        ("return_dict: True", "build_options: (1,)", MalformedText, "this value", 15),
        ("return_dict: True", "build_options: open('x')", MalformedText, "this value", 15),
        ("t: type: <runtime>, shape: (4), aspace: local", "a: type: <runtime>", NameTaken,
         "more than one name 'a'", None),
    ],
)  # fmt: skip
def test_malformed(
    old: str, new: str, kind: type[PolygenError], what: str, column: int | None
) -> None:
    assert old in TEXT
    with pytest.raises(kind) as caught:
        parse_kernel(TEXT.replace(old, new, 1))
    error = caught.value
    assert what in error.what
    if column is not None:
        text, caret = (error.excerpt or "").split("\n")
        assert caret == " " * column + "^"
        assert text in TEXT.replace(old, new, 1)


@pytest.mark.parametrize("wrong", [3, None])
def test_no_text(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match="no text"):
        parse_kernel(wrong)


RECURRENCES = [
    ("{ [i]: 0<=i<n }", "u[i+1] = u[i] + 1"),
    (["{ [j]: 0<=j<n }", "{ [i]: 1<=i<n }"], "u[i] = u[i-1] + sum(j, a[i, j])"),
]


@pytest.mark.parametrize(("domains", "text"), RECURRENCES)
def test_what_steps_made_of_recurrences_reads_back(domains: str | list[str], text: str) -> None:
    knl = pg.split_iname(pg.make_kernel(domains, text), "i", 4)
    assert pg.parse_kernel(str(knl)) == knl


def test_how_loops_nest_has_to_be_said() -> None:
    lines = str(pg.split_iname(pg.make_kernel(*RECURRENCES[0]), "i", 4)).splitlines()
    start = lines.index("PRIORITIES:")
    assert lines[start + 1] == "i_outer, i_inner"
    with pytest.raises(NestingDecides):
        pg.parse_kernel("\n".join(lines[:start] + lines[start + 2 :]))
