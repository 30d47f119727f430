"""`register_preamble_generators`: texts that the generated source begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES
from polygen.source import caller_location
from polygen.transformation import to_functions, transformation


@dataclass(frozen=True)
class PreambleInfo:
    """The arguments of a generator of preambles.

    Attributes:
        kernel: the kernel.
        target: the name of the target that the text is for.
    """

    kernel: Kernel
    target: str


@transformation(declared=True, says_more=True)
def register_preamble_generators(
    kernel: Kernel, preamble_generators: Iterable[Callable[[PreambleInfo], Any]]
) -> Kernel:
    r"""Let the generated source begin with texts of one's own.

    Each generator is called at once, for each target, and yields pairs of a key and a text.  The
    texts come in the order of their keys, each once; of two with one key the later one counts.

    Kind: change of meaning, for the texts are pasted as they are.

    Requires:

    1. Keys are identifiers, or begin with digits.

    Parameters:
        kernel: the kernel.
        preamble_generators: functions of a `PreambleInfo`.

    Before -> After:

    >>> import numpy as np
    >>> import polygen as pg
    >>> def limits(info):
    ...     if info.target == "c":
    ...         yield "10_limits", "#include <limits.h>"
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]")
    >>> knl = pg.register_preamble_generators(knl, [limits])
    >>> print(str(knl).partition("PREAMBLES:\n")[2].partition("\n---")[0])
    10_limits in c: '#include <limits.h>'
    >>> str(pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), "c")).split("\n")[0]
    '#include <limits.h>'

    Raises:
        InvalidArgument: if something else is yielded, or 1 does not hold.

    Source: Loo.py's function of this name.
    """
    texts = {(target, key): text for target, key, text in kernel.preambles}
    for generator in to_functions(preamble_generators):
        for target in sorted(TARGET_NAMES):
            for pair in generator(PreambleInfo(kernel, target)) or ():
                key, text = _checked(pair)
                texts[target, key] = text
    return kernel.copy(preambles=tuple(sorted((*place, text) for place, text in texts.items())))


def _checked(pair: object) -> tuple[str, str]:
    parts: Any = cast("Any", pair) if isinstance(pair, tuple) else ()
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        what = f"{pair!r}, which is no pair of texts"
    elif not parts[0].replace("_", "x").isalnum():
        what = f"the key {parts[0]!r}"
    else:
        return parts[0], parts[1]
    raise InvalidArgument(
        f"a generator of preambles yields {what}",
        where=caller_location(),
        remedy="yield a key, such as '10_limits', and the text",
    )
