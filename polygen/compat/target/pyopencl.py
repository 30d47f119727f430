"""What scripts import from ``loopy.target.pyopencl``."""

from polygen.compat.targets import PyOpenCLTarget

__all__ = ["PyOpenCLTarget"]
