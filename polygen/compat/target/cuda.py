"""Names of ``loopy.target.cuda``."""

from polygen.compat.targets import CudaTarget

__all__ = ["CudaTarget"]
