"""Support for notebooks: `_repr_html_`."""

from __future__ import annotations

from polygen.ir.slots import slot


class InNotebook:
    """Base class of what a notebook shows as HTML that folds."""

    def _repr_html_(self) -> str:
        """Return the kernel as HTML: its text, graph, history and source."""
        return str(slot("html")(self))
