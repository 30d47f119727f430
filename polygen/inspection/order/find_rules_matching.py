"""`polygen.find_rules_matching`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from polygen.ir.kernel import Kernel
from polygen.ir.public import public


@public
def find_rules_matching(kernel: Kernel, pattern: str) -> tuple[str, ...]:
    """Return the names of the substitution rules that match a pattern, in their order.

    Parameters:
        kernel: the kernel.
        pattern: a name, in which ``*`` stands for any letters, ``?`` for one, ``[ab]`` for one of
            these.

    Raises:
        InvalidArgument: if the pattern is no text.

    Source: Loo.py's function of this name.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i]: 0<=i<n }",
    ...     ["load_a(k) := a[k] + 1", "load_b(k) := b[k]", "out[i] = load_a(i)*load_b(n - 1 - i)"],
    ... )
    >>> pg.find_rules_matching(knl, "load_*")
    ('load_a', 'load_b')
    >>> pg.find_rules_matching(knl, "store_*")
    ()
    """
    return tuple([name for name in kernel.rules if fnmatchcase(name, pattern)])
