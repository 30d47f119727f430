"""The interaction lists of an FMM as code alone: header, arguments and domains are looked at."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    [
        "{ [itgt]: 0<=itgt<ntgt }",
        "[isrc_start,isrc_stop] -> { [isrc]: isrc_start<=isrc<isrc_stop }",
        "{ [idof]: 0<=idof<3 }",
    ],
    """
    for itgt
        <> isrc_start = src_starts[itgt]  {id=start}
        <> isrc_stop = src_starts[itgt+1] {id=stop}
        for idof
            field[idof, itgt] = sum(isrc, local[idof, src_lists[isrc]]) {dep=start:stop, id=sum}
        end
    end
    """,
    [
        lp.GlobalArg("src_starts,src_lists", np.int32, shape=None),
        lp.GlobalArg("local", np.float64, shape=(3, "nsrc"), dim_tags="sep,C"),
        lp.GlobalArg("field", np.float64, shape=(3, "ntgt"), dim_tags="sep,C"),
        lp.ValueArg("ntgt,nsrc", np.int32),
    ],
    name="collect_lists",
    assumptions="ntgt>=1",
    lang_version=(2018, 2),
    target=lp.OpenCLTarget(),
)
knl = lp.tag_inames(knl, {"idof": "unr"})
knl = lp.split_iname(knl, "itgt", 128, outer_tag="g.0", inner_tag="l.0")
header = str(lp.generate_header(knl)[0])
code = lp.generate_code_v2(knl).device_code()
kernel = knl["collect_lists"]

RESULTS = {
    "parts": [name for name in ("field_s0", "field_s2", "local_s1") if name in header],
    "name in code": "collect_lists" in code,
    "inames": sorted(kernel.all_inames()),
    "ids": sorted(kernel.id_to_insn),
    "deps": sorted(kernel.id_to_insn["sum"].depends_on),
}
EXPECTED = {
    "parts": ["field_s0", "field_s2", "local_s1"],
    "name in code": True,
    "inames": ["idof", "isrc", "itgt_inner", "itgt_outer"],
    "ids": ["start", "stop", "sum"],
    "deps": ["start", "stop"],
}
