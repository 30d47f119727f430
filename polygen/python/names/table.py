"""The whole table of functions and methods: what each file of rows has."""

from __future__ import annotations

from typing import Any

from polygen.python.names import (
    arrangements,
    basic_table,
    c_functions,
    convolutions,
    coordinates,
    joining,
    products,
    programs_of_elements,
    python_reductions,
    random_words,
    repeating,
    reshaping,
    searching,
    statistics,
)
from polygen.python.names.arguments import Row

TABLE: dict[Any, Row] = {
    **basic_table.TABLE,
    **c_functions.ROWS,
    **statistics.ROWS,
    **joining.ROWS,
    **products.ROWS,
    **reshaping.ROWS,
    **repeating.ROWS,
    **coordinates.ROWS,
    **programs_of_elements.ROWS,
    **random_words.ROWS,
    **searching.ROWS,
    **convolutions.ROWS,
    **arrangements.ROWS,
    **python_reductions.ROWS,
}
METHODS: dict[str, Any] = {
    **basic_table.METHODS,
    **statistics.METHODS,
    **reshaping.METHODS,
    **repeating.METHODS,
}
SUBSCRIPTED = coordinates.SUBSCRIPTED
OWN_METHODS: dict[str, Row] = {**basic_table.OWN_METHODS, **reshaping.OWN_METHODS}
