"""Mathematical functions for several numbers at once, of which glibc has some for x86: libmvec.

Their results differ from the usual ones' by up to 4 units in the last place; what is said of NaN,
infinities, zeros and subnormal numbers holds for them, too.  A compiler calls them in loops that it
vectorises, if it is told that they are there; glibc's header does so under -ffast-math alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# The versions of glibc that added them.
_SINCE = {
    **dict.fromkeys("cos exp log pow sin".split(), "2, 22"),  # noqa: SIM905
    **dict.fromkeys(
        """acos acosh asin asinh atan atan2 atanh cbrt cosh erf erfc exp10 exp2 expm1 hypot log10
        log1p log2 sinh tan tanh""".split(),  # noqa: SIM905
        "2, 35",
    ),
}
_TWO_OPERANDS = ("atan2", "hypot", "pow")
_CALL = re.compile(rf"\b({'|'.join(_SINCE)})(f?)\(")


def vector_functions(texts: Iterable[str]) -> list[str]:
    """Return what C begins with so that functions are called for vectors where that is possible.

    Parameters:
        texts: the source, which calls them for numbers.
    """
    called = sorted({found for text in texts for found in _CALL.findall(text)})
    lines: list[str] = []
    for version in sorted({_SINCE[name] for name, _ in called}):
        lines.append(f"#if __GLIBC_PREREQ({version})")
        lines += [_declaration(n, suffix) for n, suffix in called if _SINCE[n] == version]
        lines.append("#endif")
    if not lines:
        return []
    known = "defined __x86_64__ && defined __GLIBC_PREREQ"
    wanted = "!defined __clang__ && !defined PG_SCALAR_MATH"
    return ["\n".join([f"#if {known} && {wanted}", *lines, "#endif"])]


def _declaration(name: str, suffix: str) -> str:
    kind = "float" if suffix else "double"
    operands = ", ".join([kind] * (1 + (name in _TWO_OPERANDS)))
    return f'__attribute__((simd("notinbranch"))) {kind} {name}{suffix}({operands});'
