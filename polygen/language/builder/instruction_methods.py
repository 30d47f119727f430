"""Instructions of a `polygen.Builder`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.atomicity import Atomicity
from polygen.ir.expression import Expression
from polygen.ir.public import public, public_but
from polygen.ir.signature import Signature
from polygen.language.builder.builder_arguments import (
    Before,
    Names,
    Place,
    c_name_of,
    options_of,
    pairs_of,
    prefix_of,
    several,
    target_of,
    values_of,
    words_of,
)
from polygen.language.builder.called_handles import LibraryValue
from polygen.language.builder.draft import Draft, of_builder
from polygen.language.handles import tree_of
from polygen.language.parser import parse_statement
from polygen.language.statement import Library, Statement, Verbatim
from polygen.language.trees import readable_alone
from polygen.source import caller_location


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
        after: Before = (),
        when: Any = (),
        atomic: Atomicity | None = None,
        asynchronous: bool = False,
        tags: Iterable[str] = (),
        location: Place = None,
    ) -> str:
        """Add an instruction; return its id.

        Parameters:
            target: a variable or an element; or a tuple of several, for as many values, or for
                one call with so many results; or a `part` of an array that a called kernel
                assigns; or ``()`` for a call of a kernel that is given all of its arguments.
            value: what is assigned; or what `library` returns.
            id: its id; a new one if not given.
            within: the loops that it is in besides the open ones, all of them; found as for text
                if not given.
            after: ids of instructions that come before, besides those that write what it reads;
                with ``"*"`` among them, these alone.  A dictionary says of ids which instances
                come before which: ``{"load": "{ [i] -> [i'] : i' = i }"}``, or None for all.
            when: a condition, or a tuple of conditions that all have to hold, besides open ones.
            atomic: how it is atomic, if it is.
            asynchronous: whether it is a copy that need not be over until a barrier.
            tags: names by which queries find it.
            location: its place.

        Raises:
            InvalidArgument: if something else is assigned to.
            MalformedInstruction: if there is something in a tree that polygen does not have.
        """
        with self._at(location):
            options = options_of(id=id, within=within, after=after, when=when, tags=tags)
            targets = tuple(map(target_of, several(target)))
            if isinstance(value, LibraryValue):
                said = _library_statement(targets, value)
            else:
                prefix = prefix_of(targets, tree_of(value), self._functions)
                said = Statement(targets, values_of(value, len(targets)), id_prefix=prefix)
            said = replace(said, atomicity=atomic, asynchronous=asynchronous, **options)
            return self._add(said)

    @public
    @of_builder
    def barrier(self, scope: str = "local", *, location: Place = None, **options: Any) -> str:
        """Add a barrier, a point at which work items wait for each other; return its id.

        Parameters:
            scope: who waits: ``"local"`` for the work items of a group, ``"global"`` for all.
            location: its place.
            options: others of `assign`: ``id``, ``within``, ``after``, ``when``, ``tags``.

        Raises:
            InvalidArgument: if there is no such scope, or no such option.
        """
        with self._at(location):
            if scope not in _MARKS:
                raise InvalidArgument(
                    f"there are no barriers of the scope '{scope}'",
                    where=caller_location(),
                    remedy=did_you_mean(scope, _MARKS),
                )
            return self._add(Statement(mark=_MARKS[scope], **_checked("barrier", options)))

    @public
    @of_builder
    def nop(self, *, location: Place = None, **options: Any) -> str:
        """Add a point in the order at which nothing is done; return its id.

        Parameters:
            location: its place.
            options: others of `assign`: ``id``, ``within``, ``after``, ``when``, ``tags``.

        Raises:
            InvalidArgument: if there is no such option.
        """
        with self._at(location):
            return self._add(Statement(mark="nop", **_checked("nop", options)))

    @public_but("values", "reads")
    @of_builder
    def code(
        self,
        text: str,
        values: Names | Mapping[str, Any] = (),
        *,
        reads: Names = (),
        writes: Any = (),
        atomic: Atomicity | None = None,
        location: Place = None,
        **options: Any,
    ) -> str:
        """Add text in the target's language; return the id.

        Parameters:
            text: what is pasted.  It has the names of variables in the kernel.
            values: names of scalars and loops in it; or a dictionary from names in it to what
                they stand for.
            reads: the variables that it reads.
            writes: the variables, or elements of them, that it writes: one, or a tuple.
            atomic: ``Atomicity(any_order=True)`` if instances may come in any order; or None.
            location: its place.
            options: others of `assign`: ``id``, ``within``, ``after``, ``when``, ``tags``.

        Raises:
            InvalidArgument: if there is no such option, or if something else is written.
        """
        with self._at(location):
            known = pairs_of(values)
            names = tuple([c_name_of(name) for name, _ in known])
            meant = [ex.Variable(name) if value is None else value for name, value in known]
            return self._add(
                Statement(
                    tuple(map(target_of, several(writes))),
                    tuple(map(readable_alone, meant)),
                    verbatim=Verbatim(names, text, frozenset(words_of(reads))),
                    atomicity=atomic,
                    **_checked("code", options),
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


def _library_statement(targets: tuple[Expression, ...], value: LibraryValue) -> Statement:
    """Return the statement that assigns what a routine returns."""
    names = tuple([name for name, _ in value.numbers])
    numbers = [number for _, number in value.numbers]
    said = Library(value.routine, names, value.options)
    return Statement(targets, (*value.operands, *numbers), library=said, id_prefix=value.routine)


_MARKS = {"local": "lbarrier", "global": "gbarrier"}
_SIGNATURES = {
    name: Signature(options_of, name=f"Builder.{name}") for name in ("barrier", "nop", "code")
}


def _checked(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that all instructions have, given to a method by name."""
    _SIGNATURES[method].by_name((), options)
    return options_of(**options)
