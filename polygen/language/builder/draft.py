"""The state of a `polygen.Builder`: names, variables, loops and statements so far."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from polygen.errors import PolygenError
from polygen.ir import walk
from polygen.ir.array import Argument, TemporaryVariable, ValueArg
from polygen.ir.callables import ScalarCallable
from polygen.ir.domain import Domain
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.names import usable_name
from polygen.ir.public import public
from polygen.ir.substitution import SubstitutionRule
from polygen.language.builder.builder_arguments import (
    Place,
    is_argument,
    place_of,
    reduced_in,
    taken,
)
from polygen.language.builder.open_blocks import OpenBlocks, place_here
from polygen.language.instructions import Ids
from polygen.language.named_products import NamedProducts
from polygen.language.said import Said
from polygen.language.statement import Statement
from polygen.source import written_at

_C = TypeVar("_C", bound=Callable[..., Any])


def of_builder(method: _C) -> _C:
    """Return a method of a part of `Builder` with the name that users know it by."""
    method.__qualname__ = f"Builder.{method.__name__}"
    return method


class Draft:
    """A kernel that is being made: names, variables, loops and statements so far.

    The methods by which users add to it are in `Builder`'s other parts.
    """

    def __init__(self, location: Place) -> None:
        self._where = place_of(location)
        self._owned: dict[str, str] = {}  # names that were given out, as they were asked for
        self._mentioned: set[str] = set()
        self._inames: dict[str, Domain] = {}
        self._variables: dict[str, Argument | TemporaryVariable] = {}
        self._rules: list[SubstitutionRule] = []
        self._functions: dict[str, Kernel | ScalarCallable] = {}
        self._taken: set[str] = set()
        self._ids = Ids(self._taken)
        self._blocks = OpenBlocks()
        self._products = NamedProducts(self.name)

    @public
    @of_builder
    def name(self, like: str) -> str:
        """Return a name that nothing has so far: `like`, or one much like it.

        Words that C, OpenCL, CUDA or isl read in their own way are not returned.  Errors show what
        was asked for.
        """
        word = usable_name(like)
        found, count = word, 0
        while found in self._owned or found in self._mentioned:
            found, count = f"{word}_{count}", count + 1
        self._owned[found] = like
        return found

    def _name_of_argument(self, like: str) -> str:
        """Return the name of an argument, which what is said already may mention."""
        if any(like == self._owned.get(a) for a, v in self._variables.items() if is_argument(v)):
            raise taken(like)
        word = usable_name(like)
        if word in self._owned:
            return self.name(like)
        self._owned[word] = like
        return word

    def _mention(self, node: Expression | None) -> None:
        if node is not None:
            self._mentioned |= walk.free_variables(node)

    def _is_size(self, name: str) -> bool:
        """Tell whether a variable is no loop and no array or temporary that is declared."""
        declared = self._variables.get(name)
        is_scalar = declared is None or isinstance(declared, ValueArg)
        return is_scalar and name not in self._inames

    def _add_domain(self, domain: Domain) -> None:
        self._inames |= dict.fromkeys(domain.inames, domain)
        self._mentioned.update(domain.parameters)

    def _check_new(self, names: Iterable[str]) -> None:
        sizes = [size.name for size in self._products.sizes]
        for name in names:
            if name in self._inames or name in self._variables or name in sizes:
                raise taken(name)

    def _add(self, said: Statement, around: Said | None = None) -> str:
        around = around or self._blocks.said()
        if around is not None:
            reduced = reduced_in(said) if around.more_inames else NO_NAMES
            self._blocks.check_reduced(reduced & around.more_inames)
            said = said.inside(replace(around, more_inames=around.more_inames - reduced))
        insn_id = said.id or self._ids.new(said)
        self._taken.add(insn_id)
        self._blocks.parts.append(replace(said, id=insn_id, where=place_here()))
        self._mentioned.update(*map(walk.free_variables, said.expressions))
        self._mentioned.update([name for name, _ in said.declared])
        if said.verbatim is not None:
            self._mentioned |= said.verbatim.reads
        return insn_id

    @contextmanager
    def _at(self, location: Place) -> Generator[None]:
        """Let errors show a place, and names as they were asked for."""
        try:
            with written_at(place_of(location) or self._where):
                yield
        except PolygenError as error:
            error.with_names({name: name for name in self._mentioned} | self._owned)
            raise
