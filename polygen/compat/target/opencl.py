"""Names of ``loopy.target.opencl``."""

from polygen.compat.targets import OpenCLTarget

__all__ = ["OpenCLTarget"]
