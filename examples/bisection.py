"""Roots by bisection: each work item halves its own interval until that is small.

    python examples/bisection.py

How often depends on the number, so each item has a loop of its own that ends where its condition
does.
"""

import numpy as np

import polygen as pg


def make_kernel() -> pg.Kernel:
    """Return a kernel that finds where ``x*exp(x)`` is ``a[i]``, between 0 and ``a[i]``."""
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [t]: 0<=t }"],
        """
        for i
            <> low = 0.0
            <> high = a[i]
            <int32> count = 0
            for t while high - low > 1e-12*high
                <> middle = 0.5*(low + high)
                <> above = middle*exp(middle) - a[i]
                break if above == 0
                if above > 0
                    high = middle
                else
                    low = middle
                end
                count = count + 1
            end
            root[i] = 0.5*(low + high)
            halvings[i] = count
        end
        """,
        [pg.GlobalArg("a", np.float64, "n"), "..."],
        seq_dependencies=True,
        name="bisection",
    )


def on_work_items() -> pg.Kernel:
    """Return the kernel with a work item for each number."""
    return pg.split_iname(make_kernel(), "i", 64, outer_tag="g.0", inner_tag="l.0")


def main() -> None:
    print(pg.generate_code(on_work_items(), "opencl"))
    numbers = np.linspace(0.1, 200, 1001)
    for knl in (make_kernel(), on_work_items()):
        for target in ("c", "opencl"):
            _, (halvings, root) = knl.executor(target)(a=numbers)
            np.testing.assert_allclose(root * np.exp(root), numbers, rtol=1e-10)
            assert 0 < halvings.min() < halvings.max() < 100
    print("All roots agree.")


if __name__ == "__main__":
    main()
