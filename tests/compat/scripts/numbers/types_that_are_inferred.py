"""Types of results and temporaries by inference: mixed arguments, integers with floats."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> both = a[i] + b[i]
    wide[i] = both*2
    narrow[i] = a[i]*3
    whole[i] = k[i]*2 + 1
    mixed[i] = k[i]*a[i]
    turned[i] = z[i]*a[i]
    """,
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"a": np.float32, "b": np.float64, "k": np.int16, "z": np.complex64})
knl = lp.infer_unknown_types(knl, expect_completion=True)
inner = knl.default_entrypoint
dtypes = {
    name: str(inner.arg_dict[name].dtype.numpy_dtype) for name in ("wide", "narrow", "turned")
}
both = inner.temporary_variables["both"].dtype.numpy_dtype

RESULTS = {**dtypes, "both": str(both), "whole": inner.arg_dict["whole"].dtype.numpy_dtype.kind}
EXPECTED = {
    "wide": "float64",
    "narrow": "float32",
    "turned": "complex64",
    "both": "float64",
    "whole": "i",
}
