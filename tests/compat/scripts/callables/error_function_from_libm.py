"""erf and cbrt of libm in a C kernel: a callable of one's own whose preamble includes math.h."""

from math import erf

import loopy as lp
import numpy as np


class LibmFunction(lp.ScalarCallable):
    """A function of one double."""

    def with_types(self, arg_id_to_dtype, callables_table):
        for key in arg_id_to_dtype:
            if key not in (-1, 0):
                raise lp.LoopyError(f"{self.name} takes one argument")
        double = lp.to_loopy_type(np.dtype(np.float64))
        return (
            self.copy(name_in_target=self.name, arg_id_to_dtype={0: double, -1: double}),
            callables_table,
        )

    def generate_preambles(self, target):
        if not isinstance(target, lp.CFamilyTarget):
            return
        yield ("00_math", "#include <math.h>")


knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> z = (x[i] - mu) / (sigma*1.4142135623730951)
    cdf[i] = 0.5*(1 + erf(z))
    root[i] = cbrt(x[i])
    """,
    [
        lp.GlobalArg("x, cdf, root", np.float64, shape="n"),
        lp.ValueArg("mu, sigma", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
for name in ("erf", "cbrt"):
    knl = lp.register_callable(knl, name, LibmFunction(name))

x = np.linspace(-3, 4, 29)
evt, (cdf, root) = knl(x=x, mu=0.5, sigma=1.5)

RESULTS = {"cdf": cdf, "root": root}
EXPECTED = {
    "cdf": np.array([0.5 * (1 + erf((v - 0.5) / (1.5 * 2**0.5))) for v in x]),
    "root": np.cbrt(x),
}
