"""`polygen.Builder`: a kernel that calls put together, with places in another program."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import islpy as isl

from polygen.errors import (
    InvalidArgument,
    NameTaken,
    PolygenError,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.atomicity import Atomicity
from polygen.ir.collection import without_collection
from polygen.ir.domain import Domain
from polygen.ir.dtype import to_dtype
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.names import usable_name
from polygen.ir.public import public, public_but
from polygen.ir.reduction import facts_of, with_dtype
from polygen.ir.signature import Signature
from polygen.language.arguments import names_in_extents
from polygen.language.builder_arguments import (
    Names,
    Operand,
    Place,
    all_of,
    condition_of,
    id_of,
    is_argument,
    place_of,
    prefix_of,
    reduced_in,
    several,
    taken,
    target_of,
    values_of,
    words_of,
)
from polygen.language.builder_blocks import LoopHead, OpenBlocks, place_here
from polygen.language.domains import parse_domains
from polygen.language.handles import Handle, Loop, VariableHandle, tree_of
from polygen.language.instructions import Ids, Written
from polygen.language.kernel_assembly import KernelOptions, assemble, read_options
from polygen.language.kernel_data import read_kernel_data
from polygen.language.loop_ranges import LoopRange, is_data
from polygen.language.named_products import NamedProducts
from polygen.language.operations import find_operation, operation_names
from polygen.language.parser import parse_statement
from polygen.language.said import Said
from polygen.language.statement import Statement
from polygen.language.trees import readable, readable_alone
from polygen.source import caller_location, written_at


class Builder:
    r"""Makes a kernel by calls: for programs that write kernels.

    Loops, variables and instructions are added one by one, each with the place in a program that
    it comes from; errors show that place.  `kernel` then makes the kernel, with the checks of
    `make_kernel`.  Values are pymbolic's trees, numbers, or what Python's operators make of the
    handles that the methods return.  A ``location`` is a `SourceLocation`, or a tuple
    ``(file, line, column, end)``, whose last two may be left out.

    Parameters:
        location: the place of what has none of its own, and of the kernel; if not given, the line
            that calls.

    >>> import polygen as pg
    >>> b = pg.Builder()
    >>> n = b.size("n")
    >>> x, y = b.array("x", "float32", (n,)), b.array("y", "float32", (n,))
    >>> with b.loop("i", 1, n - 1) as i:
    ...     with b.when(x[i] > 0):
    ...         y[i] = x[i-1] + x[i+1]
    ...     with b.otherwise():
    ...         y[i] = 0
    >>> print(str(b.kernel()).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i] y[i] = x[i - 1] + x[i + 1]  {id=insn, if=x[i] > 0}
    [i] y[i] = 0  {id=insn_0, if=not x[i] > 0}
    """

    @public
    def __init__(self, *, location: Place = None) -> None:
        self._where = place_of(location)
        self._owned: dict[str, str] = {}  # names that were given out, as they were asked for
        self._mentioned: set[str] = set()
        self._inames: dict[str, Domain] = {}
        self._variables: dict[str, Argument | TemporaryVariable] = {}
        self._taken: set[str] = set()
        self._ids = Ids(self._taken)
        self._blocks = OpenBlocks()
        self._products = NamedProducts(self.name)

    # --- names

    @public
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

    # --- loops

    @public
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

    @public
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

    def _mention(self, node: Expression | None) -> None:
        if node is not None:
            self._mentioned |= walk.free_variables(node)

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

    def _is_size(self, name: str) -> bool:
        """Tell whether a variable is no loop and no array or temporary that is declared."""
        declared = self._variables.get(name)
        is_scalar = declared is None or isinstance(declared, ValueArg)
        return is_scalar and name not in self._inames

    @public_but("domain")
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

    def _add_domain(self, domain: Domain) -> None:
        self._inames |= dict.fromkeys(domain.inames, domain)
        self._mentioned.update(domain.parameters)

    # --- conditions

    @public
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

    # --- variables

    @public
    def size(self, like: str, *, location: Place = None) -> Handle:
        """Declare a size, an integer that the caller passes or that follows from the arrays'.

        Parameters:
            like: its name, if that can be had.
            location: its place.

        Raises:
            NameTaken: if there is an argument of this name.
        """
        return self.scalar(like, location=location)

    @public
    def scalar(self, like: str, dtype: object = None, *, location: Place = None) -> Handle:
        """Declare a number that the caller passes.

        Parameters:
            like: its name, if that can be had.
            dtype: its type; None to find it.
            location: its place.

        Raises:
            NameTaken: if there is an argument of this name.
            InvalidArgument: if there is no such type.
        """
        with self._at(location):
            return self._declare(ValueArg(self._name_of_argument(like), dtype))

    @public
    def array(
        self,
        like: str,
        dtype: object = None,
        shape: Any = None,
        *,
        location: Place = None,
        **layout: Any,
    ) -> VariableHandle:
        """Declare an array that the caller passes; ``x[i] = value`` then assigns to an element.

        Parameters:
            like: its name, if that can be had.
            dtype: the type of its elements; None to find it.
            shape: its extents: a tuple of numbers and sizes; None to find them from the subscripts.
            location: its place.
            layout: others of `GlobalArg`, such as ``order`` and ``strides``.

        Raises:
            NameTaken: if there is an argument of this name.
            InvalidArgument: if it cannot be declared so.
        """
        with self._at(location):
            made: Any = GlobalArg
            name = self._name_of_argument(like)
            return self._declare(made(name, dtype, shape, **layout))

    @public
    def temporary(
        self,
        like: str,
        dtype: object = None,
        shape: Any = (),
        address_space: AddressSpace = AddressSpace.PRIVATE,
        *,
        location: Place = None,
    ) -> VariableHandle:
        """Return a new temporary, called `like` if that name is free.

        Parameters:
            like: what it is called.
            dtype: its type; None to find it from what is assigned.
            shape: its extents.
            address_space: who shares it.
            location: its place.

        Raises:
            InvalidArgument: if there is no such type, shape or space.
        """
        with self._at(location):
            made: Any = TemporaryVariable
            return self._declare(made(self.name(like), dtype, shape, address_space))

    @public
    def declare(
        self, variable: Argument | TemporaryVariable, *, location: Place = None
    ) -> VariableHandle:
        """Declare an argument or a temporary, by its own name.

        What is not declared is an argument; its type and shape are found as `make_kernel` does.

        Raises:
            NameTaken: if a variable or an iname has this name.
            InvalidArgument, ReservedName: if it cannot be declared so.
        """
        with self._at(location):
            return self._declare(variable)

    def _declare(self, variable: Argument | TemporaryVariable) -> VariableHandle:
        declared = read_kernel_data([variable])
        self._check_new(declared.variables)
        self._variables[variable.name] = variable
        self._mentioned |= names_in_extents(declared)
        for name in declared.variables:
            self._owned.setdefault(name, name)
        return VariableHandle(variable.name, self._assigned)

    def _check_new(self, names: Iterable[str]) -> None:
        sizes = [size.name for size in self._products.sizes]
        for name in names:
            if name in self._inames or name in self._variables or name in sizes:
                raise taken(name)

    @staticmethod
    @public_but("axes")
    def part(axes: Names, element: Any) -> Handle:
        """Return ``[j]: a[i, j]``, part of an array, for a kernel that is called.

        Parameters:
            axes: names for its axes.
            element: an element, in terms of these.
        """
        return Handle(ex.SubArrayRef(words_of(axes), tree_of(element)))

    # --- values

    @staticmethod
    @public
    def call(function: str, *arguments: Any) -> Handle:
        """Return what a function makes of values: ``builder.call("sin", x[i])``.

        Parameters:
            function: its name; also that of a type, which converts, ``min`` or ``max``.
            arguments: what it is given.
        """
        return Handle(ex.Call(ex.Variable(function), tuple(map(tree_of, arguments))))

    @staticmethod
    @public
    def where(condition: Any, then: Any, otherwise: Any) -> Handle:
        """Return one value if a condition holds, and another one if not.

        Parameters:
            condition: the condition.
            then: the value if it holds.
            otherwise: the value if not.
        """
        return Handle(ex.If(*map(tree_of, (condition, then, otherwise))))

    @public
    def sum(self, over: Any, *operand: Operand, location: Place = None) -> Handle:
        """Return a sum: `reduce` with ``"sum"``."""
        return self.reduce("sum", over, *operand, location=location)

    @public
    def reduce(
        self,
        operation: str,
        over: Any,
        *operand: Operand,
        dtype: object = None,
        location: Place = None,
    ) -> Handle:
        """Return a reduction: ``sum(j, x[j])``, ``sum("j", 0, n, lambda j: x[j])``.

        Where the loop is open, the instruction that has the reduction stands before that loop.

        Parameters:
            operation: its name: ``"sum"``, ``"max"``, ``"argmax"``, ...
            over: a loop, or a tuple of loops; or a name, for a new loop, of which the bounds come
                next.
            operand: what is reduced; as many values as the operation has results.  With bounds
                before it, it may be a function of the new loop, or a tree that mentions its name.
            dtype: the type in which it is computed; None for what follows from the operand.
            location: its place.

        Raises:
            InvalidArgument: if there is no such operation, or it is given something else.
            NameTaken: if a tree may mean two loops by a name.
            UserError: as `loop` does.
        """
        with self._at(location):
            found = find_operation(operation)
            if found is None:
                raise InvalidArgument(
                    f"there is no reduction '{operation}'",
                    where=caller_location(),
                    remedy=did_you_mean(operation, operation_names()),
                )
            width = facts_of(found).width
            given: tuple[Any, ...] = operand
            if len(given) > 2:
                over, given = self._own_loop(over, given)
            if len(given) != width:
                raise InvalidArgument(
                    f"{operation}() is given {len(given)} values to reduce, not {width}",
                    where=caller_location(),
                    remedy="pass a loop, then the values; or a name, two bounds, and the values",
                )
            if dtype is not None:
                found = with_dtype(found, to_dtype(dtype))
            values = tuple([readable(value) for value in given])
            reduced = values[0] if width == 1 else ex.Several(values)
            return Handle(ex.Reduction(found, words_of(over), reduced))

    def _own_loop(self, over: Any, given: tuple[Any, ...]) -> tuple[Loop, tuple[Any, ...]]:
        """Return a new loop for a reduction, and what is reduced in terms of it."""
        like, *others = words_of(over)
        if others:
            raise InvalidArgument(
                f"a reduction over {like}, {', '.join(others)} is given bounds",
                where=caller_location(),
                remedy="make the loops before: builder.sum((i, j), x[i, j]) with i = "
                "builder.loop('i', 0, n)",
            )
        lower, upper, *operand = given
        written = len(operand) != 1 or isinstance(operand[0], ex.ExpressionNode)
        written = written or not callable(operand[0])  # as trees are: they make calls
        if written and like in self._inames:
            raise NameTaken(
                f"'{like}' may mean a loop that there is, or the one of this reduction",
                where=caller_location(),
                remedy="pass a function of the new loop: builder.sum('j', 0, n, lambda j: ...)",
            )
        new = self.loop(like, lower, upper)
        if not written:
            return new, several(operand[0](new))
        values = {like: new.expression}
        return new, tuple([walk.substitute(readable(value), values) for value in operand])

    # --- instructions

    @public
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

    def _assigned(self, target: Any, value: Any) -> None:
        """Add an instruction without options: ``x[i] = value``."""
        with self._at(None):
            self._add(Statement((target_of(target),), values_of(value, 1)))

    @public
    def line(self, text: str, *, location: Place = None) -> str:
        """Add an instruction that is text, such as ``"... lbarrier {dep=load}"``; return its id.

        Raises:
            MalformedInstruction: if it is no instruction; blocks and rules are none.
        """
        with self._at(location):
            return self._add(parse_statement(text))

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
        return insn_id

    # --- the kernel

    @public
    @without_collection
    def kernel(self, name: str = "polygen_kernel", **options: Any) -> Kernel:
        """Return the kernel; more can be added after that, for another one.

        Parameters:
            name: of the generated function.
            options: others of `make_kernel`, but what it is made of.  ``loop_priority`` comes after
                the nests of the loops that were opened.

        Raises:
            UserError: as `make_kernel` does.
        """
        with self._at(None):
            said = _checked_options(name, self._products, options)
            said = replace(said, priorities=(*self._blocks.nests, *said.priorities))
            self._blocks.check_ends()
            loops = tuple(dict.fromkeys(self._inames.values()))
            declared = read_kernel_data([*self._variables.values(), "..."])
            made = assemble(Written(self._blocks.parts), loops, declared, said)
            other = {name: like for name, like in self._owned.items() if name != like}
            known = {*made.inames, *made.variables}
            return made.copy(written_names={n: w for n, w in other.items() if n in known})

    @contextmanager
    def _at(self, location: Place) -> Generator[None]:
        """Let errors show a place, and names as they were asked for."""
        try:
            with written_at(place_of(location) or self._where):
                yield
        except PolygenError as error:
            error.with_names({name: name for name in self._mentioned} | self._owned)
            raise


def _checked_options(name: str, products: NamedProducts, options: dict[str, Any]) -> KernelOptions:
    """Return the options of a kernel, some of whose sizes are products."""
    _OPTIONS.by_name((), {"name": name, **options})
    options["assumptions"] = products.in_all(options.get("assumptions", ""))
    return read_options({}, products.sizes, name=name, **options)


_OPTIONS = Signature(read_options, skipped=2, name="Builder.kernel")
