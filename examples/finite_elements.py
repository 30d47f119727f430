"""The two costly kernels of a discontinuous Galerkin method: volume and surface terms.

    python examples/finite_elements.py

Tetrahedra, of any order.  The volume kernel applies three matrices of derivatives to the values of
each element, and the element's own map to the results.  The surface kernel looks up the neighbours'
values, and lifts jumps from the four faces to all nodes.

Two recipes for either.  For low orders an element is a work item's, and the matrices are numbers in
the code: nothing of them is loaded.  For high orders an item has a tile of a few nodes of a few
elements in registers, as in a product of matrices; rows of the matrix are copied to local memory
while the ones before are used.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import polygen as pg

Matrices = NDArray[np.float32]
ITEMS = 64  # of a group, if they have an element each
LANES = 4  # nodes of a work item, if it has a tile
OWN = 8  # elements of it


def nodes(order: int) -> int:
    return (order + 1) * (order + 2) * (order + 3) // 6


def face_nodes(order: int) -> int:
    return (order + 1) * (order + 2) // 2


def matrices(name: str, shape: tuple[int, ...], known: Matrices | None) -> Any:
    """Return an argument, or a table that is a part of the kernel."""
    if known is None:
        return pg.GlobalArg(name, "float32", shape, alignment=16)
    return pg.TemporaryVariable(
        name, initializer=known, read_only=True, address_space=pg.AddressSpace.GLOBAL
    )


def make_volume(order: int, D: Matrices | None = None) -> pg.Kernel:
    n = nodes(order)
    return pg.make_kernel(
        [f"{{ [e, i]: 0<=e<elements and 0<=i<{n} }}", f"{{ [j]: 0<=j<{n} }}"],
        """
        <> ur = sum(j, D[0, j, i]*u[e, j])
        <> us = sum(j, D[1, j, i]*u[e, j])
        <> ut = sum(j, D[2, j, i]*u[e, j])
        gradient[0, e, i] = ur*geo[e, 0, 0] + us*geo[e, 1, 0] + ut*geo[e, 2, 0]
        gradient[1, e, i] = ur*geo[e, 0, 1] + us*geo[e, 1, 1] + ut*geo[e, 2, 1]
        gradient[2, e, i] = ur*geo[e, 0, 2] + us*geo[e, 1, 2] + ut*geo[e, 2, 2]
        """,
        [
            matrices("D", (3, n, n), D),
            pg.GlobalArg("u", "float32", f"elements, {n}", alignment=16),
            pg.GlobalArg("geo", "float32", "elements, 3, 3"),
            pg.GlobalArg("gradient", "float32", f"3, elements, {n}", alignment=16),
            "...",
        ],
        name="volume",
    )


def make_surface(order: int, lift: Matrices | None = None) -> pg.Kernel:
    n, f = nodes(order), face_nodes(order)
    return pg.make_kernel(
        [f"{{ [e, i]: 0<=e<elements and 0<=i<{n} }}", f"{{ [q]: 0<=q<{4 * f} }}"],
        f"""
        flux(q) := scale[e, q//{f}]*(u[outside[e, q]] - u[inside[e, q]])
        change[e, i] = sum(q, lift[q, i]*flux(q))
        """,
        [
            matrices("lift", (4 * f, n), lift),
            pg.GlobalArg("u", "float32", f"elements*{n}"),
            pg.GlobalArg("scale", "float32", "elements, 4"),
            pg.GlobalArg("outside, inside", "int32", f"elements, {4 * f}", alignment=16),
            pg.GlobalArg("change", "float32", f"elements, {n}", alignment=16),
            "...",
        ],
        name="surface",
    )


def in_turn(
    knl: pg.Kernel, loops: tuple[str, ...], items: tuple[int, ...], lanes: int = LANES
) -> pg.Kernel:
    """Share the iterations of some loops among the items of a group: each takes the next ones."""
    name = f"{loops[0]}_all"
    knl = pg.join_inames(knl, loops, name)
    if lanes > 1:
        knl = pg.split_iname(knl, name, lanes, outer_iname=f"{name}_at", inner_tag="vec")
        name = f"{name}_at"
    knl = pg.split_iname(
        knl, name, int(np.prod(items)), inner_iname=f"{name}_item", outer_tag="unr"
    )
    if len(items) == 1:
        return pg.tag_inames(knl, {f"{name}_item": "l.0"})
    return pg.split_iname(knl, f"{name}_item", items[0], outer_tag="l.1", inner_tag="l.0")


def written_together(knl: pg.Kernel, name: str) -> pg.Kernel:
    """Let a group gather its results in local memory, and write them as they lie in memory."""
    there = set(knl.inames)
    knl = pg.buffer_array(knl, name, "e_inner, i", temporary_scope="local", default_tag=None)
    *outer, element, node = (iname for iname in knl.inames if iname not in there)
    return pg.tag_inames(in_turn(knl, (element, node), (ITEMS,)), dict.fromkeys(outer, "unr"))


# --- an element of each work item, and matrices in the code


def by_elements(knl: pg.Kernel) -> pg.Kernel:
    knl = pg.assume(knl, f"elements mod {ITEMS} = 0 and elements >= 1")
    return pg.split_iname(knl, "e", ITEMS, outer_tag="g.0", inner_tag="l.0")


def own(knl: pg.Kernel, name: str, *swept: str) -> pg.Kernel:
    """Let each work item keep what it needs of an array in registers."""
    return pg.add_prefetch(
        knl,
        name,
        swept,
        fetch_outer_inames="e_outer, e_inner",
        temporary_name=f"{name}_own",
        temporary_address_space=pg.AddressSpace.PRIVATE,
        default_tag="unr",
    )


def volume_in_code(order: int, D: Matrices) -> pg.Kernel:
    """Return the volume kernel with the matrices as numbers in the code."""
    knl = pg.add_prefetch(
        by_elements(make_volume(order, D)),
        "u",
        "e_inner, j",
        dim_arg_names=("element", "node"),
        fetch_outer_inames="e_outer",
        temporary_name="values",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
    )
    knl = in_turn(knl, ("element", "node"), (ITEMS,))
    knl = own(own(knl, "values", "j"), "geo")
    knl = pg.add_dtypes(pg.tag_inames(knl, "j: unr"), {"geo": "float32"})
    return pg.tag_inames(written_together(knl, "gradient"), "i: unr")


def surface_in_code(order: int, lift: Matrices) -> pg.Kernel:
    """Return the surface kernel with the matrix as numbers in the code; each flux is found once."""
    knl = with_fluxes(by_elements(make_surface(order, lift)), "e_inner, q")
    knl = in_turn(knl, ("element", "node"), (ITEMS,), lanes=1)
    knl = pg.tag_inames(own(knl, "fluxes", "q"), "q: unr")
    return pg.tag_inames(written_together(knl, "change"), "i: unr")


def with_fluxes(knl: pg.Kernel, swept: str) -> pg.Kernel:
    """Let a group find the fluxes of its elements, and keep them in local memory."""
    return pg.precompute(
        knl,
        "flux",
        swept,
        precompute_outer_inames="e_outer",
        precompute_inames=("element", "node"),
        temporary_name="fluxes",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
    )


# --- a tile of each work item


def by_tiles(knl: pg.Kernel, down: int, iname: str, deep: int) -> pg.Kernel:
    """Divide elements and nodes among items, and the rows of the matrix into pieces."""
    knl = pg.assume(knl, f"elements mod {OWN * down} = 0 and elements >= 1")
    knl = pg.split_iname(knl, "e", OWN * down, outer_tag="g.0")
    knl = pg.split_iname(knl, "e_inner", OWN, outer_tag="l.1", inner_tag="ilp")
    knl = pg.split_iname(knl, "i", LANES, outer_tag="l.0", inner_tag="vec")
    return pg.split_iname(knl, iname, deep, outer_iname="piece", inner_iname="row")


def with_pieces(
    knl: pg.Kernel, name: str, dims: tuple[str, ...], items: tuple[int, int], *, ahead: bool
) -> pg.Kernel:
    """Let a group copy a piece of a matrix to local memory, while it uses the one before.

    Parameters:
        knl: the kernel.
        name: the matrix.
        dims: what the loops over its axes are called: all but the last are shared along l.1.
        items: the work items of a group.
        ahead: whether there is room for two pieces.
    """
    across, down = items
    knl = pg.add_prefetch(
        knl,
        name,
        "row, i_outer, i_inner",
        dims,
        fetch_outer_inames="e_outer, piece",
        temporary_name="rows",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
        vector_width=LANES,
        asynchronous=True,
    )
    if len(dims) > 2:
        knl = pg.join_inames(knl, dims[:-1], "copied")
    copied = "copied" if len(dims) > 2 else dims[0]
    knl = pg.split_iname(knl, copied, down, outer_tag="unr", inner_tag="l.1")
    knl = pg.split_iname(knl, f"{dims[-1]}_outer", across, outer_tag="unr", inner_tag="l.0")
    return pg.double_buffer(knl, "rows", "piece") if ahead else knl


def with_registers(knl: pg.Kernel, values: str) -> pg.Kernel:
    """Let an item read four values of each of its elements at once, and of a row what it needs."""
    knl = pg.split_iname(knl, "row", LANES, inner_tag="unr")
    around = "e_outer, e_inner_outer, i_outer, piece, row_outer"
    for name, swept, more in (
        (values, "e_inner_inner, row_inner", ""),
        ("rows", "i_inner", ", row_inner"),
    ):
        knl = pg.add_prefetch(
            knl,
            name,
            swept,
            fetch_outer_inames=around + more,
            temporary_name=f"own_{name}",
            temporary_address_space=pg.AddressSpace.PRIVATE,
            default_tag="unr",
            vector_width=LANES,
        )
    return pg.prioritize_loops(knl, "piece, row_outer, row_inner")


def volume_in_tiles(order: int, down: int = 8, deep: int = 28, *, ahead: bool = True) -> pg.Kernel:
    """Return the volume kernel with the values of a group's elements in local memory."""
    items = nodes(order) // LANES, down
    knl = pg.add_prefetch(
        by_tiles(make_volume(order), down, "j", deep),
        "u",
        "e_inner_outer, e_inner_inner, piece, row",
        dim_arg_names=("element", "node"),
        fetch_outer_inames="e_outer",
        temporary_name="values",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
        vector_width=LANES,
        asynchronous=True,
    )
    knl = pg.split_iname(knl, "node_outer", items[0], outer_tag="unr", inner_tag="l.0")
    knl = pg.split_iname(knl, "element", down, outer_tag="unr", inner_tag="l.1")
    knl = with_pieces(knl, "D", ("which", "matrix_row", "column"), items, ahead=ahead)
    knl = pg.add_dtypes(knl, {"values": "float32", "rows": "float32"})
    return with_registers(knl, "values")


def surface_in_tiles(order: int, down: int = 8, deep: int = 28, *, ahead: bool = True) -> pg.Kernel:
    """Return the surface kernel with the fluxes of a group's elements in local memory."""
    items = nodes(order) // LANES, down
    knl = by_tiles(make_surface(order), down, "q", deep)
    knl = with_fluxes(knl, "e_inner_outer, e_inner_inner, piece, row")
    knl = in_turn(knl, ("element", "node"), items, lanes=1)
    knl = with_pieces(knl, "lift", ("matrix_row", "column"), items, ahead=ahead)
    knl = pg.add_dtypes(knl, {"fluxes": "float32", "rows": "float32"})
    return with_registers(knl, "fluxes")


# --- checks


def random_mesh(order: int, elements: int, near: int = 10) -> dict[str, Any]:
    """Return values, and which are beside which: element to element, node to node of a face.

    Numbers of elements beside each other differ by `near` at most.
    """
    rng = np.random.default_rng(seed=elements)
    n, f = nodes(order), face_nodes(order)
    faces = np.stack([rng.choice(n, f, replace=False) for _ in range(4)])
    own = np.arange(elements)[:, None, None]
    beside = (own + rng.integers(-near, near, size=(elements, 4, 1), endpoint=True)) % elements
    return {
        "u": rng.normal(size=elements * n).astype(np.float32),
        "scale": rng.uniform(1, 2, size=(elements, 4)).astype(np.float32),
        "inside": (n * own + faces).astype(np.int32).reshape(elements, 4 * f),
        "outside": (n * beside + faces[rng.integers(0, 4, size=(elements, 4))])
        .astype(np.int32)
        .reshape(elements, 4 * f),
    }


def check_volume(knl: pg.Kernel, target: str, D: Matrices, elements: int) -> None:
    rng = np.random.default_rng(seed=elements)
    u, geo = (rng.normal(size=(elements, *s)).astype(np.float32) for s in (D.shape[1:2], (3, 3)))
    given = {} if knl.temporaries and "D" in {t.name for t in knl.temporaries} else {"D": D}
    _, (found,) = knl.executor(target)(u=u, geo=geo, **given)
    expected = np.einsum("rji,ej,erx->xei", D, u, geo, dtype=np.float64)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def check_surface(knl: pg.Kernel, target: str, lift: Matrices, order: int, elements: int) -> None:
    mesh = random_mesh(order, elements)
    scale = np.repeat(mesh["scale"], face_nodes(order), axis=1)
    flux = scale * (mesh["u"][mesh["outside"]] - mesh["u"][mesh["inside"]])
    given = {} if "lift" in {t.name for t in knl.temporaries} else {"lift": lift}
    _, (found,) = knl.executor(target)(**mesh, **given)
    np.testing.assert_allclose(found, flux.astype(float) @ lift, atol=1e-4)


def main() -> None:
    rng = np.random.default_rng(1)

    def some(*shape: int) -> Matrices:
        return rng.normal(size=shape).astype(np.float32)

    D, lift = some(3, nodes(1), nodes(1)), some(4 * face_nodes(1), nodes(1))
    in_code = volume_in_code(1, D), surface_in_code(1, lift)
    larger, lifting = some(3, nodes(3), nodes(3)), some(4 * face_nodes(3), nodes(3))
    in_tiles = volume_in_tiles(3, 4, 4), surface_in_tiles(3, 4, 8)
    for knl in (*in_code, *in_tiles):
        print(pg.generate_code(knl, "opencl"))
    for target in ("opencl", "c"):
        check_volume(in_code[0], target, D, 2 * ITEMS)
        check_surface(in_code[1], target, lift, 1, 2 * ITEMS)
        check_volume(in_tiles[0], target, larger, 2 * ITEMS)
        check_surface(in_tiles[1], target, lifting, 3, 2 * ITEMS)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
