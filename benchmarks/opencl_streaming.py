"""Kernels that are bound by memory, through OpenCL, beside a copy on the device of as many bytes.

python -m benchmarks.opencl_streaming [size]

The size, 1 if it is not given, is what extents are divided by: 4 for a device with little memory.
"""

from __future__ import annotations

import sys
import warnings

from benchmarks.on_device import OpenCL
from benchmarks.streaming import EDGE, SIDE, N, measure

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    less = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    measure(OpenCL(), N // less**2, SIDE // less, max(EDGE // less, 256))
