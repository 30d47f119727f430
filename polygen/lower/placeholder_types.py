"""Types for what has none yet, where it does not matter which."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.typing.inference import sizes
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.kernel import Kernel

_Variable = TypeVar("_Variable", bound=GlobalArg | ValueArg | TemporaryVariable)


def with_some_types(kernel: Kernel) -> Kernel:
    """Return the kernel with a type for every variable: integers where they count something.

    Parameters:
        kernel: without rules.
    """
    whole = set(sizes(kernel))
    for domain in kernel.domains:
        whole.update(domain.parameters)
    for found in references_by_name(kernel).values():
        for reference in found:
            whole = whole.union(*map(walk.free_variables, reference.index))

    def typed(variable: _Variable) -> _Variable:
        if variable.dtype is not None:
            return variable
        dtype = np.dtype(np.int32 if variable.name in whole else np.float32)
        some: _Variable = replace(variable, dtype=dtype)
        return some

    return kernel.copy(
        arguments=tuple([typed(a) for a in kernel.arguments]),
        temporaries=tuple([typed(t) for t in kernel.temporaries]),
    )
