"""Blocks of a `polygen.Builder`: conditions."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from polygen.ir.public import public
from polygen.language.builder.builder_arguments import Place, condition_of
from polygen.language.builder.draft import Draft, of_builder


class BlockMethods(Draft):
    """The methods of `Builder` that open blocks."""

    @public
    @of_builder
    @contextmanager
    def when(self, *conditions: Any, location: Place = None) -> Generator[None]:
        """Let what is added within ``with`` be executed where conditions hold.

        Parameters:
            conditions: one, or several that all have to hold.
            location: the place of the condition.

        Raises:
            MalformedInstruction: if there is something in one that polygen does not have.
        """
        with self._at(location):
            self._blocks.open_branch(condition_of(conditions), first=True)
        try:
            yield
        finally:
            self._blocks.close()

    @public
    @of_builder
    @contextmanager
    def otherwise(self, *conditions: Any, location: Place = None) -> Generator[None]:
        """Let what is added within ``with`` be executed where the conditions before do not hold.

        It stands right behind the block of `when`, or of another `otherwise` with conditions.

        Parameters:
            conditions: others, which then have to hold; none for all that is left.
            location: its place.

        Raises:
            InvalidArgument: if no condition is before it.
            MalformedInstruction: if there is something in one that polygen does not have.
        """
        with self._at(location):
            self._blocks.open_branch(condition_of(conditions), first=False)
        try:
            yield
        finally:
            self._blocks.close()
