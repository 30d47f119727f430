"""Finds instructions by text queries: ids, tags, globs, what they read, write and are in."""

import loopy as lp

knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i,j,k<n }",
    """
    for i
        <> rho = r[i]*2 {id=load_rho, tags=setup}
        <> mom = m[i] + rho {id=load_mom, tags=setup:flux}
        for j
            f[i, j] = mom*w[j] {id=flux_x, tags=flux}
        end
    end
    for k
        total[k] = r[k] {id=sum_k}
    end
    """,
    name="fluxes",
    lang_version=(2018, 2),
)
QUERIES = (
    "id:load_*",
    "tag:flux and not id:load_mom",
    "writes:f or writes:total",
    "reads:rho",
    "iname:j",
    "tag:setup or (iname:k)",
    "not iname:i",
)
found = {query: sorted(insn.id for insn in lp.find_instructions(knl, query)) for query in QUERIES}

RESULTS = found
EXPECTED = {
    "id:load_*": ["load_mom", "load_rho"],
    "tag:flux and not id:load_mom": ["flux_x"],
    "writes:f or writes:total": ["flux_x", "sum_k"],
    "reads:rho": ["load_mom"],
    "iname:j": ["flux_x"],
    "tag:setup or (iname:k)": ["load_mom", "load_rho", "sum_k"],
    "not iname:i": ["sum_k"],
}
