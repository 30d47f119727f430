"""The kernel: an immutable value that everything in polygen is a function of."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from constantdict import constantdict

from polygen.errors import (
    InternalError,
    UnknownArgument,
    UnknownIname,
    UnknownInstruction,
    did_you_mean,
)
from polygen.ir.array import AddressSpace, Argument, Array, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.cached import cached_property
from polygen.ir.changed import changed
from polygen.ir.choices import Choice
from polygen.ir.claims import Claim
from polygen.ir.domain import Domain, universe
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.in_notebook import InNotebook
from polygen.ir.instruction import Assigning, Instruction, KernelCall, identical
from polygen.ir.later import Later
from polygen.ir.notes import Notes
from polygen.ir.offered import Offering
from polygen.ir.options import Options
from polygen.ir.recomputed import DOUBT
from polygen.ir.sizes import DerivedSize
from polygen.ir.slots import slot
from polygen.ir.substitution import SubstitutionRule, expand, used_rules
from polygen.ir.tags import InameTag
from polygen.ir.traced_calls import RUN_NOW, TRACING, WAITING
from polygen.source import SourceLocation, caller_location

_NO_TAGS: Mapping[str, InameTag] = constantdict()
_NO_NAMES: Mapping[str, str] = constantdict()


@dataclass(frozen=True)
class Step:
    """A transformation that was applied: enough to apply it again.

    Attributes:
        name: the public name of the transformation.
        arguments: what it was called with, the kernel left out, defaults filled in.
        apply: the transformation itself.
        moved: what the inames that it replaced are in terms of the new ones.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...]
    apply: Callable[..., Kernel] = field(repr=False)
    moved: Mapping[str, Expression] = field(default_factory=new_dict, compare=False, repr=False)

    def __str__(self) -> str:
        shown = [f"{k}={_shown(v)}" for k, v in self.arguments]
        return f"{self.name}({', '.join(shown)})"


def _shown(value: object) -> str:
    return f"<kernel '{value.name}'>" if isinstance(value, Kernel) else repr(value)


