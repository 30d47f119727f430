"""Guesses of sizes that are not numbers: to choose by, never to prove anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import mul

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import to_val
from polygen.ir import expression as ex
from polygen.ir.domain import unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.sizes import products

_SIZE = 1024


@per_kernel
def likely_sizes(kernel: Kernel) -> dict[str, int]:
    """Return a value for each parameter: one for all, or the product that it is."""
    sizes = dict.fromkeys(kernel.parameters, _SIZE)
    for size in products(kernel.derived_sizes):
        factors = [max(0, likely(f, sizes)) for f in size.factors]
        sizes[size.name] = reduce(mul, factors, 1)
    return sizes


def likely(node: Expression, sizes: dict[str, int]) -> int:
    """Return a polynomial in sizes for values of these; a part that is no such thing is a size."""
    if isinstance(node, ex.Sum):
        return sum(likely(child, sizes) for child in node.children)
    if isinstance(node, ex.Product):
        return reduce(mul, (likely(child, sizes) for child in node.children), 1)
    form = linear_form(node)
    if form is None:
        return _SIZE
    terms = (
        n * sizes.get(t, _SIZE) if isinstance(t, str) else n * _SIZE for t, n in form.terms.items()
    )
    return form.constant + sum(terms)


@per_kernel
def likely_extent(kernel: Kernel, iname: str) -> int:
    """Return how many values an iname is likely to have, from the least to the largest."""
    return extent_for(kernel, iname, likely_sizes(kernel))


def extent_for(kernel: Kernel, iname: str, sizes: Mapping[str, int]) -> int:
    """Return how many values an iname has for sizes, from the least to the largest."""
    points = domain_of(kernel, with_surrounding(kernel, [iname]))
    for name, value in sizes.items():
        place = points.find_dim_by_name(isl.dim_type.param, name)
        if place >= 0:
            points = points.fix_val(isl.dim_type.param, place, to_val(value))
    axis = unflatten(points, [iname])
    if axis.is_empty():
        return 0
    ends = (axis.dim_min(0), axis.dim_max(0))
    least, most = (isl.Set.from_pw_aff(end) for end in ends)
    first, last = least.dim_min_val(0), most.dim_max_val(0)
    return last.to_python() - first.to_python() + 1 if first.is_int() and last.is_int() else _SIZE


def likely_instances(kernel: Kernel, inames: Iterable[str]) -> int:
    """Return how often something within some inames is likely to be executed, at most."""
    return reduce(mul, (likely_extent(kernel, iname) for iname in inames), 1)
