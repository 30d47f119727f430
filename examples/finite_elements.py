"""The two costly kernels of a discontinuous Galerkin method: over volumes, and over surfaces.

    python examples/finite_elements.py

Tetrahedra of 20 nodes, 10 of them on each of the four faces.  The volume kernel applies three
matrices of derivatives to each element, and the element's own map to the results.  The surface
kernel looks up the neighbours' values, and lifts jumps from the faces to all nodes.
"""

from typing import Any

import numpy as np

import polygen as pg

NODES, FACES, FACE_NODES = 20, 4, 10
ELEMENTS = 4  # of a group


def make_volume() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [e, i]: 0<=e<elements and 0<=i<nodes }", "{ [j]: 0<=j<nodes }"],
        """
        <> ur = sum(j, D[0, i, j]*u[e, j])
        <> us = sum(j, D[1, i, j]*u[e, j])
        <> ut = sum(j, D[2, i, j]*u[e, j])
        gradient[0, e, i] = ur*geo[e, 0, 0] + us*geo[e, 1, 0] + ut*geo[e, 2, 0]
        gradient[1, e, i] = ur*geo[e, 0, 1] + us*geo[e, 1, 1] + ut*geo[e, 2, 1]
        gradient[2, e, i] = ur*geo[e, 0, 2] + us*geo[e, 1, 2] + ut*geo[e, 2, 2]
        """,
        name="volume",
    )
    return pg.fix_parameters(knl, nodes=NODES)


def make_surface() -> pg.Kernel:
    knl = pg.make_kernel(
        [
            "{ [e, i]: 0<=e<elements and 0<=i<nodes }",
            "{ [f, p]: 0<=f<faces and 0<=p<face_nodes }",
        ],
        """
        flux(f, p) := scale[e, f]*(u[outside[e, f, p]] - u[inside[e, f, p]])
        change[e, i] = sum((f, p), lift[i, f, p]*flux(f, p))
        """,
        [pg.GlobalArg("u", shape="elements*nodes"), "..."],
        name="surface",
    )
    return pg.fix_parameters(knl, nodes=NODES, faces=FACES, face_nodes=FACE_NODES)


def on_the_grid(knl: pg.Kernel) -> pg.Kernel:
    """Let a group have several elements, and an item one node of one."""
    knl = pg.split_iname(knl, "e", ELEMENTS, outer_tag="g.0", inner_tag="l.1")
    return pg.tag_inames(knl, {"i": "l.0"})


def volume_with_local_values() -> pg.Kernel:
    """Read the values of a group's elements once; all of its items use them."""
    knl = on_the_grid(make_volume())
    return pg.add_prefetch(
        knl, "u", "e_inner, j", fetch_outer_inames="e_outer", default_tag="l.auto"
    )


def surface_with_local_fluxes() -> pg.Kernel:
    """Compute each flux once; all nodes of its element use it."""
    knl = pg.prioritize_loops(on_the_grid(make_surface()), "f, p")
    return pg.precompute(
        knl, "flux", "e_inner, f, p", precompute_outer_inames="e_outer", default_tag="l.auto"
    )


def check_volume(knl: pg.Kernel, target: str, elements: int) -> None:
    rng = np.random.default_rng(seed=elements)
    shapes = (3, NODES, NODES), (elements, 3, 3), (elements, NODES)
    D, geo, u = (rng.normal(size=shape) for shape in shapes)
    _, (found,) = knl.executor(target)(D=D, geo=geo, u=u)
    np.testing.assert_allclose(found, np.einsum("rij,ej,erx->xei", D, u, geo), atol=1e-12)


def random_mesh(elements: int) -> dict[str, Any]:
    """Return data of the right form: whose values are beside whose, and how faces are scaled."""
    rng = np.random.default_rng(seed=elements)
    count, faces = elements * NODES, (elements, FACES, FACE_NODES)
    return {
        "u": rng.normal(size=count),
        "scale": rng.uniform(1, 2, size=(elements, FACES)),
        "lift": rng.normal(size=(NODES, FACES, FACE_NODES)),
        "inside": rng.integers(0, count, size=faces, dtype=np.int32),
        "outside": rng.integers(0, count, size=faces, dtype=np.int32),
    }


def check_surface(knl: pg.Kernel, target: str, elements: int) -> None:
    mesh = random_mesh(elements)
    jump = mesh["u"][mesh["outside"]] - mesh["u"][mesh["inside"]]
    expected = np.einsum("ifp,ef,efp->ei", mesh["lift"], mesh["scale"], jump)
    _, (found,) = knl.executor(target)(**mesh)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def main() -> None:
    volume, surface = volume_with_local_values(), surface_with_local_fluxes()
    print(pg.generate_code(pg.add_dtypes(volume, {"D, geo, u": np.float32}), "opencl"))
    types = {"u, scale, lift": np.float32, "inside, outside": np.int32}
    print(pg.generate_code(pg.add_dtypes(surface, types), "opencl"))
    for target in ("opencl", "c"):
        for elements in (1, 4, 7):
            check_volume(volume, target, elements)
            check_surface(surface, target, elements)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
