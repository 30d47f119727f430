"""Names of ``loopy.target.c``."""

from polygen.compat.targets import (
    CTarget,
    CWithGNULibcTarget,
    ExecutableCTarget,
    ExecutableCWithGNULibcTarget,
)

__all__ = ["CTarget", "CWithGNULibcTarget", "ExecutableCTarget", "ExecutableCWithGNULibcTarget"]
