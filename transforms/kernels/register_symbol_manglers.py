"""`register_symbol_manglers`: names that mean something in the generated code's language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from polygen.analysis.typing.inference import sizes
from polygen.errors import InvalidArgument, NothingMatches
from polygen.ir.array import ValueArg
from polygen.ir.callables import Symbol
from polygen.ir.kernel import Kernel
from polygen.language.functions import with_symbols
from polygen.source import caller_location
from polygen.transformation import to_functions, transformation


@transformation(declared=True, says_more=True)
def register_symbol_manglers(
    kernel: Kernel, manglers: Iterable[Callable[[Kernel, str], Any]]
) -> Kernel:
    r"""Let scalar arguments be names of the target's, such as ``FLT_MAX``, instead of arguments.

    Each mangler is called with the kernel and the name of a scalar argument.  It returns None if
    it does not know the name; or its type, and what it is called there, by target if that differs;
    and, as a third part, the text that the source has to begin with, or texts by target.

    Kind: change of interface.

    Requires:

    1. A mangler knows the name of a scalar argument.
    2. That is no size: no bound of a loop, extent, stride or subscript.

    Parameters:
        kernel: the kernel.
        manglers: functions; the first one that knows a name counts.

    Before -> After:

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = min(a[i], FLT_MAX)")
    >>> def limits(kernel, name):
    ...     if name == "FLT_MAX":
    ...         return "float32", "FLT_MAX", {"c": "#include <float.h>"}
    >>> knl = pg.register_symbol_manglers(knl, [limits])
    >>> print(str(knl).partition("FUNCTIONS:\n")[2].partition("\n---")[0])
    FLT_MAX = symbol -> float32
    FLT_MAX is *: 'FLT_MAX'
    FLT_MAX in c: '#include <float.h>'

    Raises:
        NothingMatches: if 1 does not hold.
        InvalidArgument: if 2 does not hold, or a mangler returns something else.

    Source: Loo.py's function of this name.
    """
    manglers = to_functions(manglers)
    found: dict[str, Symbol] = {}
    for argument in kernel.arguments:
        if isinstance(argument, ValueArg):
            answers = (mangler(kernel, argument.name) for mangler in manglers)
            answer = next((a for a in answers if a is not None), None)
            if answer is not None:
                found[argument.name] = _symbol(argument.name, answer)
    if not found:
        raise NothingMatches(
            f"no mangler knows a scalar argument of kernel '{kernel.name}'",
            where=caller_location(),
        )
    if counted := sorted(found.keys() & sizes(kernel)):
        raise InvalidArgument(
            f"'{counted[0]}' is a size in kernel '{kernel.name}': loops or subscripts depend on it",
            where=caller_location(),
            remedy="pass it as an argument, or fix it: fix_parameters",
        )
    return with_symbols(kernel, found)


def _symbol(name: str, answer: object) -> Symbol:
    parts: Any = cast("Any", answer) if isinstance(answer, tuple) else ()
    if len(parts) not in (2, 3) or not all(isinstance(p, str | Mapping) for p in parts[1:]):
        raise InvalidArgument(
            f"a mangler says {answer!r} of '{name}'",
            where=caller_location(),
            remedy="return a type and what the target calls it: (np.float32, 'FLT_MAX')",
        )
    return Symbol(*parts)