@dataclass(frozen=True)
class Kernel(Offering, InNotebook):
    """Loop domains, instructions, arrays and parameters.

    Made by `polygen.make_kernel`, changed by transformations, which return new kernels.

    Attributes:
        name: an identifier; the name of the generated function.
        domains: the sets of values of the inames; each iname is in one of them.
        instructions: in the order in which they were written, which by itself orders nothing.
        arguments: arrays and scalars that a call passes, in the order of the generated code's.
        temporaries: variables that live while the kernel runs.
        substitutions: rules that instructions may invoke: names for expressions.
        tags: how inames are implemented; an iname without a tag becomes a loop.
        priorities: each a sequence of inames, outermost first.
        separations: conditions on inames: where each holds, and where it does not, code is written
            apart.
        assumptions: what is known of the parameters; a domain without inames.
        target: ``"opencl"``, ``"cuda"``, ``"c"``, or None if nothing was said.
        claims: what the user vouches for: facts about data, and, as texts, steps that were taken
            without proof.
        options: how the kernel is compiled and called.
        preambles: what the source begins with: for a target, in the order of keys, each a text.
        derived_sizes: those that nobody passes, but that follow from others: products of them.
        written_names: what the user calls inames and variables that had to get other names in
            code; not part of its value.
        later: what it is to get yet, if it was made with ``well_formed="later"``; else None; not
            part of its value.
        location: where the kernel was made; not part of its value.
        original: the kernel that the history starts from; not part of its value.
        history: the steps that led from the original to this; not part of its value.
        choices: what `polygen.optimize` decided about it, and why; not part of its value.
    """

    name: str
    domains: tuple[Domain, ...]
    instructions: tuple[Instruction, ...]
    arguments: tuple[Argument, ...]
    temporaries: tuple[TemporaryVariable, ...] = ()
    substitutions: tuple[SubstitutionRule, ...] = ()
    tags: Mapping[str, InameTag] = field(default_factory=lambda: _NO_TAGS)
    priorities: tuple[tuple[str, ...], ...] = ()
    separations: tuple[Expression, ...] = ()
    assumptions: Domain = field(default_factory=lambda: Domain(universe()))
    target: str | None = None
    claims: tuple[Claim, ...] = ()
    options: Options = field(default_factory=Options)
    preambles: tuple[tuple[str, str, str], ...] = ()
    derived_sizes: tuple[DerivedSize, ...] = ()
    written_names: Mapping[str, str] = field(
        default_factory=lambda: _NO_NAMES, compare=False, repr=False
    )
    later: Later | None = field(default=None, compare=False, repr=False)
    location: SourceLocation | None = field(default=None, compare=False, repr=False)
    original: Kernel | None = field(default=None, compare=False, repr=False)
    history: tuple[Step, ...] = field(default=(), compare=False, repr=False)
    choices: tuple[Choice, ...] = field(default=(), compare=False, repr=False)

    def copy(self, **changes: Any) -> Kernel:
        """Return the kernel with some fields changed; itself if none is."""
        for name, value in changes.items():
            if not identical(getattr(self, name), value):
                break
        else:
            return self
        for name in ("tags", "written_names"):
            if name in changes:
                changes[name] = constantdict(changes[name])
        new = changed(self, **changes)
        new.__dict__["facts"] = self.facts
        self._hand_on(new)
        return new

    def _hand_on(self, new: Kernel) -> None:
        """Let a copy have the properties that follow from fields which it shares."""
        own, others = self.__dict__, new.__dict__
        for name, sources in _FOLLOWS_FROM.items():
            if name in own and all(own[source] is others[source] for source in sources):
                others[name] = own[name]
                self._doubt(new, name)
        if "numbers_of_loops" in own and self.instructions is not new.instructions:
            numbers = _patched(self.numbers_of_loops, self.instructions, new.instructions)
            if numbers is not None:
                others["numbers_of_loops"] = numbers
                self._doubt(new, "numbers_of_loops")

    @staticmethod
    def _doubt(kernel: Kernel, name: str) -> None:
        """Find a property that was handed on again, by chance, and compare."""
        if DOUBT.share:
            find = vars(Kernel)[name].func
            DOUBT.check((find,), kernel.__dict__[name], partial(find, kernel))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.domains, self.instructions, self.arguments, self.priorities))

    def __str__(self) -> str:
        return str(slot("show")(self))

    def __call__(
        self,
        /,
        queue: Any = None,
        *,
        wait_for: Any = None,
        check_assumptions: bool = False,
        **arguments: Any,
    ) -> Any:
        """Run the kernel; see `polygen.runtime` for what may be passed and what comes back.

        Parameters:
            queue: a pyopencl command queue, or None to run on the default device.
            arguments: arrays and scalars by name.  Sizes, types and strides are found from the
                arrays; arrays that are only written may be left out and are then allocated.
                ``out=array``, or ``out=(first, second)``, stands for what is written, in the order
                in which it is returned, unless there is an argument of that name; and
                ``out_host=True`` has arrays of NumPy's returned, ``out_host=False`` arrays on the
                device.  If nothing is said, results are where the arrays that are passed are, and
                NumPy's if there are none and no queue.
            wait_for: events of pyopencl's that have to be over before.
            check_assumptions: check first whether the data is as `polygen.obligations` and the
                kernel's claims say.  That takes time, and copies arrays from the device.

        Returns:
            An event and the arrays that were written, in the order of the arguments.
        """
        if TRACING.get() or WAITING:
            found = slot("record_kernel")(self, queue, arguments)
            if found is not RUN_NOW:
                return found
        if check_assumptions:
            self._executor.check(queue, wait_for, arguments)
        return self._executor.run(queue, wait_for, arguments)

    def executor(self, device: Any = None) -> Any:
        """Return a callable for this kernel on one device: what `__call__` uses.

        Parameters:
            device: ``"c"``, ``"cuda"``, ``"opencl"``, a pyopencl context, device or queue, or None
                for the default device: C where a compiler is found, else PoCL.
        """
        return slot("executor")(self, device)

    @cached_property
    def _executor(self) -> Any:
        return slot("executor")(self, None)

    def __getstate__(self) -> dict[str, Any]:
        # What is cached is found again, and steps hold functions: neither is pickled.
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**state, "history": (), "original": None}

    # --- what follows from the fields

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Results of `per_kernel` functions for this kernel."""
        return {}

    @cached_property
    def notes(self) -> Notes[Kernel]:
        """The notes that proofs and inlining keep with this kernel."""
        return Notes()

    @cached_property
    def facts(self) -> dict[Any, Any]:
        """Results that follow from parts of a kernel, by these parts: copies share them.

        So what a transformation leaves as it was need not be looked at again.
        """
        return {}

    @cached_property
    def inames(self) -> tuple[str, ...]:
        """All inames, in the order of the domains."""
        return tuple([iname for domain in self.domains for iname in domain.inames])

    @cached_property
    def home_domains(self) -> Mapping[str, Domain]:
        """The domain of each iname."""
        return {iname: domain for domain in self.domains for iname in domain.inames}

    @cached_property
    def variables(self) -> Mapping[str, Argument | TemporaryVariable]:
        """Arguments, temporaries and derived sizes by name."""
        return {v.name: v for v in (*self.derived_sizes, *self.arguments, *self.temporaries)}

    @property
    def names_in_errors(self) -> Mapping[str, str]:
        """The user's names of inames and variables that have others here.

        Inames that a step made of one that had to get another name, as ``i_0_outer``, are called
        like its: ``i_outer``.
        """
        if not self.written_names:
            return self.written_names
        found = {name: name for name in (*self.inames, *self.variables)}
        gone = {n: w for n, w in self.written_names.items() if n not in found}
        for old, called in gone.items():
            parts = [i for i in self.inames if i.startswith(f"{old}_")]
            found |= {iname: called + iname.removeprefix(old) for iname in parts}
        return found | {n: w for n, w in self.written_names.items() if n in found}

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The sizes that domains, assumptions or shapes may mention, sorted."""
        scalars = {
            v.name for v in (*self.arguments, *self.derived_sizes) if isinstance(v, ValueArg)
        }
        return tuple(sorted(scalars))

    @cached_property
    def assignments(self) -> tuple[Assigning, ...]:
        """The instructions that assign to something."""
        return tuple([insn for insn in self.instructions if isinstance(insn, Assigning)])

    @cached_property
    def instructions_by_id(self) -> Mapping[str, Instruction]:
        """The instructions by their ids."""
        return {insn.id: insn for insn in self.instructions}

    @cached_property
    def rules(self) -> Mapping[str, SubstitutionRule]:
        """The substitution rules by their names."""
        return {rule.name: rule for rule in self.substitutions}

    @cached_property
    def calls(self) -> tuple[KernelCall, ...]:
        """The instructions that call other kernels, and are to be looked at as what they call."""
        calls = [insn for insn in self.instructions if isinstance(insn, KernelCall)]
        return tuple([call for call in calls if not call.parts])

    @cached_property
    def numbers_of_loops(self) -> Mapping[str, tuple[int, ...]]:
        """For each iname, the numbers of the instructions that are within it or reduce over it."""
        found: dict[str, list[int]] = {}
        for number, insn in enumerate(self.instructions):
            for iname in insn.within_inames | insn.reduction_inames:
                found.setdefault(iname, []).append(number)
        return {iname: tuple(numbers) for iname, numbers in found.items()}

    @cached_property
    def numbers_of_domains(self) -> Mapping[str, int]:
        """For each iname, the number of its domain."""
        return {i: number for number, domain in enumerate(self.domains) for i in domain.inames}

    @cached_property
    def numbers_of_instructions(self) -> Mapping[str, int]:
        """For each id, the number of the instruction."""
        return {insn.id: number for number, insn in enumerate(self.instructions)}

    def in_loops(self, inames: Iterable[str], ids: Iterable[str] = ()) -> list[int]:
        """Return the numbers of the instructions in loops of some inames, and of others.

        Parameters:
            inames: the inames; reductions over them count, too.
            ids: the ids of the others.
        """
        loops, numbers = self.numbers_of_loops, self.numbers_of_instructions
        found = {number for iname in inames for number in loops.get(iname, ())}
        return sorted(found.union([numbers[insn_id] for insn_id in ids]))

    def in_nests(self, inames: Iterable[str], ids: Iterable[str] = ()) -> list[int]:
        """Return the numbers of instructions as `in_loops` does, and of what shares their loops.

        Directly or by way of others: no other instruction is in a loop of theirs.
        """
        names, ids = frozenset(inames), tuple(ids)
        found: list[int] = []
        while True:
            known = len(found)
            found = self.in_loops(names, ids)
            if len(found) == known:
                return found
            insns = [self.instructions[number] for number in found]
            names = names.union(*[i.within_inames | i.reduction_inames for i in insns])

    @cached_property
    def has_invocations(self) -> bool:
        """Whether an instruction invokes a rule."""
        return any(insn.invocations for insn in self.instructions)

    @cached_property
    def has_plain_instructions(self) -> bool:
        """Whether dependencies alone order the instructions: no groups, none on instances."""
        return not any(i.groups or i.happens_after for i in self.instructions)

    @property
    def expanded(self) -> Kernel:
        """The kernel that this one stands for: without rules and calls; itself if it has none.

        What instructions do is a question to this one.
        """
        return self._expanded if self.calls else self.without_rules

    @cached_property
    def _expanded(self) -> Kernel:
        found: Kernel = slot("inlined")(self.without_rules)
        return found

    @cached_property
    def on_axes(self) -> Kernel:
        """The expanded kernel with an axis, or a loop, for each iname tagged ``l.auto``."""
        found: Kernel = slot("axes")(self.expanded)
        return found

    @cached_property
    def launches(self) -> tuple[Kernel, tuple[Any, ...], Mapping[str, str]]:
        """The statements of this kernel, their loop tree, and the instructions they were made for.

        In the tree there is a node wherever work items wait; at some, a launch ends.
        """
        found: tuple[Kernel, tuple[Any, ...], Mapping[str, str]]
        found = slot("launches")(self)
        return found

    @property
    def without_rules(self) -> Kernel:
        """The kernel with what its substitution rules stand for; itself if it has none."""
        # A kernel that kept itself would be garbage for Python's collector.
        return self._without_rules if self.substitutions else self

    @cached_property
    def _without_rules(self) -> Kernel:
        def inlined(node: Expression) -> Expression:
            return expand(node, self.rules)

        return self.copy(
            instructions=tuple(insn.map_expressions(inlined) for insn in self.instructions),
            substitutions=(),
        )

    def without_unused(self, names: Iterable[str]) -> Kernel:
        """Return the kernel without those of the named rules that nothing invokes."""
        dropped = frozenset(names)
        kept = [rule for rule in self.substitutions if rule.name not in dropped]
        uses = [use for insn in self.instructions for use in insn.invocations]
        uses += [use for rule in kept for use in rule.invocations]
        used = used_rules(uses, self.rules)
        return self.copy(
            substitutions=tuple(
                [r for r in self.substitutions if r.name in used or r.name not in dropped]
            )
        )

    @cached_property
    def writers(self) -> Mapping[str, tuple[Assigning, ...]]:
        """For each variable that is written, the instructions that write it."""
        found: dict[str, tuple[Assigning, ...]] = {}
        for insn in self.assignments:
            for name in dict.fromkeys(insn.written_names):
                found[name] = (*found.get(name, ()), insn)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that the kernel uses, functions aside."""
        ids = (insn.id for insn in self.instructions)
        # An iname that is gone may be left as a name in a rule, where it must stay one.
        rules = (name for rule in self.substitutions for name in (rule.name, *rule.inames))
        # What stands for a call has names of its own, which later steps must not give away.
        inside = self.expanded.names if self.calls else ()
        called = (name for call in self.calls for name in (call.function, *call.axis_names))
        return frozenset((self.name, *self.inames, *self.variables, *ids, *rules, *inside, *called))

    def new_name(self, like: str, besides: Container[str] = ()) -> str:
        """Return a name that starts with `like` and is not used in the kernel, or in `besides`."""
        name, count = like, 0
        while name in self.names or name in besides:
            name, count = f"{like}_{count}", count + 1
        return name

    # --- looking things up, with errors that help

    def instruction(self, insn_id: str) -> Instruction:
        """Return the instruction with this id.

        Raises:
            UnknownInstruction: if there is none.
        """
        insn = self.instructions_by_id.get(insn_id)
        if insn is None:
            raise UnknownInstruction(
                f"kernel '{self.name}' has no instruction '{insn_id}'",
                where=self.location,
                remedy=did_you_mean(insn_id, self.instructions_by_id),
            )
        return insn

    def assignment(self, insn_id: str) -> Assigning:
        """Return the instruction with this id, which is known to assign to something."""
        insn = self.instruction(insn_id)
        if not isinstance(insn, Assigning):
            raise InternalError(f"'{insn_id}' assigns to nothing")
        return insn

    def check_iname(self, iname: str) -> None:
        """Raise UnknownIname if no domain has this iname."""
        if iname not in self.home_domains:
            remedy = did_you_mean(iname, self.inames)
            if (callee := self._callee_with(iname)) is not None:
                remedy = (
                    f"'{callee.name}', which it calls, has one: take the step on that kernel of a "
                    f"program, program.with_kernel(...(program['{callee.name}'], ...)), or "
                    "inline_callable_kernel first"
                )
            raise UnknownIname(
                f"kernel '{self.name}' has no iname '{iname}'",
                where=caller_location(),
                remedy=remedy,
            )

    def _callee_with(self, iname: str) -> Kernel | None:
        """Return a kernel that this one calls, or that such a one calls, which has an iname."""
        callees = [call.callee for call in self.calls if call.callee is not None]
        nested = (callee._callee_with(iname) for callee in callees)
        having = (callee for callee in callees if iname in callee.inames)
        return next((found for found in (*having, *nested) if found is not None), None)

    def variable(self, name: str) -> Argument | TemporaryVariable:
        """Return the argument or temporary of this name.

        Raises:
            UnknownArgument: if there is none.
        """
        variable = self.variables.get(name)
        if variable is None:
            raise UnknownArgument(
                f"kernel '{self.name}' has no argument or temporary '{name}'",
                where=self.location,
                remedy=did_you_mean(name, self.variables),
            )
        return variable

    def array(self, name: str) -> Array:
        """Return the array argument or temporary of this name."""
        variable = self.variable(name)
        if not isinstance(variable, GlobalArg | TemporaryVariable):
            raise InternalError(f"'{name}' is no array")
        return variable

    def address_space(self, name: str) -> AddressSpace:
        """Return who shares a variable: private, local or global; arguments are everyone's."""
        variable = self.variables[name]
        if not isinstance(variable, TemporaryVariable):
            return AddressSpace.GLOBAL
        if variable.address_space is AddressSpace.AUTO:
            found: AddressSpace = slot("space")(self, name)
            return found
        return variable.address_space


