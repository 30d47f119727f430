"""A function as a program: kernels, and statements that stay Python between them.

Program.run(names)   ->  for each block, the variant whose checks hold: a kernel, or Python
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from polygen.analysis.typing.inference import infer_types
from polygen.errors import (
    MalformedPragma,
    MisplacedPragma,
    NotCompiled,
    OverlappingArguments,
    PolygenError,
    PragmaRefused,
    UnknownClause,
    UserError,
)
from polygen.ir.kernel import Kernel
from polygen.ir.names import usable_function_name
from polygen.python.array_libraries import library_of
from polygen.python.fetch_calls import mark_atomic
from polygen.python.function_source import FunctionSource
from polygen.python.generated_calls import MISS, PLAIN, CallWriter
from polygen.python.host_effects import reaches_arrays
from polygen.python.interpreted import called_with, interpreted, names_read, outer_assignment
from polygen.python.kernel_of_nodes import kernel_of_nodes
from polygen.python.liveness import liveness, stores
from polygen.python.local_functions import captures_locals
from polygen.python.loop_claims import Claims, LoopClaim, claimed, loop_claims
from polygen.python.nodes import For, Node, Nodes, When, While
from polygen.python.placed_kernels import Choose, PlacedKernels
from polygen.python.print_order import order_prints
from polygen.python.refused import Refused, refused_construct
from polygen.python.region_kernels import RegionKernels
from polygen.python.source_annotations import Annotations
from polygen.python.tensor_claims import tensor_claims
from polygen.python.tracer import Traced, trace
from polygen.python.unread_arrays import with_temporaries
from polygen.python.watched_loops import Watch, WatchedLoop, watched_loops
from polygen.runtime.resident_arrays import CopyCount, arrays_to_host, resident_arrays
from polygen.source import SourceLocation
from polygen.transforms.kernels.set_options import set_options

Schedule = Callable[[Kernel, Mapping[str, int]], Kernel]


@dataclass(frozen=True)
class ProgramOptions:
    """Options of the compilation of a function.

    Attributes:
        target: the target's name.
        strict: whether statements that stay Python are refused.
        deterministic: whether each run has to give the same bits.
        schedule: what schedules a kernel for sizes; None to leave it as it is.
        run: what returns a function that runs a kernel with a dictionary of arguments.
        copied: gets the bytes that a call copies to a device and back; None where kernels run in
            the host's memory.
        device: another target that a call may run on, and what chooses; None for `target` alone.
        watch: shows how far loops are, which then run in parts; None to run them whole.
        contracts: whether arrays that nobody reads after a kernel are temporaries of it.
    """

    target: str
    strict: bool
    deterministic: bool
    schedule: Schedule | None
    run: Callable[[Kernel], Callable[[dict[str, Any]], object]]
    copied: CopyCount | None = None
    device: tuple[str, Choose] | None = None
    watch: Watch | None = None
    contracts: bool = False


@dataclass
class KernelRegion:
    """Statements that a kernel executes.

    Attributes:
        kernels: the kernels, by the sizes that each is for.
        traced: what was traced.
        lines: the first and the last line.
        claims: what became of pragmas, in words.
        call: runs it, or returns `MISS` for arguments that it is not for.
        end: the number of the statement behind it.
    """

    kernels: RegionKernels | PlacedKernels
    traced: Traced
    lines: tuple[int, int]
    call: Callable[..., Any]
    end: int
    given: tuple[str, ...]
    claims: list[str]

    @property
    def kernel(self) -> Kernel:
        """The kernel of the call that it was compiled for, as it is run."""
        return self.kernels.first

    @property
    def plain(self) -> Kernel:
        """The kernel as the statements say it."""
        return self.kernels.plain


@dataclass
class HostStatements:
    """Statements that run as Python.

    Attributes:
        lines: the first and the last line.
        why: why no kernel has them.
        where: the place of what no kernel has.
        run: runs them on values of names.
        end: the number of the statement behind it.
        claims: what is said of pragmas about them: nothing is made of these.
        kind: of the values that they were refused for, see `_kind_of`.
        reaches_arrays: tells whether they may touch an array, given the values of names.
    """

    lines: tuple[int, int]
    why: str
    remedy: str
    where: SourceLocation | None
    run: Callable[[Mapping[str, Any]], tuple[bool, Any]]
    end: int
    is_trivial: bool = False
    claims: tuple[str, ...] = ()
    kind: tuple[Any, ...] = ()
    reaches_arrays: Callable[[Mapping[str, Any]], bool] = lambda _: True


Step = KernelRegion | HostStatements


@dataclass
class Program:
    """The variants of all blocks of a function.

    Attributes:
        source: the function.
        options: how it is compiled.
        steps: what there is for the block that begins at a statement, tried in this order.
    """

    source: FunctionSource
    options: ProgramOptions
    steps: dict[int, list[Step]] = field(default_factory=dict[int, list[Step]])
    body: list[ast.stmt] = field(init=False)
    _live: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    _said: Annotations = field(init=False)
    _assigns_outside: ast.stmt | None = field(default=None, init=False)
    _watched: dict[int, WatchedLoop] = field(default_factory=dict[int, WatchedLoop], init=False)

    def __post_init__(self) -> None:
        self._said = Annotations(self.source)
        self._assigns_outside = outer_assignment(self.source.tree)
        if self.options.watch is not None and self._assigns_outside is None:
            self._watched = watched_loops(self.source)
        body = self.source.tree.body
        self.body = [
            self._watched[at].part if at in self._watched else node for at, node in enumerate(body)
        ]

    @property
    def is_python(self) -> bool:
        """Whether all of it runs as Python, whatever its arguments are."""
        return self._assigns_outside is not None

    def run(self, names: dict[str, Any]) -> Any:
        """Run the function on values of its parameters."""
        if self.options.copied is None:
            return self._run(names)
        with resident_arrays(self.options.copied):
            return self._run(names)

    def _run(self, names: dict[str, Any]) -> Any:
        at = 0
        while at < len(self.body):
            if at in self._watched and self.options.watch is not None:
                names = self._watched[at].run(names, self.options.watch, partial(self._part, at))
                at += 1
                continue
            step, found = self._step(at, names)
            if isinstance(step, HostStatements):
                returned, value = found
                if returned:
                    return value
                names = value
            elif step.traced.returns:
                return found
            else:
                names |= found
            at = step.end
        return None

    def _part(self, at: int, names: dict[str, Any]) -> dict[str, Any]:
        """Run a part of a loop, and return the values of names after it."""
        step, found = self._step(at, names)
        if isinstance(step, HostStatements):
            values: dict[str, Any] = found[1]
            return values
        return {**names, **found}

    def quick_call(self) -> tuple[Callable[..., Any], bool] | None:
        """Return the call of the newest variant, and whether it returns something.

        None if a kernel is not all of the function.
        """
        (step, *_) = self.steps.get(0) or (None,)
        if self._watched:
            return None
        if isinstance(step, KernelRegion) and step.end == len(self.body):
            return step.call, step.traced.returns
        return None

    def prepared(self, names: dict[str, Any]) -> list[Step]:
        """Return the steps of a call up to the first one whose values only a run would tell."""
        found: list[Step] = []
        at = 0
        while at < len(self.body):
            step = self._compiled(at, names)
            found.append(step)
            at = step.end
            if at < len(self.body) and not (isinstance(step, HostStatements) and step.is_trivial):
                break
            if isinstance(step, HostStatements) and at < len(self.body):
                names = step.run(names)[1]
        return found

    def single(self, at: int, names: dict[str, Any]) -> Step:
        """Return what one statement becomes by itself, for values of names."""
        if self._assigns_outside is not None:
            return self._whole(self._assigns_outside)
        try:
            return self._region(at, at + 1, names)
        except (_NoLoops, Refused, UserError):
            return self._host(at, at + 1, names, "", "", None, is_trivial=True)

    def run_region(self, step: KernelRegion, names: dict[str, Any]) -> Any:
        """Run a kernel on values of names: what it returns, or the names that it assigns."""
        return step.call(*[names[name] for name in step.given])

    def _step(self, at: int, names: dict[str, Any]) -> tuple[Step, Any]:
        for step in self.steps.get(at, ()):
            found = self._tried(step, names)
            if found is not MISS:
                return step, found
        step = self._compiled(at, names)
        found = self._tried(step, names)
        if found is MISS:
            raise AssertionError("a variant does not take the call that it was made for")
        return step, found

    def _tried(self, step: Step, names: dict[str, Any]) -> Any:
        if isinstance(step, HostStatements):
            if step.kind and step.kind != _kind_of(names):
                return MISS
            if self.options.copied is not None and step.reaches_arrays(names):
                arrays_to_host()
            return step.run(names)
        try:
            values = [names[name] for name in step.given]
        except KeyError:
            return MISS
        try:
            found = step.call(*values)
        except OverlappingArguments:
            found = PLAIN
        return self._interpreted(step, names) if found is PLAIN else found

    def _interpreted(self, step: KernelRegion, names: dict[str, Any]) -> Any:
        """Run the statements of a kernel as Python: arguments overlap."""
        arrays_to_host()
        body = self.body[self._first_of(step) : step.end]
        returned, value = interpreted(self.source, body, tuple(names))(names)
        if returned:
            return value
        return value if not step.traced.returns else None

    def _first_of(self, step: KernelRegion) -> int:
        return next(at for at, steps in self.steps.items() if step in steps)

    # --- compiling

    def _compiled(self, at: int, names: dict[str, Any]) -> Step:
        with _COMPILING:
            step = self._new_step(at, names)
        if isinstance(step, HostStatements) and self.options.strict and not step.is_trivial:
            error = NotCompiled(
                f"{step.why}, in '{self.source.tree.name}', which strict=True compiles as a whole",
                where=step.where,
                remedy=step.remedy or "leave out strict=True",
            )
            error.why = step.why
            raise error
        known = self.steps.setdefault(at, [])
        if isinstance(step, HostStatements):
            others = [one for one in known if isinstance(one, HostStatements)]
            if len(others) >= _MOST_REFUSED:
                step.kind = ()  # of all values
            known.append(step)
        else:
            known.insert(0, step)
        return step

    def _new_step(self, at: int, names: dict[str, Any]) -> Step:
        if self._assigns_outside is not None:
            return self._whole(self._assigns_outside)
        end = self._most(at)
        why, remedy, where = "", "", None
        while end > at:
            try:
                return self._region(at, end, names)
            except _NoLoops:
                return self._host(at, end, names, "", "", None, is_trivial=True)
            except Refused as error:
                why, remedy = error.why, error.remedy
                where = _place_of(self.source, error)
                line = error.line
            except (PragmaRefused, MisplacedPragma, MalformedPragma, UnknownClause):
                raise
            except UserError as error:
                why, remedy = error.what, error.remedy or ""
                found = error.where
                where = found if isinstance(found, SourceLocation) else None
                line = where.line if where is not None else 0
            new_end = self._statement_at(line, at, end)
            if new_end <= at:
                break
            end = new_end
        return self._host(at, at + 1, names, why, remedy, where)

    def _statement_at(self, line: int, at: int, end: int) -> int:
        for number in range(at, end):
            node = self.body[number]
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                return number
        return at

    def _most(self, at: int) -> int:
        """Return the number of the statement behind the largest block that begins at one."""
        if at in self._watched:
            return at + 1
        return min((other for other in self._watched if other > at), default=len(self.body))

    def _wanted(self, at: int, end: int) -> list[str]:
        """Return the names that are read after a block."""
        if end not in self._live:
            self._live[end] = _live_in(self.body[end:])
        carried = self._watched[at].carried if at in self._watched else frozenset[str]()
        return sorted(self._live[end] | carried)

    def _region(self, at: int, end: int, names: dict[str, Any]) -> KernelRegion:
        body = self.body[at:end]
        wanted = self._wanted(at, end)
        read = names_read(body) | set(wanted)
        given = {name: value for name, value in names.items() if name in read}
        traced = trace(self.source, body, given, wanted)
        if not _has_loops(traced.nodes):
            raise _NoLoops
        loops = list(loop_claims(traced.nodes.body, self._said.about))
        parallel = {claim.iname for claim in loops if claim.pragma.parallel}
        mark_atomic(traced.nodes, parallel)
        order_prints(traced.nodes, parallel, traced.names)
        name = usable_function_name(self.source.tree.name)
        make = partial(kernel_of_nodes, traced, self.source, name, self.options.target)
        plain = with_temporaries(traced, make) if self.options.contracts else make()
        infer_types(plain, complete=False)
        if self.options.deterministic:
            plain = set_options(plain, deterministic=True)
        sizes = {
            name: value
            for name, value in _size_values(traced, given).items()
            if name in plain.parameters
        }
        claims = self._claims(plain, traced, loops)
        about_slices = tensor_claims(body, self._said.of(self.source), given)
        claims.lines += about_slices.lines
        for helper in traced.helpers:
            claims.lines += tensor_claims(helper.tree.body, self._said.of(helper), {}).lines
        claims.lines[:] = dict.fromkeys(claims.lines)
        claims.check(sizes)
        kernels = self._kernels(claims.kernel, sizes)
        parameters = tuple(names) if at == 0 else tuple(given)
        writer = CallWriter(traced, given, _checked(kernels, claims), parameters)
        call = writer.call([(limit.count, limit.check) for limit in about_slices.limits])
        lines = (body[0].lineno, body[-1].end_lineno or body[-1].lineno)
        return KernelRegion(kernels, traced, lines, call, end, parameters, claims.lines)

    def _kernels(self, plain: Kernel, sizes: Mapping[str, int]) -> RegionKernels | PlacedKernels:
        options = self.options
        on_host = RegionKernels(plain, options.schedule, options.run, sizes)
        device = options.device
        if device is None:
            return on_host
        there = plain.copy(target=device[0])

        def on_device(values: Mapping[str, int]) -> RegionKernels:
            return RegionKernels(there, options.schedule, options.run, values)

        return PlacedKernels(on_host, on_device, device[1], sizes)

    def _claims(self, plain: Kernel, traced: Traced, loops: Sequence[LoopClaim]) -> Claims:
        """Return what becomes of the pragmas about a block."""
        atomic = list(self._said.atomic_places(traced.helpers))
        names = {**traced.names, **{one.name: one.path for one in traced.inputs}}
        return claimed(
            plain,
            loops,
            atomic,
            names,
        )

    def _host(
        self,
        at: int,
        end: int,
        names: dict[str, Any],
        why: str,
        remedy: str,
        where: SourceLocation | None,
        *,
        is_trivial: bool = False,
    ) -> HostStatements:
        own = stores(self.source.tree.body) | set(names)
        if captures_locals(self.body[at:end], own):
            end = len(self.body)  # it reads variables as they are when it is called
        body = self.body[at:end]
        compiled: dict[tuple[str, ...], Callable[..., tuple[bool, Any]]] = {}

        def run(values: Mapping[str, Any]) -> tuple[bool, Any]:
            given = tuple(values)
            if given not in compiled:
                compiled[given] = interpreted(self.source, body, given)
            return compiled[given](values)

        lines = (body[0].lineno, body[-1].end_lineno or body[-1].lineno)
        return HostStatements(
            lines, why, remedy, where, run, end, is_trivial, self._not_looked_at(lines),
            _kind_of(names), lambda names: reaches_arrays(body, names, self.source.outer_values()),
        )  # fmt: skip

    def _whole(self, declared: ast.stmt) -> HostStatements:
        """Return all of the function as Python: names that it declares are others' variables."""
        refused = refused_construct(declared)
        lines = (self.body[0].lineno, self.body[-1].end_lineno or self.body[-1].lineno)

        def run(values: Mapping[str, Any]) -> tuple[bool, Any]:
            return True, called_with(self.source.function, values)

        return HostStatements(
            lines, refused.why, refused.remedy, self.source.place(declared), run, len(self.body),
            claims=self._not_looked_at(lines),
        )  # fmt: skip

    def _not_looked_at(self, lines: tuple[int, int]) -> tuple[str, ...]:
        """Return what is said of pragmas about statements that stay Python."""
        first, last = lines
        return tuple(
            [
                f"line {pragma.where.line}: a pragma about Python: nothing is made of it"
                for (line, _), pragmas in self._said.of(self.source).items()
                if first <= line <= last
                for pragma in pragmas
            ]
        )


