"""Classes of Loo.py's that make something of polygen's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Ours(type):
    """Lets ``isinstance`` ask for what polygen has in the place of a class of Loo.py's."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__dict__["kind"])


def making(kind: type) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a class of a function; its instances are those of `kind`."""

    def decorate(function: Callable[..., Any]) -> Any:
        def new(_cls: type, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        names = {
            "__new__": new,
            "kind": kind,
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__signature__": inspect.signature(function),
        }
        return Ours(function.__name__, (), names)

    return decorate
