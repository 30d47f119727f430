"""Explains in words why a text does not follow a grammar."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping

from polygen.analysis.typing.functions import FUNCTIONS

# What is written for a terminal of the grammars whose name says little.
_SPELLINGS: Mapping[str, str] = {
    "LPAR": "'('",
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "ASSIGN": "'='",
    "EQUAL": "'='",
    "LBRACE": "'{'",
    "LSQB": "'['",
    "COLON": "':'",
    "ELSE": "'else'",
    "MORETHAN": "'>'",
    "SEMICOLON": "';'",
    "ARROW": "'->'",
    "RELATION": "a comparison",
    "AND": "'and'",
    "_ID": "an option (id=, dep=, inames=, ...)",
    "IDS": "ids",
    "INT": "a number",
    "GLOB": "a name or a pattern",
    "QUERY": "a query",
    "KIND": "id:, tag:, reads:, writes:, iname:",
    "NOT": "'not'",
    "OR": "'or'",
    "$END": "the end",
}

CLOSING = frozenset(("RPAR", "RSQB", "RBRACE", "LSQB", "LBRACE", "ELSE", "$END"))

_COMMENT = "a comment begins with '#'"

# What else stands at the place of an error, or just before it, and what to do about it.
_HINTS: tuple[tuple[str, str, str], ...] = (
    (
        r"\A\s*for\b.*",
        r"",
        "write 'for i': which values i has, the domain says, \"{ [i]: 0 <= i < n }\"; 'end' closes "
        "it",
    ),
    (
        r"\A\s*(const\s+)?(let|var|auto|int|float|double|long|short|bool|char|unsigned|u?int\d+|float\d+)\s+",
        r"\w",
        "write '<> t = ...' for a temporary, or '<float32> t = ...' for one of a certain type",
    ),
    (r"\[[^\[\]]*", r":", "there are no slices: write a[i], and let a domain say which i"),
    (r"\{[^{}]*\bif\s*", r"(?!=)", "write {if=condition}"),
    (r"\{[^{}]*\w\s*", r":", "an option is written name=value, as in {dep=a:b}"),
    (r"\{[^{}]*\w\s*=\s*", r"[},]", "say a value, or leave the option out"),
    (r"\A\s*(elseif|elsif)\s+", r"", "write 'elif'"),
    (r"\A\s*(endif|endfor|end_if|end_for|done|fi)\s*", r"\Z", "blocks are closed by 'end'"),
    (r"\A\s*end\s+", r"", "blocks are closed by 'end' alone"),
    (r"\A\s*(if|elif)\b.*", r"\{", "blocks are opened without '{', and closed by 'end'"),
    (
        r"\b(sum|product|prod|min|max|any|all)\s*\(.*",
        r"for\b",
        "write the iname first: sum(i, a[i]); which values it has, its domain says",
    ),
    (r"", r"/\*|//", _COMMENT),
    (r"//.*", r"", _COMMENT),
    (r"", r";.*//", f"leave it out: an instruction ends with its line; {_COMMENT}"),
    (r"", r"&&", "write 'and'"),
    (r"", r"\|\|", "write 'or'"),
    (r"\|", r"\|", "write 'or'"),
    (r"&", r"&", "write 'and'"),
    (r"", r"!(?!=)", "write 'not'"),
    (r"\]\s*", r"\[", "write a[i, j] for a[i][j]"),
    (r"", r"<-|==|:=", "an assignment is written with '='"),
    (
        r"(\A|\n)\s*[A-Za-z_]\w*\s*\(.*\)\s*",
        r"=",
        "write a[i] for an element of an array; a rule is defined by ':=', as in f(x) := 2*x",
    ),
    (r"[^=]", r"=(?!=)", "a comparison is written '=='; there is one assignment a line"),
    (r":", r"=", "an assignment is written with '='"),
    (r"", r"\?", "write 'a if c else b' for 'c ? a : b'"),
    (r"", r"[\"']", "there are no strings in the language"),
    (r"", r";\s*(\n|\Z)", "leave it out: an instruction ends with its line"),
    (r"", r";", "write one instruction a line"),
    (r"", r"\*\*=", "write a[i] = a[i]**2"),
    (r"", r"\+\+|--", "write a[i] += 1, or -="),
    (r"code\([^()]*\)\s*", r"[A-Za-z_]", "put the text in quotes"),
    (r"\b0", r"[bBoO]\d", "write such a number as 0x1f, or in digits from 0 to 9"),
    (r"\b\d+", r"_\d", "write numbers without '_'"),
    (r"<", r">", "write '!='"),
    (r"", r"@", "write sum(k, a[i, k]*b[k, j]) for a product of matrices"),
    (r"\blambda\s+", r"", "functions are rules, f(x) := 2*x, or registered: register_callable"),
    (r"\A\s*", r"\(.*=", "write the assignees without parentheses: a[i], b[i] = 1, 2"),
    (r"\d", r"[A-Za-z_]", "write '*' between a number and a name"),
    (r"\)\s*", r"[A-Za-z_(]", "write '*' between factors"),
)


def hint(text: str, position: int) -> str | None:
    """Return what may help where an instruction is wrong at `position`."""
    option = _OPTION.match(text, position)
    if option and _IN_OPTIONS.search(text[:position]):
        close = difflib.get_close_matches(option[0], _OPTIONS, n=1)
        meant = [f"did you mean '{name}'?" for name in close]
        return "; ".join([*meant, f"the options are {', '.join(_OPTIONS)}"])
    for before, here, remedy in _HINTS:
        if re.compile(here).match(text, position) and re.search(before + r"\Z", text[:position]):
            return remedy
    part = _PART.search(text)
    while part is not None and part.end() < position:
        part = _PART.search(text, part.end())
    if part is not None and part.start() < position <= part.end():
        return _without_parts(part["whole"], part["whole"] + (part["index"] or ""), part["part"])
    opened = _opened(text[:position])
    if opened is None or ("\n" not in text[opened:position] and text[position:].strip()):
        return None
    shown = text[opened:].partition("\n")[0]
    return f"close the bracket that '{shown[:20]}' begins with: '{_CLOSED_BY[text[opened]]}'"


_OPTION = re.compile(r"[A-Za-z_]\w*")
_IN_OPTIONS = re.compile(r"\{([^{}]*,)?\s*\Z")
_OPTIONS = (
    *("id=", "id_prefix=", "dep=", "dep_query=", "nosync=", "nosync_query=", "inames="),
    *("+inames=", "if=", "priority=", "tags=", "groups=", "conflicts=", "dup=", "atomic"),
    *("asynchronous", "mem_kind="),
)
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


# What a name and a dot, or an element and a dot, are followed by.
_PART = re.compile(
    r"(?P<whole>[A-Za-z_]\w*|\))(?P<index>\[[^\[\]]*\])?\s*\.\s*(?P<part>[A-Za-z_]\w*)"
)
_MODULES = ("math", "cmath", "np", "numpy", "scipy", "jnp", "cp", "torch", "pymbolic", "pg")
_PARTS = {
    "real": "write real({})",
    "imag": "write imag({})",
    "conj": "write conj({})",
    "conjugate": "write conj({})",
    "T": "write the subscripts in the other order: a[j, i]",
    "shape": "declare the array with a size, GlobalArg('a', shape='n'), and write n",
    "size": "declare the array with a size, GlobalArg('a', shape='n'), and write n",
    "dtype": "write the type, as in float32(x)",
    "astype": "write float32({})",
    "sum": "write sum(i, a[i]), with an iname i",
    "min": "write min(i, a[i]), with an iname i",
    "max": "write max(i, a[i]), with an iname i",
    "dot": "write sum(k, a[i, k]*b[k]), with an iname k",
}
_NUMBERS = {"pi": repr(math.pi), "tau": repr(math.tau), "e": repr(math.e)}


def _without_parts(whole: str, operand: str, part: str) -> str:
    """Return what to write for ``operand.part``, which begins with the name `whole`."""
    if whole not in _MODULES:
        return _PARTS.get(part, "names have no parts").format("x" if whole == ")" else operand)
    if part in _NUMBERS:
        return f"write the number: {_NUMBERS[part]}"
    if part in FUNCTIONS:
        return f"write {part}(...) without {whole}."
    return f"names have no parts: there is no '{whole}' in the language"


def _opened(text: str) -> int | None:
    """Return where the innermost bracket is that is open at the end of a text, if one is."""
    found: list[int] = []
    for position, character in enumerate(text):
        if character in _CLOSED_BY:
            found.append(position)
        elif character in _CLOSED_BY.values() and found:
            found.pop()
    return found[-1] if found else None


def expectation(terminals: Collection[str]) -> str:
    """Return in words what the grammar allows at some place."""
    names = set(terminals)
    found: list[str] = []
    if "NAME" in names:
        names.discard("LPAR")
        found.append("a name or a number" if names & {"INT", "NUMBER"} else "a name")
        names.discard("INT")
    if names & {"PLUS", "STAR"} and "NAME" not in names:
        found.append("an operator")
        names -= {"LPAR", "COMMA", "SEMICOLON", "RELATION", "AND", "OR", "EQUAL"}  # operators, too
    found += sorted(word for name, word in _SPELLINGS.items() if name in names)
    if len(found) < 2:
        return found[0] if found else "the end" if "$END" in names or not names else "more"
    return f"{', '.join(found[:-1])} or {found[-1]}"


def found_at(text: str, position: int) -> str:
    """Return in words what stands at `position`."""
    match = re.compile(r"\s*([A-Za-z0-9_]+|\S)").match(text, position)
    return "the end" if match is None else f"'{match[1]}'"


def line_at(text: str, position: int) -> tuple[str, int]:
    """Return the line of `text` that `position` is in, and its place there."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : len(text) if end < 0 else end], position - start
