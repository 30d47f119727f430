"""The table of targets: a row answers for a call on its target.

`polygen.runtime.backends.backend_table` has the table.  A call finds its row once for each form of
arguments; what the row says goes into the wrapper and the plans of that form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_library import ArrayLibrary
from polygen.runtime.calls.arguments import Call, Form
from polygen.runtime.calls.call_wrapper import Writer
from polygen.runtime.calls.execution_place import Place
from polygen.runtime.calls.kernel_variant import Variant

# Returns what a call returns, or None if its arguments are unlike those that it was made for.
QuickCall: TypeAlias = Callable[[Mapping[str, Any]], Any]


class Copy(Protocol):
    """A copy of an array of the host's in a target's memory."""

    @property
    def array(self) -> Any:
        """The copy."""
        ...

    def copy_back(self) -> None:
        """Copy its elements into the array of the host's."""
        ...


class Backend:
    """A target that kernels are called on.

    Attributes:
        target: its name.
        title: what errors call it.
        owner: whose its arrays and queues are, in errors.
        libraries: those whose arrays may be in its memory.
        has_memory: whether it has memory of its own.
        has_images: whether arguments may be images there.
    """

    target: str
    title: str
    owner: str = "NumPy's"
    libraries: tuple[ArrayLibrary, ...] = ()
    has_memory: bool = False
    has_images: bool = False

    # --- where

    def is_default(self) -> bool:
        """Tell whether calls that name no target may run here."""
        return False

    def place_of(self, _device: Any, /) -> Place | None:
        """Return where an executor of a device runs; None if a value is no device."""
        return None

    def is_queue(self, _queue: Any, /) -> bool:
        """Tell whether a value is a queue of this target's."""
        return False

    def default_queue(self, _place: Place, /) -> Any:
        """Return the queue of a call that has none, nor arrays that have one."""
        return None

    # --- arrays of the host's, where the target has memory of its own

    def needs_copies(
        self, place: Place, queue: Any, form: Form, args: Mapping[str, Any], /
    ) -> bool:
        """Tell whether arrays have to be copied to the target, or from it."""
        if not self.has_memory:
            return False
        if any(library.is_copied(args[name]) for name, library in form.libraries.items()):
            return True
        return queue is None and place.queue is None and not form.arrays

    def queue_of_copies(self, place: Place, _arrays: tuple[Any, ...], /) -> Any:
        """Return the queue of a call that has none, and arrays that are to be copied.

        Parameters:
            place: where the executor runs.
            arrays: those that are there already.
        """
        return self.default_queue(place)

    def stage(self, queue: Any, form: Form, args: Mapping[str, Any], /) -> Mapping[str, Copy]:
        """Return copies of the arrays of the host's among the arguments of a call.

        Raises:
            ReadOnlyOutput: if one that is written is read-only.
            OverlappingArguments: if one that is written overlaps another: copies would not.
        """
        raise NotImplementedError

    def to_host(self, queue: Any, arg: GlobalArg, array: Any, /) -> Any:
        """Return an array of this target's as NumPy's."""
        raise NotImplementedError

    def with_images(
        self, _kernel: Kernel, args: Mapping[str, Any], _place: Place, _queue: Any, /
    ) -> Mapping[str, Any]:
        """Return what a call passes, with images for the arguments that are declared as such."""
        return args

    def with_arrays(
        self, _kernel: Kernel, args: Mapping[str, Any], _place: Place, _queue: Any, /
    ) -> Mapping[str, Any]:
        """Return what a call passes, with NumPy arrays for this target's images among it."""
        return args

    # --- calls with arrays that are there

    def writer(self, form: Form, /) -> Writer:
        """Return what writes the lines of a wrapper that are this target's."""
        raise NotImplementedError

    def names(self, _place: Place, _form: Form, /) -> dict[str, Any]:
        """Return what wrappers call by name, beside what all of them do."""
        return {}

    def check_place(self, place: Place, queue: Any, form: Form, args: Mapping[str, Any], /) -> None:
        """Check that arrays are where a call runs.

        Raises:
            WrongDevice: if they are elsewhere.
        """

    def plan(self, form: Form, call: Call, variant: Variant, queue: Any, /) -> dict[str, Any]:
        """Return what a wrapper may ask for.

        See `polygen.runtime.calls.call_wrapper.Wrapper.plan`.
        """
        raise NotImplementedError

    def quick_call(
        self,
        _form: Form,
        _variant: Variant,
        _plan: Mapping[str, Any],
        _values: Mapping[str, Any],
        /,
    ) -> QuickCall | None:
        """Return what runs calls without a queue whose arguments are like those of one, quickly.

        None stands for nothing: such calls go through their wrapper.
        """
        return None
