"""Views in the scratch memory of a team or a thread."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from polygen.workunits.constructs import construct
from polygen.workunits.element_types import element_dtype
from polygen.workunits.views import View


class _OfType:
    """A class of scratch views with the type of elements."""

    def __init__(self, kind: type[ScratchView], dtype: Any) -> None:
        self._kind, self._dtype = kind, dtype

    def __call__(self, _scratch: Any, *shape: Any) -> View:
        return self._kind(_scratch, *shape, dtype=self._dtype)

    def shmem_size(self, *shape: int) -> int:
        """Return the bytes that such a view takes."""
        return int(prod(shape) * element_dtype(self._dtype).itemsize)


class ScratchView(View):
    """A view in scratch memory; without values at first, as Kokkos' have none.

    Parameters:
        _scratch: ``member.team_scratch(level)`` or ``member.thread_scratch(level)``.
        shape: the extents.
        dtype: the type of elements; ``ScratchView1D[double]`` says it, too.
    """

    __slots__ = ()

    def __init__(self, _scratch: Any, *shape: Any, dtype: Any = None) -> None:
        is_list = len(shape) == 1 and isinstance(shape[0], list | tuple)
        extents = cast("Sequence[int]", shape[0] if is_list else shape)

        def make() -> Any:
            return np.zeros(tuple(extents), element_dtype(dtype))

        member = cast("Any", _scratch[0] if isinstance(_scratch, tuple) else None)
        super().__init__(array=make() if member is None else member.allocate(make))

    def __class_getitem__(cls, dtype: Any) -> Any:
        return _OfType(cls, dtype)

    @staticmethod
    def shmem_size(*shape: int) -> int:
        """Return the bytes that a view of the default precision takes."""
        return int(prod(shape) * element_dtype(None).itemsize)


@construct("scratch")
class ScratchView1D(ScratchView):
    """A view with one subscript in scratch memory."""


@construct("scratch")
class ScratchView2D(ScratchView):
    """A view with two subscripts in scratch memory."""


@construct("scratch")
class ScratchView3D(ScratchView):
    """A view with three subscripts in scratch memory."""


@construct("scratch")
class ScratchView4D(ScratchView):
    """A view with four subscripts in scratch memory."""


@construct("scratch")
class ScratchView5D(ScratchView):
    """A view with five subscripts in scratch memory."""


@construct("scratch")
class ScratchView6D(ScratchView):
    """A view with six subscripts in scratch memory."""


@construct("scratch")
class ScratchView7D(ScratchView):
    """A view with seven subscripts in scratch memory."""


@construct("scratch")
class ScratchView8D(ScratchView):
    """A view with eight subscripts in scratch memory."""
