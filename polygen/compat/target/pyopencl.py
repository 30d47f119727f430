"""Names of ``loopy.target.pyopencl``."""

from polygen.compat.targets import PyOpenCLTarget

__all__ = ["PyOpenCLTarget"]
