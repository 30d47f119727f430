"""Which names a kernel reads, writes and declares, and which instruction does so."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, k]: 0<=i<m and 0<=k<3 }",
    """
    <> speed2 = sum(k, vel[i, k]*vel[i, k]) {id=speed}
    mach[i] = sqrt(speed2)/sound[i] {id=mach, dep=speed}
    flag[i] = if(mach[i] > limit, 1, 0) {id=flag, dep=mach}
    """,
    [
        lp.GlobalArg("vel", np.float32, shape=("m", 3)),
        lp.GlobalArg("sound, mach", np.float32, shape=("m",)),
        lp.GlobalArg("flag", np.int32, shape=("m",)),
        lp.ValueArg("limit", np.float32),
        lp.ValueArg("m", np.int32),
    ],
    lang_version=(2018, 2),
)
inner = knl.default_entrypoint

RESULTS = {
    "read": sorted(inner.get_read_variables() - inner.all_inames() - inner.all_params()),
    "written": sorted(inner.get_written_variables()),
    "params": sorted(inner.all_params()),
    "inames": sorted(inner.all_inames()),
    "readers of mach": sorted(inner.reader_map()["mach"]),
    "writers of mach": sorted(inner.writer_map()["mach"]),
    "before flag": sorted(inner.recursive_insn_dep_map()["flag"]),
    "inames of mach": sorted(inner.insn_inames("mach")),
    "arrays": sorted(inner.global_var_names()),
    "dtypes": [str(np.dtype(inner.arg_dict[name].dtype.numpy_dtype)) for name in ("vel", "flag")],
}
EXPECTED = {
    "read": ["limit", "mach", "sound", "speed2", "vel"],
    "written": ["flag", "mach", "speed2"],
    "params": ["m"],
    "inames": ["i", "k"],
    "readers of mach": ["flag"],
    "writers of mach": ["mach"],
    "before flag": ["mach", "speed"],
    "inames of mach": ["i"],
    "arrays": ["flag", "mach", "sound", "vel"],
    "dtypes": ["float32", "int32"],
}
