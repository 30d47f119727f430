"""Loops of a `polygen.Builder`: ranges, domains, and what ends a loop early."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islpy as isl

from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.public import public, public_but
from polygen.language.builder.builder_arguments import Operand, Place, all_of, condition_of
from polygen.language.builder.draft import of_builder
from polygen.language.builder.open_blocks import LoopHead, place_here
from polygen.language.builder.variable_methods import VariableMethods
from polygen.language.domains import parse_domains
from polygen.language.handles import Handle, Loop
from polygen.language.loop_ranges import LoopRange, is_data
from polygen.language.statement import Statement
from polygen.language.trees import readable_alone


class LoopMethods(VariableMethods):
    """The methods of `Builder` that make loops, and end them."""

    @public
    @of_builder
    def loop(
        self,
        like: str,
        lower: Expression | Handle,
        upper: Expression | Handle | None = None,
        step: int = 1,
        *,
        while_: Operand | None = None,
        location: Place = None,
    ) -> Loop:
        """Return a new loop over the values of Python's ``range(lower, upper, step)``.

        ``with`` opens it: what is added then is inside, and loops opened inside are nested in the
        order in which they are opened.  One that is not opened is for reductions, and for `assign`
        with ``within``; or it is found from what instructions mention, as for text.

        Parameters:
            like: what its iname is called, if that name is free.
            lower, upper: bounds, affine in sizes, products of sizes and other loops; or integers
                that the kernel reads or computes: these are kept in a temporary.  In a product, a
                size below 0 counts as 0.  Without the second one, a condition ends the loop.
            step: how far values are apart; negative in a loop that counts down.
            while_: a condition, asked at the head of each iteration: the loop ends where it does
                not hold.  It may be a function of the loop.
            location: its place.

        Raises:
            InvalidArgument: if `step` is 0, or no integer.
            NonAffineDomain: if a bound is not affine.
            MalformedInstruction: if one has something in it that polygen does not have.

        >>> import numpy as np
        >>> import polygen as pg
        >>> b = pg.Builder()
        >>> x, steps = b.array("x", "int64", (1,)), b.array("steps", "int64", (1,))
        >>> with b.loop("t", 0, while_=x[0] > 1) as t:
        ...     x[0] = b.where(x[0] % 2 == 0, x[0]//2, 3*x[0] + 1)
        ...     steps[0] = t + 1
        >>> knl = b.kernel(seq_dependencies=True)
        >>> event, (last, count) = knl(x=np.array([27]), steps=np.array([0]))
        >>> print(last, count)
        [1] [111]
        """
        with self._at(location):
            low = self._bound(like, "begin", lower)
            high = None if upper is None else self._bound(like, "end", upper)
            found = LoopRange(self.name(like), low, high, step)
            self._add_domain(found.domain)
            new = Loop(found.iname, found.value, self._blocks)
            if upper is None or while_ is not None:
                self._add_head(new, while_, is_bounded=upper is not None)
            return new

    def _add_head(self, loop: Loop, while_: Operand | None, *, is_bounded: bool) -> None:
        """Keep the condition of a loop, which may be a function of it."""
        given: Any = while_
        if callable(given) and not isinstance(given, ex.ExpressionNode | Handle):  # trees are, too
            given = given(loop)
        condition = None if given is None else readable_alone(given)
        self._mention(condition)
        self._blocks.add_head(loop.iname, LoopHead(condition, is_bounded, place_here()))

    def _bound(self, like: str, side: str, given: Any) -> Expression:
        """Return a bound that domains may have; what data decides is read into a temporary."""
        bound = readable_alone(given)
        if not is_data(bound):
            return self._products.in_tree(bound, self._is_size)
        kept = self.declare(TemporaryVariable(self.name(f"{like}_{side}"))).expression
        around = self._blocks.said()
        if around is None or not around.predicates:
            self._add(Statement((kept,), (bound,)))
            return kept
        # The loop is there where the conditions do not hold, too, and has no iterations.
        met = all_of(around.predicates)
        outside = replace(around, predicates=(), guards=())
        self._add(Statement((kept,), (ex.If(met, bound, 0),)), outside)
        return kept

    @public_but("domain")
    @of_builder
    def domain(
        self, domain: str | isl.BasicSet | isl.Set, *, location: Place = None
    ) -> tuple[Loop, ...]:
        """Return the loops of a loop domain, whose inames are as given.

        Parameters:
            domain: as in `make_kernel`.
            location: its place.

        Raises:
            MalformedDomain, NonAffineDomain, UnboundedDomain: if it is none.
            NameTaken: if there is something of an iname's name.
        """
        with self._at(location):
            found = parse_domains(self._products.in_all(domain))
            inames = [iname for one in found for iname in one.inames]
            self._check_new(inames)
            self._owned |= dict(zip(inames, inames, strict=True))
            for one in found:
                self._add_domain(one)
            return tuple([Loop(i, ex.Variable(i), self._blocks) for i in inames])

    @public
    @of_builder
    def break_(self, *conditions: Any, location: Place = None) -> None:
        """End the innermost of the open loops, where conditions hold.

        What follows in the iteration is not executed, nor are later iterations.  What was added
        before comes before; the rest of the order is as `kernel` is told.

        Parameters:
            conditions: one, or several that all have to hold; none to end the loop wherever this
                is executed, as in a block of `when`.
            location: its place.

        Raises:
            InvalidArgument: if no loop is open; if it was opened more than once; or if an
                instruction inside reduces over it.
            MalformedInstruction: if there is something in a condition that polygen does not have.

        >>> import numpy as np
        >>> import polygen as pg
        >>> b = pg.Builder()
        >>> n = b.size("n")
        >>> x, place = b.array("x", "float64", (n,)), b.array("place", "int64", (1,))
        >>> with b.loop("i", 0, n) as i:
        ...     b.break_(x[i] < 0)
        ...     place[0] = i + 1
        >>> knl = b.kernel(seq_dependencies=True)
        >>> event, (first,) = knl(x=np.array([3.0, 1, -2, 5, -1]), place=np.zeros(1, np.int64))
        >>> print(first)
        [2]
        """
        with self._at(location):
            condition = condition_of(conditions)
            self._blocks.add_break(condition)
            self._mention(condition)
