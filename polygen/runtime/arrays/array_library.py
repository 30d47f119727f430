"""The table of array libraries: a row answers for the arrays of one.

Each library is a row: an object that answers for its arrays.  Which row it is, is found once for
each argument (`polygen.runtime.backends.backend_table.library_of`), when a call has classes of
arguments that are new; the rows then go with the form of the call, and nobody asks again.

No library is loaded to be asked: if one is not, nobody can pass an array of its.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.source import caller_location

HOST = "host"
# What libraries raise when they do not hand an array over.
REFUSALS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


class ArrayLibrary:
    """A row of the table of array libraries: it answers questions about its arrays.

    Attributes:
        in_buffer: whether it is known what lies before an array, in the memory object that it is
            a part of.
    """

    in_buffer: bool = False

    def knows(self, value: Any, /) -> bool:
        """Tell whether a value is an array of this library."""
        raise NotImplementedError

    def home(self, value: Any, /) -> str | None:
        """Return the target in whose memory an array is, or `HOST`; None if it is in neither."""
        raise NotImplementedError

    def is_passed(self, value: Any, /) -> bool:
        """Tell whether an array is passed as it is: one in the host's memory is seen as NumPy's."""
        return self.home(value) not in (None, HOST)

    def may_be_on_host(self, _value: Any, /) -> bool:
        """Tell whether arrays of a class may be in the host's memory, and are not NumPy's."""
        return False

    def is_copied(self, _value: Any, /) -> bool:
        """Tell whether an array is copied to a target that has memory of its own."""
        return False

    # --- in the memory of a target

    def check(self, name: str, value: Any, /) -> None:
        """Check that the memory of an array has its elements, and all that it stands for.

        Raises:
            WrongArgumentType: if it has not.
        """

    def seen(self, value: Any, /) -> Any:
        """Return what has `dtype`, `shape` and `strides`, in bytes, as NumPy's arrays have."""
        return value

    def offset(self, _value: Any, /) -> int:
        """Return how many bytes of its memory object come before an array."""
        return 0

    def address(self, _value: Any, /) -> int | None:
        """Return where an array begins in the memory of its target; None if nobody can say."""
        return None

    def in_memory(self, value: Any, /) -> Any:
        """Return what NumPy takes for an array at the same place, of which nothing may be read."""
        raise NotImplementedError

    def to_host(self, arg: GlobalArg, value: Any, /) -> Any:
        """Return an array as NumPy's, with the same strides."""
        raise NotImplementedError

    # --- in the host's memory

    def view(self, value: Any, /) -> Any:
        """Return an array in the host's memory as NumPy's, without a copy.

        Raises what the library raises if it does not give one: `REFUSALS`.
        """
        if hasattr(value, "__array_interface__"):
            return np.asarray(value, copy=False)
        return np.from_dlpack(value)

    def handed_over(self, like: Any, name: str, array: Any, /) -> Any:
        """Return an array of NumPy's as one of this library, with the same memory.

        A library that does not take such arrays gets none: then NumPy's is the result.

        Parameters:
            like: an array of the library.
            name: the argument that it is the value of.
            array: NumPy's.

        Raises:
            WrongArgumentType: if the library takes arrays, but not this one.
        """
        library: Any
        if hasattr(like, "__array_namespace__"):
            library = like.__array_namespace__()
        else:
            library = sys.modules.get(type(like).__module__.partition(".")[0])
        if not hasattr(like, "__dlpack__") or not hasattr(library, "from_dlpack"):
            return array
        try:
            return library.from_dlpack(array)
        except REFUSALS as error:
            raise WrongArgumentType(
                f"'{name}' is computed, and the library of {type(like).__name__} takes no array of "
                f"{array.dtype}: {error}",
                where=caller_location(),
                remedy=f"pass an array for '{name}'",
            ) from None


class _NumPy(ArrayLibrary):
    """NumPy's own."""

    def knows(self, value: Any, /) -> bool:
        return isinstance(value, np.ndarray)

    def home(self, _value: Any, /) -> str:
        return HOST

    def is_passed(self, value: Any, /) -> bool:
        return not isinstance(value, np.ma.MaskedArray)

    def is_copied(self, _value: Any, /) -> bool:
        return True

    def address(self, value: Any, /) -> int:
        start: int = value.__array_interface__["data"][0]
        return start

    def in_memory(self, value: Any, /) -> Any:
        return value

    def to_host(self, _arg: GlobalArg, value: Any, /) -> Any:
        return value


class _OnHost(ArrayLibrary):
    """Those of any other library that are in the host's memory, by their protocols."""

    def knows(self, value: Any, /) -> bool:
        return has_host_protocol(value)

    def home(self, _value: Any, /) -> str:
        return HOST

    def may_be_on_host(self, _value: Any, /) -> bool:
        return True


def has_host_protocol(value: Any) -> bool:
    """Tell whether NumPy can be asked to see a value as an array."""
    return hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")


NUMPY, ON_HOST = _NumPy(), _OnHost()
