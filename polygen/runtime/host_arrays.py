"""Arrays in the host's memory that are not NumPy's: seen as NumPy's, without a copy.

None of these libraries is loaded here: if one is not, nobody can pass an array of its.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from polygen.errors import WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import is_bfloat16, to_dtype
from polygen.ir.kernel import Kernel
from polygen.runtime.cuda_arrays import is_cuda_array
from polygen.runtime.device_array import DeviceArray
from polygen.runtime.opencl import is_opencl_array
from polygen.runtime.outputs import written_arrays
from polygen.runtime.separate import passed_arguments
from polygen.source import caller_location

# For arguments that may be such arrays, what tells whether they are.
Foreign: TypeAlias = Mapping[str, Callable[[Any], bool]]

_REFUSALS = (AttributeError, BufferError, RuntimeError, TypeError, ValueError)


def foreign_arrays(kernel: Kernel, args: Mapping[str, Any]) -> Foreign:
    """Return which arguments are of classes whose arrays may be in the host's memory.

    Arrays of one class may be in a GPU's memory as well: so it is with PyTorch's.
    """
    names = {arg.name for arg in passed_arguments(kernel) if isinstance(arg, GlobalArg)}
    found: dict[str, Callable[[Any], bool]] = {}
    for name, value in args.items():
        if name not in names or isinstance(value, np.ndarray | np.generic):
            continue
        if is_opencl_array(value) or isinstance(value, DeviceArray):
            continue
        if _is_tensor(value):
            found[name] = _tensor_on_host
        elif hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
            found[name] = _on_host
    return found


def _is_tensor(value: object) -> bool:
    """Tell whether a value is an array of PyTorch's."""
    known = getattr(sys.modules.get("torch"), "Tensor", None)
    return known is not None and isinstance(value, known)


def _tensor_on_host(value: Any) -> bool:
    return not value.is_cuda


def _on_host(value: Any) -> bool:
    return not is_cuda_array(value)


def seen_as_numpy(foreign: Foreign, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return views of the arrays in the host's memory.

    Raises:
        WrongArgumentType: if a library does not give one.
    """
    return {
        name: _view(name, args[name]) for name, on_host in foreign.items() if on_host(args[name])
    }


def _view(name: str, value: Any) -> Any:
    try:
        if _is_tensor(value):
            return _view_of_tensor(value)
        if hasattr(value, "__array_interface__"):
            return np.asarray(value, copy=False)
        return np.from_dlpack(value)
    except _REFUSALS as error:
        raise WrongArgumentType(
            f"argument '{name}' is of type {type(value).__name__}, and cannot be used where it is: "
            f"{error}",
            where=caller_location(),
            remedy="pass a copy as an array of NumPy's",
        ) from None


def _view_of_tensor(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    if tensor.dtype is torch.bfloat16:  # which NumPy itself does not have
        return tensor.view(torch.int16).numpy().view(to_dtype("bfloat16"))
    return tensor.numpy()


def in_their_libraries(
    kernel: Kernel, args: Mapping[str, Any], views: Mapping[str, Any], outputs: Any
) -> Any:
    """Return the outputs of a call as its caller knows them.

    What was passed is what is returned; new arrays are of the first array's library.

    Parameters:
        kernel: what was called.
        args: what was passed.
        views: NumPy's views of some of it.
        outputs: what was written, as calls return it.
    """
    arrays = [arg.name for arg in passed_arguments(kernel) if isinstance(arg, GlobalArg)]
    first = next(name for name in arrays if args.get(name) is not None)
    names, by_name = written_arrays(kernel), kernel.options.return_dict
    found = dict(outputs if by_name else zip(names, outputs, strict=True))
    for name in names:
        if name in views:
            found[name] = args[name]
        elif args.get(name) is None and first in views and isinstance(found[name], np.ndarray):
            found[name] = _handed_over(args[first], name, found[name])
    return found if by_name else tuple(found.values())


def _handed_over(like: Any, name: str, array: Any) -> Any:
    """Return an array of NumPy's as one of another library, with the same memory.

    A library that does not take such arrays gets none: then NumPy's is the result.
    """
    if _is_tensor(like):
        torch = sys.modules["torch"]
        if is_bfloat16(array.dtype):
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)
    library: Any
    if hasattr(like, "__array_namespace__"):
        library = like.__array_namespace__()
    else:
        library = sys.modules.get(type(like).__module__.partition(".")[0])
    if not hasattr(like, "__dlpack__") or not hasattr(library, "from_dlpack"):
        return array
    try:
        return library.from_dlpack(array)
    except _REFUSALS as error:
        raise WrongArgumentType(
            f"'{name}' is computed, and the library of {type(like).__name__} takes no array of "
            f"{array.dtype}: {error}",
            where=caller_location(),
            remedy=f"pass an array for '{name}'",
        ) from None
