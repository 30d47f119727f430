"""A function written in C in a preamble, known to the kernel through a ScalarCallable."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)


class Limiter(lp.ScalarCallable):
    """minmod(a, b): what limits slopes."""

    def with_types(self, arg_id_to_dtype, callables_table):
        if 0 not in arg_id_to_dtype or 1 not in arg_id_to_dtype:
            return self.copy(arg_id_to_dtype=arg_id_to_dtype), callables_table
        dtype = lp.to_loopy_type(np.dtype(np.float64))
        return (
            self.copy(name_in_target="minmod", arg_id_to_dtype={0: dtype, 1: dtype, -1: dtype}),
            callables_table,
        )

    def generate_preambles(self, target):
        assert isinstance(target, lp.TargetBase)
        yield (
            "10_minmod",
            """
            inline double minmod(double a, double b)
            {
                if (a * b <= 0) return 0;
                return fabs(a) < fabs(b) ? a : b;
            }
            """,
        )


knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    "slope[i] = minmod(u[i+1] - u[i], u[i] - u[i-1])",
    [lp.GlobalArg("u, slope", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    assumptions="n >= 3",
)
knl = lp.register_callable(knl, "minmod", Limiter("minmod"))

u = np.random.default_rng(4).normal(size=43)
slope = cl.array.zeros(queue, 43, np.float64)
evt, _ = knl(queue, u=cl.array.to_device(queue, u), slope=slope)

right, left = u[2:] - u[1:-1], u[1:-1] - u[:-2]
expected = np.zeros(43)
expected[1:-1] = np.where(right * left <= 0, 0, np.where(np.abs(right) < np.abs(left), right, left))
RESULTS = {"slope": slope.get()}
EXPECTED = {"slope": expected}
