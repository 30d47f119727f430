"""The whole table of functions and methods: what each file of rows has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygen.python import (
    joining_names,
    numpy_names,
    product_names,
    reshaping_names,
    statistics_names,
)
from polygen.python.product_names import matrix_product
from polygen.python.values import Value

TABLE: dict[Any, Callable[..., Value]] = {
    **numpy_names.TABLE,
    **statistics_names.ROWS,
    **joining_names.ROWS,
    **product_names.ROWS,
    **reshaping_names.ROWS,
}
METHODS: dict[str, Any] = {
    **numpy_names.METHODS,
    **statistics_names.METHODS,
    **reshaping_names.METHODS,
}
OWN_METHODS: dict[str, Callable[..., Value]] = {
    **numpy_names.OWN_METHODS,
    **reshaping_names.OWN_METHODS,
}
__all__ = ["METHODS", "OWN_METHODS", "TABLE", "matrix_product"]