_MOST_REFUSED = 8  # kinds of values for which statements are looked at again


def _kind_of(names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what decides, as a rule, whether kernels can have statements: types, small extents."""
    found: list[Any] = []
    for name, value in names.items():
        found += [name, type(value)]
        if library_of(value) is not None:
            found += [value.dtype, *[min(extent, 2) for extent in value.shape]]
    return tuple(found)


# isl is not made for two threads at once.
_COMPILING = threading.RLock()


class _NoLoops(Exception):
    """A block in which nothing is repeated: Python is quicker."""


def _has_loops(nodes: Nodes) -> bool:
    return bool(nodes.reduced) or any(_repeats(node) for node in nodes.body)


def _repeats(node: Node) -> bool:
    if isinstance(node, When):
        return any(map(_repeats, (*node.body, *node.otherwise)))
    return isinstance(node, For | While)


def _live_in(body: Sequence[ast.stmt]) -> frozenset[str]:
    if not body:
        return frozenset()
    # A statement before them, behind which all that they read is live.
    first = ast.copy_location(ast.Pass(), body[0])
    return liveness([first, *body]).after[first]


def _checked(
    kernels: RegionKernels | PlacedKernels, claims: Claims
) -> Callable[[dict[str, Any]], object]:
    """Return what runs a kernel, once its call's sizes agree with what is claimed of loops."""
    if not claims.refusals:
        return kernels.run

    def run(arguments: dict[str, Any]) -> object:
        claims.check(arguments)
        return kernels.run(arguments)

    return run


def _place_of(source: FunctionSource, error: Refused) -> SourceLocation | None:
    if error.node is None:
        return None
    found: Any = error.source or source
    place: SourceLocation = found.place(error.node)
    return place


def _size_values(traced: Traced, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes of a call."""
    found: dict[str, int] = {}
    for one in traced.inputs:
        value = eval(one.path, {}, {**given, **found})  # noqa: S307  (a path of ours)
        if isinstance(value, int) and not isinstance(value, bool):
            found[one.name] = value
    return found


__all__ = ["HostStatements", "KernelRegion", "PolygenError", "Program", "ProgramOptions", "Step"]
