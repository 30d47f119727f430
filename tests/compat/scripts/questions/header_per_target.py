"""The declaration of one kernel for OpenCL, CUDA and C: names of arguments, qualifiers."""

import re

import loopy as lp
import numpy as np


def declare(target):
    knl = lp.make_kernel(
        "{ [i]: 0<=i<n }",
        "energy[i] = 0.5*mass[i]*speed[i]**2",
        [
            lp.GlobalArg("mass, speed, energy", np.float64, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        target=target,
        name="kinetic_energy",
        lang_version=(2018, 2),
    )
    knl = lp.assume(knl, "n >= 1")
    return str(lp.generate_header(knl)[0])


opencl = declare(lp.OpenCLTarget())
cuda = declare(lp.CudaTarget())
c = declare(lp.CTarget())
names = [re.findall(r"\b(?:mass|speed|energy|n)\b", text) for text in (opencl, cuda, c)]

RESULTS = {
    "names": names,
    "opencl": [opencl.count("__global"), "__kernel" in opencl],
    "cuda": ["__global__" in cuda, "__kernel" in cuda],
    "c": ["__global" in c, c.count("double")],
    "ends": [text.rstrip().endswith(";") for text in (opencl, cuda, c)],
}
EXPECTED = {
    "names": [["mass", "speed", "energy", "n"]] * 3,
    "opencl": [3, True],
    "cuda": [True, False],
    "c": [False, 3],
    "ends": [True, True, True],
}
