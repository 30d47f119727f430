"""`polygen.assume`."""

from __future__ import annotations

from polygen.errors import InvalidArgument
from polygen.ir.domain import Domain
from polygen.ir.kernel import Kernel
from polygen.language.assumptions import parse_assumptions
from polygen.language.named_products import NamedProducts
from polygen.source import caller_location
from polygen.transformation import transformation


@transformation(declared=True, says_more=True)
def assume(kernel: Kernel, assumptions: str) -> Kernel:
    """State what is known of the parameters, so that code need not check it.

    The assumption is printed with the kernel and checked against the parameters of every call.

    Kind: expression rewrite, by a claim.

    Requires:
        1. It can hold together with what was assumed before.

    Parameters:
        assumptions: constraints on scalar arguments, in isl's notation; a product of them is a
            derived size, as in domains.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 0")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.split_iname(knl, "i", 4, inner_tag="unr")
        >>> knl = pg.prioritize_loops(knl, "i_outer, i_inner")
        >>> knl = pg.assume(knl, "n >= 0 and n mod 4 = 0")
        >>> print(pg.generate_code(knl, "c"))
        void polygen_kernel(float *restrict a, int const n)
        {
            for (int i_outer = 0; i_outer < n / 4; ++i_outer) {
                a[4 * i_outer] = 0.0f;
                a[4 * i_outer + 1] = 0.0f;
                a[4 * i_outer + 2] = 0.0f;
                a[4 * i_outer + 3] = 0.0f;
            }
        }

    Raises:
        MalformedDomain: if it is no constraint that isl can read.
        UnknownName: if it mentions what is no scalar argument.
        InvalidArgument: if 1 does not hold.

    Source: Loo.py, section 2.1.
    """
    products = NamedProducts.of(kernel)
    stated = parse_assumptions(products.in_all(assumptions))
    known = kernel.assumptions.set.intersect(stated.set)
    if known.is_empty():
        raise InvalidArgument(
            f"the assumption '{assumptions}' contradicts what is assumed already: "
            f"{kernel.assumptions}",
            where=caller_location(),
            remedy="leave it out, or make the kernel with other assumptions",
        )
    return kernel.copy(assumptions=Domain(known), derived_sizes=products.sizes)
