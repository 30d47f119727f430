"""Attributes of objects that a function is given: arguments of kernels, as those of calls are.

    def step(self, x):
        x[:] = self.rate*x          the rate is passed, as in f(rate, x)

What Python computes as an attribute is read (a property, `__getattr__`), the kernel does not read.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, cast

import numpy as np

from polygen.python.refused import Refused

_HEAP = 1 << 9  # the flag of classes that Python's statement makes
_OTHERS = (
    type, types.FunctionType, types.MethodType, types.ModuleType, str, bytes, Mapping, Enum, tuple,
    list, set, frozenset, np.generic, np.ndarray, np.dtype,
)  # fmt: skip
_MISSING = object()
# Their attributes are what they are.
_FIXED_MODULES = frozenset({"builtins", "cmath", "cupy", "math", "numpy", "polygen", "scipy"})


def has_own_attributes(value: object) -> bool:
    """Tell whether a value is an object of a class of the user's, and no function or constant."""
    kind: type = type(value)
    if isinstance(value, types.SimpleNamespace):
        return True
    if isinstance(value, _OTHERS) or hasattr(value, "__wrapped__"):
        return False
    return bool(kind.__flags__ & _HEAP) and not _is_fixed(kind)


def stored_attribute(value: object, name: str) -> tuple[Any, bool]:
    """Return an attribute that is stored in an object, or in its class, and whether it is a method.

    Parameters:
        value: the object.
        name: that of the attribute.

    Raises:
        Refused: if there is none, or Python computes it as it is read.
    """
    kind: type = type(value)
    of_class = inspect.getattr_static(kind, name, _MISSING)
    if isinstance(of_class, types.MemberDescriptorType):
        try:
            return of_class.__get__(value), False
        except AttributeError as error:
            raise Refused(str(error)) from None
    if _has(of_class, "__set__"):
        raise Refused(f"'{name}' is computed as it is read", "read it before, and pass the value")
    own: Mapping[str, Any] = getattr(value, "__dict__", {})
    if name in own:
        return own[name], False
    if of_class is _MISSING:
        raise Refused(f"'{kind.__name__}' stores no attribute '{name}'", "set it before the call")
    if isinstance(of_class, staticmethod):
        return of_class.__func__, False
    function = inspect.unwrap(of_class) if hasattr(of_class, "__wrapped__") else of_class
    if isinstance(function, types.FunctionType):
        return function, True
    if _has(of_class, "__get__"):
        raise Refused(f"'{name}' is computed as it is read", "read it before, and pass the value")
    return of_class, False


def _has(value: Any, method: str) -> bool:
    """Tell whether the class of a value has a method."""
    kind = cast("Any", type(value))
    return hasattr(kind, method)


def may_change(owner: object) -> bool:
    """Tell whether attributes of an object from outside of a function have to be looked at again.

    Parameters:
        owner: a module, a class, or another object.
    """
    if isinstance(owner, types.ModuleType):
        return owner.__name__.partition(".")[0] not in _FIXED_MODULES
    if isinstance(owner, type):
        return bool(owner.__flags__ & _HEAP) and not _is_fixed(owner)
    return has_own_attributes(owner)


def _is_fixed(kind: type) -> bool:
    """Tell whether objects of a class are what they are; a class of `exec`'s may have no module."""
    module = kind.__module__.partition(".")[0]
    is_made = bool(kind.__flags__ & _HEAP) and module == "builtins"
    return module in _FIXED_MODULES and not is_made
