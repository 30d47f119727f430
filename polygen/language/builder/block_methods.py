"""Blocks of a `polygen.Builder`: conditions, and options of several instructions."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.public import public
from polygen.language.builder.builder_arguments import (
    Before,
    Name,
    Names,
    Place,
    all_of,
    before_of,
    condition_of,
    id_of,
    pairs_of,
    words_of,
)
from polygen.language.builder.draft import of_builder
from polygen.language.builder.variable_methods import VariableMethods
from polygen.language.option_nodes import SCOPES
from polygen.language.said import Said
from polygen.language.statement import Statement
from polygen.source import caller_location


class BlockMethods(VariableMethods):
    """The methods of `Builder` that open blocks."""

    @public
    @of_builder
    @contextmanager
    def when(self, *conditions: Any, kept: bool = False, location: Place = None) -> Generator[None]:
        """Let what is added within ``with`` be executed where conditions hold.

        Parameters:
            conditions: one, or several that all have to hold.
            kept: whether they are asked once, before the block, as Python does, and kept in a
                temporary: for blocks that change what the conditions read.  Otherwise each
                instruction asks them, which tells proofs more.
            location: the place of the condition.

        Raises:
            MalformedInstruction: if there is something in one that polygen does not have.
        """
        with self._at(location):
            condition = condition_of(conditions)
            if kept and condition is not None:
                condition = self._kept(condition)
            self._blocks.open_branch(condition, first=True)
        try:
            yield
        finally:
            self._blocks.close()

    @public
    @of_builder
    @contextmanager
    def otherwise(
        self, *conditions: Any, kept: bool = False, location: Place = None
    ) -> Generator[None]:
        """Let what is added within ``with`` be executed where the conditions before do not hold.

        It stands right behind the block of `when`, or of another `otherwise` with conditions.

        Parameters:
            conditions: others, which then have to hold; none for all that is left.
            kept: whether they are asked once, and kept, as for `when`.
            location: its place.

        Raises:
            InvalidArgument: if no condition is before it.
            MalformedInstruction: if there is something in one that polygen does not have.
        """
        with self._at(location):
            condition, chain = condition_of(conditions), self._blocks.chain
            if kept and condition is not None and chain is not None:
                denied = [ex.LogicalNot(tried) for tried in chain.tried]
                condition = self._kept(all_of([*denied, condition]))
                self._blocks.go_on(chain)
            self._blocks.open_branch(condition, first=False)
        try:
            yield
        finally:
            self._blocks.close()

    def _kept(self, condition: Expression) -> Expression:
        """Return a temporary that keeps whether a condition holds here."""
        temporary = TemporaryVariable(self.name("holds"), "bool")
        kept: Expression = self._declare(temporary).expression
        self._add(Statement((kept,), (condition,)))
        return kept

    @public
    @of_builder
    @contextmanager
    def options(  # noqa: PLR0913  (one for each option of text)
        self,
        *,
        after: Before = (),
        after_query: str | None = None,
        tags: Iterable[str] = (),
        priority: int | None = None,
        groups: Names = (),
        conflicts: Names = (),
        no_sync: Names | Mapping[Name, str] = (),
        no_sync_query: str | tuple[str, str] | None = None,
        duplicates: Names | Mapping[Name, str | None] = (),
        id_prefix: str | None = None,
        location: Place = None,
    ) -> Generator[None]:
        r"""Let what is added within ``with`` have options, as ``with {...}`` does in text.

        All of them mean what they mean in text: see the table of options in the reference.

        Parameters:
            after: ids of instructions that come before, as for `assign`.
            after_query: a query for others, such as ``"writes:x"``.
            tags: names by which queries find the instructions.
            priority: of instructions that may come next, the one with the highest does.
            groups: those that the instructions are part of.
            conflicts: groups of which all come before, or all after.
            no_sync: ids of instructions from which no work item has to wait; or a dictionary from
                these to ``"local"``, ``"global"`` or ``"any"``.
            no_sync_query: a query for others; or a tuple of a query and such a word.
            duplicates: loops of which the instructions get ones of their own; or a dictionary from
                these to names.
            id_prefix: what new ids begin with.
            location: the place of the block.

        Raises:
            InvalidArgument: if one is no such option.

        >>> import polygen as pg
        >>> b = pg.Builder()
        >>> x = b.array("x", "float64", (4,))
        >>> with b.loop("i", 0, 4) as i, b.options(tags=["fill"], id_prefix="fill"):
        ...     x[i] = 1
        >>> print(str(b.kernel()).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] x[i] = 1  {id=fill, tags=fill}
        """
        with self._at(location):
            self._blocks.open_options(
                Said(
                    **before_of(after),
                    dependency_queries=() if after_query is None else (after_query,),
                    tags=frozenset(words_of(tags)),
                    priority=priority,
                    groups=frozenset(words_of(groups)),
                    conflicts=frozenset(words_of(conflicts)),
                    no_sync=_with_scopes(no_sync),
                    no_sync_queries=_query_with_scope(no_sync_query),
                    duplicated=pairs_of(duplicates),
                    id_prefix=id_of(id_prefix),
                )
            )
        try:
            yield
        finally:
            self._blocks.close()


def _with_scopes(given: Names | Mapping[Name, str]) -> tuple[tuple[str, str], ...]:
    return tuple([(name, _scope(scope)) for name, scope in pairs_of(given)])


def _query_with_scope(given: str | tuple[str, str] | None) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    query, scope = (given, None) if isinstance(given, str) else given
    return ((query, _scope(scope)),)


def _scope(scope: str | None) -> str:
    if (scope or "any") in SCOPES:
        return scope or "any"
    raise InvalidArgument(
        f"'{scope}' is no memory that work items wait because of",
        where=caller_location(),
        remedy=did_you_mean(str(scope), SCOPES),
    )
