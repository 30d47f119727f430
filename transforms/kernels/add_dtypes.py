"""`polygen.add_dtypes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, cast

from polygen.errors import InvalidArgument
from polygen.ir.array import ValueArg
from polygen.ir.changed import changed
from polygen.ir.dtype import of_scalar, to_dtype
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Kind, transformation


def _is_dtype_map(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    for names, dtype in cast("Mapping[object, object]", value).items():
        if not isinstance(names, str):
            return False
        for name in _split(names):
            kernel.variable(name)
        to_dtype(dtype)
    return True


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


DTypes = Annotated[
    Mapping[str, object],
    Kind("a dictionary from names to types, such as {'a': np.float32}", _is_dtype_map),
]


@transformation(declared=True, says_more=True)
def add_dtypes(kernel: Kernel, dtype_dict: DTypes) -> Kernel:
    """Say what the types of arguments and temporaries are.

    Types that are not said are inferred, or found from what a call passes.

    Kind: change of interface.

    Requires:
        1. A variable that has a type already is given the same one.

    Parameters:
        dtype_dict: NumPy types, or their names; a key may name several variables: ``"a, b"``.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float64"})
        >>> print(pg.generate_code(knl, "c"))
        void polygen_kernel(double const *restrict a, int const n, double *restrict out)
        {
            for (int i = 0; i < n; ++i)
                out[i] = 2.0 * a[i];
        }

    Raises:
        UnknownArgument: if the kernel has no such argument or temporary.
        InvalidArgument: if a type is none, or if 1 does not hold.
        TypeNotSupported: if a scalar argument cannot have its type.
    """
    wanted = {n: to_dtype(dtype) for names, dtype in dtype_dict.items() for n in _split(names)}
    for name, dtype in wanted.items():
        if isinstance(kernel.variable(name), ValueArg):
            of_scalar(name, dtype)
        old = kernel.variable(name).dtype
        if old is not None and old != dtype:
            raise InvalidArgument(
                f"'{name}' has the type {old.name}; asked for was {dtype.name}",
                where=caller_location(),
                remedy="declare it so when the kernel is made",
            )

    def typed(variable: Any) -> Any:
        dtype = wanted.get(variable.name)
        return variable if dtype is None else changed(variable, dtype=dtype)

    return kernel.copy(
        arguments=tuple(typed(a) for a in kernel.arguments),
        temporaries=tuple(typed(t) for t in kernel.temporaries),
    )
