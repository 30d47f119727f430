"""Jacobi's iteration, and conjugate gradients, each until the residual is small.

    python examples/conjugate_gradients.py

The loop ends where a condition does, which the kernel computes.  On a device, each step is a few
launches, and the loop around them runs on the host: it reads whether to go on before every eighth
step, since steps beyond the end do nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import polygen as pg

DOMAINS = ["{ [i, j, k]: 0<=i,j,k<n }", "{ [t]: 0<=t }"]


def scalars(*names: str) -> list[Any]:
    """Return scalars of which polygen finds out who shares them."""
    return [pg.TemporaryVariable(name, np.float64, address_space=pg.auto) for name in names]


def jacobi() -> pg.Kernel:
    """Return a kernel that solves ``4 x[i] - x[i-1] - x[i+1] = b[i]``, with zeros around."""
    return pg.make_kernel(
        DOMAINS,
        """
        left = 1.0
        for t while left > tolerance
            for i
                y[i] = (b[i] + if(i > 0, x[i-1], 0) + if(i < n-1, x[i+1], 0)) / 4
            end
            left = sum(j, (y[j] - x[j])**2)
            for k
                x[k] = y[k]
            end
        end
        """,
        [
            pg.GlobalArg("x, b", np.float64, "n"),
            pg.TemporaryVariable("y", np.float64, "n", pg.AddressSpace.GLOBAL),
            pg.ValueArg("tolerance", np.float64),
            *scalars("left"),
            "...",
        ],
        seq_dependencies=True,
        name="jacobi",
    )


def conjugate_gradients() -> pg.Kernel:
    """Return a kernel that solves the same by conjugate gradients, from 0 on."""
    return pg.make_kernel(
        [*DOMAINS, "{ [i0, j0, k0, l]: 0<=i0,j0,k0,l<n }"],
        """
        for i0
            x[i0] = 0
            r[i0] = b[i0]
            p[i0] = b[i0]
        end
        rr = sum(j0, b[j0]*b[j0])
        for t while rr > tolerance
            for i
                q[i] = 4*p[i] - if(i > 0, p[i-1], 0) - if(i < n-1, p[i+1], 0)
            end
            alpha = rr / sum(j, p[j]*q[j])
            for k
                x[k] = x[k] + alpha*p[k]
                r[k] = r[k] - alpha*q[k]
            end
            rest = sum(k0, r[k0]*r[k0])
            for l
                p[l] = r[l] + rest/rr*p[l]
            end
            rr = rest
        end
        """,
        [
            pg.GlobalArg("x, b", np.float64, "n"),
            *[
                pg.TemporaryVariable(name, np.float64, "n", pg.AddressSpace.GLOBAL)
                for name in "rpq"
            ],
            pg.ValueArg("tolerance", np.float64),
            *scalars("rr", "alpha", "rest"),
            "...",
        ],
        seq_dependencies=True,
        name="conjugate_gradients",
    )


def on_grid(knl: pg.Kernel, loops: str, sums: str) -> pg.Kernel:
    """Return a kernel with a work item for each element, and sums of 128 work items."""
    for iname in loops.split():
        knl = pg.split_iname(knl, iname, 128, outer_tag="g.0", inner_tag="l.0")
    for iname in sums.split():
        knl = pg.split_iname(knl, iname, 128, inner_tag="l.0")
    return pg.set_options(knl, check_every=8)


def kernels() -> list[pg.Kernel]:
    """Return both kernels, for one thread and for a grid."""
    return [
        jacobi(),
        on_grid(jacobi(), "i k", "j"),
        conjugate_gradients(),
        on_grid(conjugate_gradients(), "i0 i k l", "j0 j k0"),
    ]


def solved(b: NDArray[np.float64]) -> Any:
    n = len(b)
    return np.linalg.solve(4 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1), b)


def main() -> None:
    print(pg.generate_code(conjugate_gradients(), "c"))
    b = np.random.default_rng(seed=5).normal(size=300)
    for knl in kernels():
        for target in ("c", "opencl") if knl.tags else ("c",):
            x = np.zeros_like(b)
            knl.executor(target)(x=x, b=b, tolerance=1e-24)
            np.testing.assert_allclose(x, solved(b), rtol=1e-9, atol=1e-11)
    print("All solutions agree.")


if __name__ == "__main__":
    main()
