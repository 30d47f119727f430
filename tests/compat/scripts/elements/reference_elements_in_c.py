"""Values of hat functions at points in C: a Vandermonde matrix by recurrence, sequential in k."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<n and 2<=k<m }",
    """
    for i
        V[i,0] = 1 {id=v0}
        V[i,1] = x[i] {id=v1, nosync=v0}
        V[i,k] = ((2*k - 1)*x[i]*V[i,k-1] - (k - 1)*V[i,k-2])/k {id=vk, dep=v0:v1}
    end
    """,
    [
        lp.GlobalArg("x", np.float64, shape="n"),
        lp.GlobalArg("V", np.float64, shape="n,m", is_input=False),
        lp.ValueArg("n,m", np.int32),
    ],
    name="legendre",
    assumptions="m>=3",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, m=8)
x = np.linspace(-1, 1, 15)
evt, (V,) = knl(x=x)

RESULTS = {"V": V}
EXPECTED = {"V": np.polynomial.legendre.legvander(x, 7)}
