"""Values of a `polygen.Builder`: calls, choices, conditions."""

from __future__ import annotations

from typing import Any

from polygen.ir import expression as ex
from polygen.ir.public import public
from polygen.language.builder.called_handles import LibraryValue
from polygen.language.builder.draft import of_builder
from polygen.language.handles import Computed, Handle, tree_of
from polygen.language.trees import readable_alone


class ValueMethods:
    """The methods of `Builder` that return values."""

    @staticmethod
    @public
    @of_builder
    def call(function: str, *arguments: Any) -> Handle:
        """Return what a function makes of values: ``builder.call("sin", x[i])``.

        Parameters:
            function: its name; also that of a type, which converts, ``min`` or ``max``.
            arguments: what it is given.
        """
        return Computed(ex.Call(ex.Variable(function), tuple(map(tree_of, arguments))))

    @staticmethod
    @public
    @of_builder
    def where(condition: Any, then: Any, otherwise: Any) -> Handle:
        """Return one value if a condition holds, and another one if not.

        Parameters:
            condition: the condition.
            then: the value if it holds.
            otherwise: the value if not.
        """
        return Computed(ex.If(*map(tree_of, (condition, then, otherwise))))

    @staticmethod
    @public
    @of_builder
    def and_(*conditions: Any) -> Handle:
        """Return the condition that holds where all of several do, asked in this order.

        Parameters:
            conditions: what ``and`` joins in text; ``&`` joins comparisons alike, and works bit by
                bit on values.
        """
        return Computed(ex.LogicalAnd(tuple(map(tree_of, conditions))))

    @staticmethod
    @public
    @of_builder
    def or_(*conditions: Any) -> Handle:
        """Return the condition that holds where one of several does, asked in this order.

        Parameters:
            conditions: what ``or`` joins in text; ``|`` joins comparisons alike, and works bit by
                bit on values.
        """
        return Computed(ex.LogicalOr(tuple(map(tree_of, conditions))))

    @staticmethod
    @public
    @of_builder
    def not_(condition: Any) -> Handle:
        """Return the condition that holds where another one does not.

        Parameters:
            condition: what follows ``not`` in text; ``~`` denies comparisons alike, and works bit
                by bit on values.
        """
        return Computed(ex.LogicalNot(tree_of(condition)))

    @staticmethod
    @public
    @of_builder
    def linear(array: Handle, position: Any) -> Handle:
        """Return the element of an array that is stored at a position: ``a[[e]]`` in text.

        Parameters:
            array: the array.
            position: counted as C does, or by the declared strides.
        """
        return Computed(ex.LinearSubscript(tree_of(array), tree_of(position)))

    @staticmethod
    @public
    @of_builder
    def library(routine: str, *operands: Any, **named: Any) -> LibraryValue:
        """Return what a routine of BLAS or LAPACK makes of arrays: `assign` takes it.

        Parameters:
            routine: its name, such as ``"gemm"``.
            operands: arrays, or a `part` of one.
            named: numbers and sizes, ``alpha=2``; and options, which are texts, ``trans_a="T"``.

        >>> import numpy as np
        >>> import polygen as pg
        >>> b = pg.Builder()
        >>> n = b.size("n")
        >>> x, y = b.array("x", "float64", (n, n)), b.array("y", "float64", (n, n))
        >>> b.assign(y, b.library("gemm", x, x, trans_b="T"))
        'gemm'
        >>> event, (square,) = b.kernel().executor("c")(x=np.array([[1.0, 2], [0, 1]]))
        >>> print(square)
        [[5. 2.]
         [2. 1.]]
        """
        words = tuple([(name, word) for name, word in named.items() if isinstance(word, str)])
        numbers = [(n, readable_alone(v)) for n, v in named.items() if not isinstance(v, str)]
        return LibraryValue(routine, tuple(map(readable_alone, operands)), tuple(numbers), words)
