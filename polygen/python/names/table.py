"""The whole table of functions and methods: what each file of rows has."""

from __future__ import annotations

from typing import Any

from polygen.python.names import basic_table, joining, products, reshaping, statistics
from polygen.python.names.arguments import Row

TABLE: dict[Any, Row] = {
    **basic_table.TABLE,
    **statistics.ROWS,
    **joining.ROWS,
    **products.ROWS,
    **reshaping.ROWS,
}
METHODS: dict[str, Any] = {**basic_table.METHODS, **statistics.METHODS, **reshaping.METHODS}
OWN_METHODS: dict[str, Row] = {**basic_table.OWN_METHODS, **reshaping.OWN_METHODS}
