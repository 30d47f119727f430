"""`polygen.fold_constants`."""

from __future__ import annotations

from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation

_MOST = 2**31 - 1  # what every target's int holds


@transformation
def fold_constants(kernel: Kernel) -> Kernel:
    """Compute what consists of integers alone.

    Sums, products, powers, ``//``, ``%``, minima and maxima of integers become their value, if
    that fits in 32 bits.  Floating-point numbers stay: in another precision they would be rounded
    otherwise.
    A product such as ``2*3*x`` stays, too: it is computed from left to right, as it is written.

    Kind: expression rewrite.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i + 2*3] = a[max(1, 5 % 3)] + 7//2")
        >>> print(str(knl).splitlines()[-2])
        [i] out[i + 2*3] = a[max(1, 5 % 3)] + 7//2  {id=insn}
        >>> print(str(pg.fold_constants(knl)).splitlines()[-2])
        [i] out[i + 6] = a[2] + 3  {id=insn}

    Source: Loo.py's transformation of this name.
    """

    def folded(node: Expression) -> Expression:
        return walk.rewrite(node, _value)

    return kernel.copy(
        instructions=tuple([insn.map_expressions(folded) for insn in kernel.instructions])
    )


def _value(node: Expression) -> Expression:
    """Return the value of an operation on integers; what is something else stays."""
    if not walk.parts(node) or not all(_is_integer(p) for p in walk.parts(node)):
        return node
    if isinstance(node, ex.Min | ex.Max):
        constants = [p for p in walk.parts(node) if isinstance(p, int)]
        return min(constants) if isinstance(node, ex.Min) else max(constants)
    if isinstance(node, ex.Power):
        return _power(node)
    if not isinstance(node, ex.Sum | ex.Product | ex.FloorDiv | ex.Remainder):
        return node
    form = linear_form(node)
    return form.constant if form is not None and abs(form.constant) <= _MOST else node


def _power(node: ex.Power) -> Expression:
    """Return the value of a power of integers; of a negative one, there is none."""
    base, exponent = node.base, node.exponent
    if not (isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent < 32):
        return node
    value = base**exponent
    return value if abs(value) <= _MOST else node


def _is_integer(node: Expression) -> bool:
    return isinstance(node, int) and not isinstance(node, bool)