# Cached properties of a kernel, each with the fields that it follows from.
_FOLLOWS_FROM: Mapping[str, tuple[str, ...]] = {
    "inames": ("domains",),
    "home_domains": ("domains",),
    "variables": ("derived_sizes", "arguments", "temporaries"),
    "parameters": ("derived_sizes", "arguments"),
    "assignments": ("instructions",),
    "instructions_by_id": ("instructions",),
    "calls": ("instructions",),
    "writers": ("instructions",),
    "has_plain_instructions": ("instructions",),
    "has_invocations": ("instructions",),
    "numbers_of_loops": ("instructions",),
    "numbers_of_instructions": ("instructions",),
    "numbers_of_domains": ("domains",),
    "rules": ("substitutions",),
}

_FEW = 4  # a part of the instructions: of fewer, another index is made of the old one


def _patched(
    index: Mapping[str, tuple[int, ...]], olds: Sequence[Instruction], news: Sequence[Instruction]
) -> Mapping[str, tuple[int, ...]] | None:
    """Return `Kernel.numbers_of_loops` for instructions of which few are others; else None."""
    if len(olds) != len(news):
        return None
    others = [n for n, (a, b) in enumerate(zip(olds, news, strict=True)) if a is not b]
    if _FEW * len(others) > len(news):
        return None
    new = dict(index)
    for number in others:
        before, after = (i.within_inames | i.reduction_inames for i in (olds[number], news[number]))
        for iname in before - after:
            new[iname] = tuple([n for n in new[iname] if n != number])
            if not new[iname]:
                del new[iname]
        for iname in after - before:
            new[iname] = tuple(sorted((*new.get(iname, ()), number)))
    return new
