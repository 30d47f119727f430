"""`polygen.Draft`: a kernel that calls put together from trees, with places in another program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any, TypeAlias, cast

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import InvalidArgument, MalformedInstruction, NameTaken, NonAffineDomain
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, TemporaryVariable
from polygen.ir.atomicity import Atomicity
from polygen.ir.domain import Domain, intersection, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.names import usable_name
from polygen.ir.public import public, public_but
from polygen.ir.show_expression import show_expression
from polygen.language.domains import parse_domains
from polygen.language.instructions import Ids
from polygen.language.kernel_data import read_kernel_data
from polygen.language.make_kernel import make_kernel
from polygen.language.parser import parse_statement
from polygen.language.statement import Statement
from polygen.language.trees import readable_alone
from polygen.source import SourceLocation, caller_location, written_at

_Names: TypeAlias = str | ex.Variable | Iterable[str | ex.Variable]


class Draft:
    r"""A kernel in the making, for programs that write kernels: trees in, kernel out.

    Loops, variables and instructions are added one by one, each with the place in a program that
    it comes from; errors point there.  `kernel` then makes the kernel, as `make_kernel` makes one
    from text, with the same checks.  Expressions are pymbolic's trees, and numbers.

    Parameters:
        where: the place of what has none of its own, and of the kernel; if not given, the line
            that calls.

    >>> import polygen as pg
    >>> from pymbolic import var
    >>> draft = pg.Draft(where=pg.SourceLocation("model.py", 10))
    >>> i = draft.loop("i", 0, var("n"))
    >>> t = draft.temporary("half")
    >>> first = draft.assign(t, var("a")[i] / 2, where=pg.SourceLocation("model.py", 12))
    >>> second = draft.assign(var("out")[i], t * t, after=first)
    >>> print(str(draft.kernel()).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i] half_ = a[i]/2  {id=insn}
    [i] out[i] = half_*half_  {id=insn_0, dep=insn}
    """

    @public
    def __init__(self, *, where: SourceLocation | None = None) -> None:
        self._where = where
        self._names: set[str] = set()
        self._inames: dict[str, Domain] = {}
        self._variables: list[Argument | TemporaryVariable] = []
        self._statements: list[Statement] = []
        self._taken: set[str] = set()
        self._ids = Ids(self._taken)

    @public
    def name(self, like: str) -> str:
        """Return a name that nothing has so far: `like`, or one much like it.

        Words that C, OpenCL, CUDA or isl read in their own way are not returned.
        """
        word = usable_name(like)
        found, count = word, 0
        while found in self._names:
            found, count = f"{word}_{count}", count + 1
        self._names.add(found)
        return found

    # --- loops

    @public
    def loop(
        self,
        like: str,
        lower: Expression,
        upper: Expression,
        step: int = 1,
        *,
        where: SourceLocation | None = None,
    ) -> ex.Variable:
        """Return a new iname that has the values of Python's ``range(lower, upper, step)``.

        Parameters:
            like: what it is called, if that name is free.
            lower, upper: bounds, affine in sizes, in other inames, and in integer temporaries.
            step: a positive number.
            where: its place.

        Raises:
            InvalidArgument: if `step` is no positive integer.
            NonAffineDomain: if a bound is not affine.
            MalformedInstruction: if one has something in it that polygen does not have.
        """
        with self._at(where):
            if type(step) is not int or step < 1:
                raise InvalidArgument(
                    f"a loop has the step {step!r}",
                    where=caller_location(),
                    remedy="pass a positive integer; for a loop that counts down, count up and "
                    "subtract",
                )
            low, high = readable_alone(lower), readable_alone(upper)
            iname = self.name(like)
            return self._domain(_range(iname, low, high, step))[0]

    @public_but("domain")
    def domain(
        self, domain: str | isl.BasicSet | isl.Set, *, where: SourceLocation | None = None
    ) -> tuple[ex.Variable, ...]:
        """Return the inames of a loop domain, whose names are as given.

        Parameters:
            domain: as in `make_kernel`.
            where: its place.

        Raises:
            MalformedDomain, NonAffineDomain, UnboundedDomain: if it is none.
            NameTaken: if there is something of an iname's name.
        """
        with self._at(where):
            return self._domain(domain)

    def _domain(self, given: object) -> tuple[ex.Variable, ...]:
        domains = parse_domains(given)
        inames = [iname for domain in domains for iname in domain.inames]
        self._check_new(inames)
        self._inames |= {iname: domain for domain in domains for iname in domain.inames}
        self._names.update(inames, *(domain.parameters for domain in domains))
        return tuple(map(ex.Variable, inames))

    # --- variables

    @public
    def declare(
        self, variable: Argument | TemporaryVariable, *, where: SourceLocation | None = None
    ) -> ex.Variable:
        """Declare an argument or a temporary, by its own name; return it for expressions.

        What is not declared is an argument; its type and shape are found as `make_kernel` does.

        Raises:
            NameTaken: if a variable or an iname has this name.
            InvalidArgument, ReservedName: if it cannot be declared so.
        """
        with self._at(where):
            declared = read_kernel_data([variable]).variables
            self._check_new(declared)
            self._variables.append(variable)
            self._names.update(declared)
            return ex.Variable(variable.name)

    @public
    def temporary(
        self,
        like: str,
        dtype: object = None,
        shape: Any = (),
        address_space: AddressSpace = AddressSpace.PRIVATE,
        *,
        where: SourceLocation | None = None,
    ) -> ex.Variable:
        """Return a new temporary, called `like` if that name is free.

        Parameters:
            like: what it is called.
            dtype: its type; None to find it from what is assigned.
            shape: its extents.
            address_space: who shares it.
            where: its place.

        Raises:
            InvalidArgument: if there is no such type, shape or space.
        """
        made: Any = TemporaryVariable
        return self.declare(made(self.name(like), dtype, shape, address_space), where=where)

    def _check_new(self, names: Iterable[str]) -> None:
        known = {*self._inames, *[variable.name for variable in self._variables]}
        for name in names:
            if name in known:
                raise NameTaken(
                    f"the draft has something called '{name}' already",
                    where=caller_location(),
                    remedy="ask for a new name: draft.name(...), or draft.loop(...)",
                )

    @staticmethod
    def part(axes: _Names, element: Expression) -> Any:
        """Return ``[j]: a[i, j]``, part of an array, for a kernel that is called.

        Parameters:
            axes: names for its axes.
            element: an element, in terms of these.
        """
        return ex.SubArrayRef(_words(axes), element)

    # --- instructions

    @public
    def assign(  # noqa: PLR0913  (one for each option that trees come with)
        self,
        target: Any,
        value: Any,
        *,
        id: str | None = None,  # noqa: A002  (as options call it)
        within: _Names | None = None,
        after: _Names = (),
        when: Any = (),
        atomic: Atomicity | None = None,
        tags: Iterable[str] = (),
        where: SourceLocation | None = None,
    ) -> str:
        """Add an instruction; return its id.

        Parameters:
            target: a variable or an element; or a tuple of several, for as many values, or for
                one call with so many results; or a `part` of an array that a called kernel
                assigns.
            value: what is assigned.
            id: its id; a new one if not given.
            within: the loops that it is in, all of them; found as for text if not given.
            after: ids of instructions that come before, besides those that write what it reads;
                with ``"*"`` among them, these alone.
            when: a condition, or a tuple of conditions that all have to hold.
            atomic: how it is atomic, if it is.
            tags: names by which queries find it.
            where: its place.

        Raises:
            InvalidArgument: if something else is assigned to.
            MalformedInstruction: if there is something in a tree that polygen does not have.
        """
        with self._at(where):
            targets = tuple(map(_target, _several(target)))
            before = _words(after)
            return self._add(
                Statement(
                    targets,
                    _values(value, len(targets)),
                    id=id,
                    id_prefix=_prefix(targets, value),
                    inames=None if within is None else frozenset(_words(within)),
                    dependencies=tuple([name for name in before if name != "*"]),
                    exhaustive="*" in before,
                    predicates=tuple(map(readable_alone, _several(when))),
                    atomicity=atomic,
                    tags=frozenset(tags),
                )
            )

    @public
    def line(self, text: str, *, where: SourceLocation | None = None) -> str:
        """Add an instruction that is text, such as ``"... lbarrier {dep=load}"``; return its id.

        Raises:
            MalformedInstruction: if it is no instruction; blocks and rules are none.
        """
        with self._at(where):
            return self._add(parse_statement(text))

    def _add(self, said: Statement) -> str:
        insn_id = said.id or self._ids.new(said)
        self._taken.add(insn_id)
        text = said.text or _text(said, insn_id)
        self._statements.append(replace(said, id=insn_id, text=text, where=caller_location()))
        self._names.update(*map(walk.free_variables, said.expressions))
        self._names.update([name for name, _ in said.declared])
        return insn_id

    # --- the kernel

    @public
    def kernel(self, name: str = "polygen_kernel", **options: Any) -> Kernel:
        """Return the kernel.

        Parameters:
            name: of the generated function.
            options: others of `make_kernel`, but what it is made of.

        Raises:
            UserError: as `make_kernel` does.
        """
        with self._at(None):
            domains = tuple(dict.fromkeys(self._inames.values()))
            lines: Any = [*self._statements]
            return make_kernel(domains, lines, [*self._variables, "..."], name=name, **options)

    def _at(self, where: SourceLocation | None) -> Any:
        return written_at(where or self._where)


def _range(iname: str, low: Expression, high: Expression, step: int) -> Domain:
    """Return the domain of a loop from one bound to below another one."""
    index = ex.Variable(iname)
    conditions: list[Expression] = [
        ex.Comparison(low, "<=", index),
        ex.Comparison(index, "<", high),
    ]
    if step > 1:
        ahead = ex.remainder_of(ex.sum_of(index, ex.negated(low)), step)
        conditions.append(ex.Comparison(ahead, "==", 0))
    sets = [condition_set(condition) for condition in conditions]
    known = [found for found in sets if found is not None]
    if len(known) < len(sets):
        raise NonAffineDomain(
            f"the loop '{iname}' has a bound that is not affine in sizes and inames",
            where=caller_location(),
            excerpt=f"{show_expression(low)} <= {iname} < {show_expression(high)}",
            remedy="assign what varies to an integer temporary, and name that as the bound",
        )
    return Domain(unflatten(reduce(intersection, known), [iname]))


def _several(given: object) -> tuple[object, ...]:
    """Return what is given, which is one or a tuple of several, as a tuple."""
    return (*cast("Iterable[object]", given),) if isinstance(given, tuple) else (given,)


def _target(node: Any) -> Expression:
    """Return what is assigned to, in the form that the language has."""
    target = readable_alone(node)
    if not isinstance(target, ex.Variable | ex.Subscript | ex.SubArrayRef):
        raise InvalidArgument(
            f"{show_expression(target)} cannot be assigned to",
            where=caller_location(),
            remedy="pass a variable, an element of an array, or a part of one for a kernel that is "
            "called",
        )
    return target


def _values(value: Any, count: int) -> tuple[Expression, ...]:
    """Return a value for each of the targets: the results of one call, if that is what it is."""
    if isinstance(value, tuple):
        values = tuple(map(readable_alone, _several(cast("object", value))))
        if len(values) != count:
            raise MalformedInstruction(
                f"{len(values)} values are assigned to {count} targets",
                where=caller_location(),
                remedy="pass as many values as targets",
            )
        return values
    whole = readable_alone(value)
    return (whole,) if count == 1 else tuple([ex.Component(whole, n) for n in range(count)])


def _prefix(targets: tuple[Expression, ...], value: Any) -> str | None:
    """Return how the id of a call of a kernel begins, as `make_kernel` lets it begin."""
    if not isinstance(value, ex.Call):
        return None
    parts = (*targets, *value.parameters)
    return ex.name_of(value.function) if any(isinstance(p, ex.SubArrayRef) for p in parts) else None


def _words(names: _Names) -> tuple[str, ...]:
    """Return names, given as one or several texts or variables, as texts."""
    several = (names,) if isinstance(names, str | ex.Variable) else tuple(names)
    return tuple([n if isinstance(n, str) else n.name for n in several])


def _text(said: Statement, insn_id: str) -> str:
    """Return an instruction as text, for errors."""
    options = [f"id={insn_id}"]
    if said.dependencies or said.exhaustive:
        options.append(f"dep={'*' if said.exhaustive else ''}{':'.join(said.dependencies)}")
    if said.inames is not None:
        options.append(f"inames={':'.join(sorted(said.inames))}")
    options += [f"if={show_expression(p)}" for p in said.predicates]
    left, right = (", ".join(map(show_expression, s)) for s in (said.assignees, said.values))
    return f"{left} = {right}  {{{', '.join(options)}}}"
