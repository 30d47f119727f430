"""Functions that have a tree and no text: what calls them inlines the tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from polygen.python.block_structure import structured
from polygen.python.function_source import FunctionSource
from polygen.python.interpreted import interpreted
from polygen.python.statement_origins import mark_origin


class SourceFunction:
    """A function that is a tree.

    Parameters:
        source: the function.

    Attributes:
        source: the function.
        parameters: the names of its parameters.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.parameters = tuple([parameter.arg for parameter in source.tree.args.args])
        self._body: list[ast.stmt] | None = None
        self._run: Callable[[Mapping[str, Any]], tuple[bool, Any]] | None = None

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, the same objects each time, as they are traced."""
        if self._body is None:
            self._body = structured(self.source.tree.body)
            mark_origin(self._body, self.source)
        return self._body

    def __call__(self, *args: Any) -> Any:
        """Run the statements as Python."""
        if self._run is None:
            self._run = interpreted(self.source, self.source.tree.body, self.parameters)
        returned, value = self._run(dict(zip(self.parameters, args, strict=True)))
        return value if returned else None

    def __repr__(self) -> str:
        return f"<statements of {self.source.tree.name}>"
