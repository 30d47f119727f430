"""Kernels that are bound by memory, through CUDA, beside a copy on the device of as many bytes.

python -m benchmarks.cuda_streaming
"""

from __future__ import annotations

import warnings

from benchmarks.on_device import Cuda
from benchmarks.streaming import measure

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    measure(Cuda())
