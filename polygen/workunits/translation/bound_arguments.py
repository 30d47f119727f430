"""The arguments of a call of a function of which there is a tree: what each parameter is given."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence


def bound_arguments(
    definition: ast.FunctionDef, given: Sequence[ast.expr], named: Mapping[str, ast.expr]
) -> list[ast.expr] | str:
    """Return what each parameter is given, in their order; what is wrong if they do not fit.

    Parameters:
        definition: the function.
        given: arguments by position.
        named: arguments by name.
    """
    names = [parameter.arg for parameter in definition.args.args]
    if definition.args.vararg or definition.args.kwarg or definition.args.kwonlyargs:
        return "takes any number of arguments, or some by name alone"
    if len(given) > len(names):
        return f"takes {len(names)} arguments, and is passed {len(given)}"
    last = definition.args.defaults
    found = dict(zip(names[len(names) - len(last) :], last, strict=True))
    found.update(zip(names, given, strict=False))
    twice = [name for name in named if name in names[: len(given)]]
    unknown = [name for name in named if name not in names]
    if twice or unknown:
        return f"has no parameter for '{(twice or unknown)[0]}'"
    found.update(named)
    missing = [name for name in names if name not in found]
    return f"is passed nothing for '{missing[0]}'" if missing else [found[name] for name in names]
