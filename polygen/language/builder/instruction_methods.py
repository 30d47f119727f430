"""Instructions of a `polygen.Builder`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polygen.ir.atomicity import Atomicity
from polygen.ir.public import public
from polygen.language.builder.builder_arguments import (
    Names,
    Place,
    id_of,
    prefix_of,
    several,
    target_of,
    values_of,
    words_of,
)
from polygen.language.builder.draft import Draft, of_builder
from polygen.language.handles import tree_of
from polygen.language.parser import parse_statement
from polygen.language.statement import Statement
from polygen.language.trees import readable_alone


class InstructionMethods(Draft):
    """The methods of `Builder` that add instructions."""

    @public
    @of_builder
    def assign(  # noqa: PLR0913  (one for each option that trees come with)
        self,
        target: Any,
        value: Any,
        *,
        id: str | None = None,  # noqa: A002  (as options call it)
        within: Names | None = None,
        after: Names = (),
        when: Any = (),
        atomic: Atomicity | None = None,
        tags: Iterable[str] = (),
        location: Place = None,
    ) -> str:
        """Add an instruction; return its id.

        Parameters:
            target: a variable or an element; or a tuple of several, for as many values, or for
                one call with so many results; or a `part` of an array that a called kernel
                assigns.
            value: what is assigned.
            id: its id; a new one if not given.
            within: the loops that it is in besides the open ones, all of them; found as for text
                if not given.
            after: ids of instructions that come before, besides those that write what it reads;
                with ``"*"`` among them, these alone.
            when: a condition, or a tuple of conditions that all have to hold, besides open ones.
            atomic: how it is atomic, if it is.
            tags: names by which queries find it.
            location: its place.

        Raises:
            InvalidArgument: if something else is assigned to.
            MalformedInstruction: if there is something in a tree that polygen does not have.
        """
        with self._at(location):
            targets = tuple(map(target_of, several(target)))
            before = words_of(after)
            return self._add(
                Statement(
                    targets,
                    values_of(value, len(targets)),
                    id=id_of(id),
                    id_prefix=prefix_of(targets, tree_of(value)),
                    inames=None if within is None else frozenset(words_of(within)),
                    dependencies=tuple([name for name in before if name != "*"]),
                    exhaustive="*" in before,
                    predicates=tuple(map(readable_alone, several(when))),
                    atomicity=atomic,
                    tags=frozenset((tags,) if isinstance(tags, str) else tags),
                )
            )

    @public
    @of_builder
    def line(self, text: str, *, location: Place = None) -> str:
        """Add an instruction that is text, such as ``"... lbarrier {dep=load}"``; return its id.

        Raises:
            MalformedInstruction: if it is no instruction; blocks and rules are none.
        """
        with self._at(location):
            return self._add(parse_statement(text))
