"""Loo.py's own recipes for batched products, the Coulomb potential and finite elements.

As its documentation and its paper have them: tiles that are prefetched to local memory, work items
along the axes of what is computed, and several elements an item (`ilp`) where that is faster.
"""

from __future__ import annotations

from typing import Any

import islpy as isl
import loopy as lp
import numpy as np

from examples.finite_elements import face_nodes, nodes

# Release 2025.2 of Loo.py calls a method that islpy 2026 no longer has, for some loop bounds.
if not hasattr(isl.Aff, "is_equal"):
    isl.Aff.is_equal = isl.Aff.plain_is_equal  # type: ignore[attr-defined]

VERSION = (2018, 2)


def _array(name: str, shape: str, dtype: Any = np.float32) -> Any:
    return lp.GlobalArg(name, dtype, shape=shape, order="C")


def coulomb(items: int = 256) -> Any:
    knl = lp.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        """
        <> x = point[i, 0]
        <> y = point[i, 1]
        <> z = point[i, 2]
        dx(j) := source[j, 0] - x
        dy(j) := source[j, 1] - y
        dz(j) := source[j, 2] - z
        potential[i] = sum(j, source[j, 3]*rsqrt(dx(j)*dx(j) + dy(j)*dy(j) + dz(j)*dz(j)))
        """,
        [_array("point", "n, 3"), _array("source", "m, 4"), _array("potential", "n"), "..."],
        assumptions=f"n>=1 and m>=1 and n mod {items} = 0 and m mod {items} = 0",
        name="coulomb",
        lang_version=VERSION,
    )
    knl = lp.split_iname(knl, "i", items, outer_tag="g.0", inner_tag="l.0")
    knl = lp.split_iname(knl, "j", items)
    knl = lp.add_prefetch(
        knl,
        "source",
        ["j_inner"],
        fetch_outer_inames=frozenset({"i_outer", "j_outer"}),
        dim_arg_names=["load", "part"],
        default_tag=None,
    )
    knl = lp.tag_inames(knl, {"load": "l.0", "part": "unr"})
    return lp.prioritize_loops(knl, "j_outer, j_inner")


GROUPS = {4: 16, 8: 4, 16: 1, 32: 1}  # of those tried, the fastest on an H200


def products(size: int, dtype: str) -> Any:
    group = GROUPS[size]
    knl = lp.make_kernel(
        f"{{ [e, i, j, k]: 0<=e<n and 0<=i,j,k<{size} }}",
        "c[e, i, j] = sum(k, a[e, i, k]*b[e, k, j])",
        [*(_array(x, f"n, {size}, {size}", np.dtype(dtype).type) for x in "abc"), "..."],
        assumptions=f"n>=1 and n mod {group} = 0",
        name="products",
        lang_version=VERSION,
    )
    swept, outer = [], "e"
    if group > 1:
        knl = lp.split_iname(knl, "e", group, inner_tag="l.2")
        swept, outer = ["e_inner"], "e_outer"
    knl = lp.tag_inames(knl, {outer: "g.0", "i": "l.1", "j": "l.0"})
    for name, inames in (("a", ["i", "k"]), ("b", ["k", "j"])):
        knl = lp.add_prefetch(
            knl,
            name,
            [*swept, *inames],
            fetch_outer_inames=frozenset({outer}),
            default_tag="l.auto",
        )
    return knl


def volume(order: int) -> Any:
    n, group, own = nodes(order), 8 if order < 6 else 4, 8
    knl = lp.make_kernel(
        f"{{ [e, i, j]: 0<=e<elements and 0<=i,j<{n} }}",
        """
        <> ur = sum(j, D[0, j, i]*u[e, j])  {id=r}
        <> us = sum(j, D[1, j, i]*u[e, j])  {id=s}
        <> ut = sum(j, D[2, j, i]*u[e, j])  {id=t}
        gradient[0, e, i] = ur*geo[e,0,0] + us*geo[e,1,0] + ut*geo[e,2,0]  {dep=r:s:t}
        gradient[1, e, i] = ur*geo[e,0,1] + us*geo[e,1,1] + ut*geo[e,2,1]  {dep=r:s:t}
        gradient[2, e, i] = ur*geo[e,0,2] + us*geo[e,1,2] + ut*geo[e,2,2]  {dep=r:s:t}
        """,
        [
            _array("u", f"elements, {n}"),
            _array("D", f"3, {n}, {n}"),
            _array("geo", "elements, 3, 3"),
            _array("gradient", f"3, elements, {n}"),
            "...",
        ],
        assumptions=f"elements>=1 and elements mod {group * own} = 0",
        name="volume",
        lang_version=VERSION,
    )
    knl = lp.split_iname(knl, "e", group * own, outer_tag="g.0")
    knl = lp.split_iname(knl, "e_inner", group, outer_tag="ilp", inner_tag="l.1")
    knl = lp.tag_inames(knl, {"i": "l.0"})
    return lp.add_prefetch(
        knl,
        "u",
        ["e_inner_outer", "e_inner_inner", "j"],
        fetch_outer_inames=frozenset({"e_outer"}),
        default_tag="l.auto",
    )


def surface(order: int) -> Any:
    n, f, group = nodes(order), face_nodes(order), 8 if order < 5 else 4
    knl = lp.make_kernel(
        f"{{ [e, i, f, p]: 0<=e<elements and 0<=i<{n} and 0<=f<4 and 0<=p<{f} }}",
        f"""
        flux(f, p) := scale[e, f]*(u[outside[e, {f}*f + p]] - u[inside[e, {f}*f + p]])
        change[e, i] = sum((f, p), lift[{f}*f + p, i]*flux(f, p))
        """,
        [
            _array("u", "total"),
            _array("lift", f"{4 * f}, {n}"),
            _array("scale", "elements, 4"),
            _array("outside, inside", f"elements, {4 * f}", np.int32),
            _array("change", f"elements, {n}"),
            lp.ValueArg("total", np.int32),
            "...",
        ],
        assumptions=f"elements>=1 and elements mod {group} = 0",
        name="surface",
        lang_version=VERSION,
    )
    knl = lp.split_iname(knl, "e", group, outer_tag="g.0", inner_tag="l.1")
    knl = lp.prioritize_loops(lp.tag_inames(knl, {"i": "l.0"}), "f, p")
    knl = lp.precompute(
        knl,
        "flux",
        ["e_inner", "f", "p"],
        precompute_outer_inames=frozenset({"e_outer"}),
        precompute_inames="element, face, node",
        temporary_address_space=lp.AddressSpace.LOCAL,
        default_tag=None,
    )
    return lp.tag_inames(knl, {"element": "l.1", "node": "l.0", "face": "unr"})
