"""Prints calls of users' functions, and what these need before."""

from __future__ import annotations

from polygen.analysis.typing.functions import signature_of
from polygen.errors import InternalError, UnknownFunction
from polygen.ir import expression as ex
from polygen.ir.callables import Signature, Symbol, user_function
from polygen.targets.expressions.common_rules import Printer
from polygen.targets.expressions.typed_terms import ATOM, Term


def print_user_call(p: Printer, node: ex.Call) -> Term:
    """Print a call of one of the user's functions; several results make a structure.

    Raises:
        UnknownFunction: if it has no code for the target.
        TypeMismatch: if it does not take such arguments.
    """
    found = user_function(node)
    if found is None:
        raise InternalError(f"{node!r} calls no function of the user's")
    preamble = found.definition.preamble(p.target.name)
    if preamble is None:
        raise UnknownFunction(
            f"function '{found.name}' has no code for target '{p.target.name}'",
            remedy=f"register it with preambles={{'{p.target.name}': ...}}, or with one text for "
            "all targets",
        )
    if isinstance(found.definition, Symbol):
        if preamble:
            p.uses.preambles[preamble.strip("\n")] = None
        dtype = found.definition.dtype
        p.type_name(dtype)
        return Term(found.definition.text(p.target.name) or "", ATOM, dtype, dtype)
    signature = signature_of(node, [p.kind(n) for n in node.parameters])
    if preamble:
        p.uses.preambles[preamble.strip("\n")] = None
    arguments = [
        p.convert(p.term(n, dtype), dtype).text
        for n, dtype in zip(node.parameters, signature.arguments, strict=True)
    ]
    for dtype in (*signature.arguments, *signature.results):
        p.type_name(dtype)
    name, (first, *others) = signature.name, signature.results
    if others:
        name = f"pg_{name}"
        p.uses.preambles[_wrapper(p, signature, name)] = None
    return Term(f"{name}({', '.join(arguments)})", ATOM, first, first)


def _wrapper(p: Printer, signature: Signature, name: str) -> str:
    """Return a function that returns all results as a structure."""
    fields = [f"    {p.type_name(dtype)} r{n};" for n, dtype in enumerate(signature.results)]
    names = [f"x{n}" for n in range(len(signature.arguments))]
    parameters = [
        f"{p.type_name(dtype)} {x}" for dtype, x in zip(signature.arguments, names, strict=True)
    ]
    results = [f"&result.r{n}" for n in range(len(signature.results))]
    return "\n".join(
        [
            f"struct {name}_results {{",
            *fields,
            "};",
            "",
            f"{p.target.helper_prefix} struct {name}_results {name}({', '.join(parameters)})",
            "{",
            f"    struct {name}_results result;",
            f"    {signature.name}({', '.join([*names, *results])});",
            "    return result;",
            "}",
        ]
    )
