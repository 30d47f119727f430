"""The functions that rows of other files build on.

A key is the function itself, so it does not matter by which name a program calls it.  A row is
a function of the tracer, the positional arguments and those by name.
"""

from __future__ import annotations

from typing import Any

from polygen.python.names import (
    creation,
    elementwise,
    matrix_products,
    python_functions,
    rearranging,
    reductions,
    types_of_elements,
)
from polygen.python.names.arguments import Row

TABLE: dict[Any, Row] = {
    **elementwise.ROWS,
    **reductions.ROWS,
    **matrix_products.ROWS,
    **creation.ROWS,
    **rearranging.ROWS,
    **types_of_elements.ROWS,
    **python_functions.ROWS,
}
# Methods of arrays that functions of NumPy's are.
METHODS: dict[str, Any] = {
    **elementwise.METHODS,
    **reductions.METHODS,
    **matrix_products.METHODS,
    **rearranging.METHODS,
    **types_of_elements.METHODS,
}
OWN_METHODS: dict[str, Row] = types_of_elements.OWN_METHODS
