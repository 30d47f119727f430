"""`polygen.analyse`: which loops of a function are parallel, and under which condition."""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from polygen.analysis.dataflow.carried_conditions import ConditionalDependence
from polygen.errors import InvalidArgument, NoSource, in_users_words
from polygen.inspection.order.parallel_conditions import ParallelConditions, parallel_conditions
from polygen.ir.cached import cached_property
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.jitting.example_arguments import example_arguments
from polygen.jitting.jit import CompiledFunction, jit
from polygen.python.function_source import FunctionSource, read_function
from polygen.python.program import HostStatements, KernelRegion, Program, ProgramOptions, Step
from polygen.transforms.reductions.collect_reduction import is_accumulation

_TOLD = {"flow": "true", "anti": "anti", "output": "output"}


class BlockAnalysis:
    """A block of a function that is one kernel, for some arguments.

    Attributes:
        kernel: the kernel, as the statements say it.
        loops: what each loop carries, and when.
        lines: the first and the last line.
    """

    def __init__(self, step: KernelRegion) -> None:
        self.kernel = step.plain
        self.lines = step.lines
        self._names = {
            **step.traced.names,
            **{one.name: one.path for one in step.traced.inputs},
        }

    @cached_property
    def loops(self) -> ParallelConditions:
        """The dependences that each loop carries, and when."""
        return parallel_conditions(self.kernel)

    def parallel(self, **values: int) -> tuple[str, ...]:
        """Return the loops that carry nothing for values of sizes and scalars.

        Parameters:
            values: by the names of parameters; an extent is called ``a.shape[0]``.
        """
        return self.loops(**self._in_kernel(values))

    def by_statement(self, **values: int) -> Mapping[int, tuple[str, ...]]:
        """Return for each line its loops that may be parallel, once loops are distributed.

        Parameters:
            values: as of `parallel`.
        """
        found: dict[int, tuple[str, ...]] = {}
        for insn_id, loops in self.loops.by_statement(**self._in_kernel(values)).items():
            line = self._line(insn_id)
            known = found.get(line)
            found[line] = loops if known is None else tuple([i for i in known if i in loops])
        return found

    def _in_kernel(self, values: Mapping[str, int]) -> dict[str, int]:
        named = {path: name for name, path in self._names.items()}
        return {named.get(name, name): value for name, value in values.items()}

    def _line(self, insn_id: str) -> int:
        where = self.kernel.instruction(insn_id).location
        return 0 if where is None else where.line

    def __str__(self) -> str:
        first, last = self.lines
        assumed = self.kernel.assumptions.text.partition(": ")[2].removesuffix(" }")
        lines = [
            f"  lines {first}-{last}, where {assumed}:" if assumed else f"  lines {first}-{last}:"
        ]
        written = [i for i in self.kernel.inames if i in self.loops]
        for iname in written:
            lines += [f"    {line}" for line in self._of_loop(iname)]
        return in_users_words("\n".join(lines), self._names)

    def _of_loop(self, iname: str) -> Iterator[str]:
        row = self.loops[iname]
        answer = str(row.parallel)
        answer = answer if answer in {"always", "never"} else f"if {answer}"
        sums = [is_accumulation(self.kernel, c.dependence.source, iname) for c in row.carried]
        a_sum = ", but a reduction" if sums and all(sums) else ""
        yield f"loop {iname}: parallel {answer}{a_sum}"
        if not row.only_with_old_values.is_never:
            arrays = " and ".join(row.overwritten)
            yield f"  with the old values of {arrays} if {row.only_with_old_values}"
        yield from dict.fromkeys(map(self._shown, row.carried))

    def _shown(self, one: ConditionalDependence) -> str:
        d = one.dependence
        when = "" if one.when.is_always else f", if {one.when}"
        sure = "" if d.certain else "; data decides"
        return (
            f"  {_TOLD[d.kind]:6} line {self._line(d.source)} -> line {self._line(d.sink)}  "
            f"through {d.array}, distance ({', '.join(one.distance)}){when}{sure}"
        )


class FunctionAnalysis:
    """A function: what its loops carry.  It prints as a table; called, it runs compiled.

    Attributes:
        name: its name.
        blocks: what became kernels, for each kind of arguments that was tried.
        python: why other statements are Python, by line.
    """

    def __init__(
        self, function: Callable[..., Any], source: FunctionSource, given: Mapping[str, Any]
    ) -> None:
        self.name = function.__name__
        self._compiled = jit(function, source=source.text if source.file.startswith("<") else None)
        steps = _analysed(source, given)
        self.blocks = [BlockAnalysis(step) for step in steps if isinstance(step, KernelRegion)]
        self.python = {
            step.lines[0]: step.why
            for step in steps
            if isinstance(step, HostStatements) and not step.is_trivial
        }

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of all blocks."""
        return [block.kernel for block in self.blocks]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function, compiled."""
        return self._compiled(*args, **kwargs)

    def __str__(self) -> str:
        lines = [f"{self.name}:", *map(str, self.blocks)]
        lines += [f"  line {line}: Python: {why}" for line, why in self.python.items()]
        return "\n".join(lines)


class Analysis(Mapping[str, FunctionAnalysis]):
    """The functions of a module or a text, by name; attributes, too.  It prints as a table."""

    def __init__(self, functions: Mapping[str, FunctionAnalysis]) -> None:
        self._functions = dict(functions)

    def __getitem__(self, name: str) -> FunctionAnalysis:
        return self._functions[name]

    def __getattr__(self, name: str) -> FunctionAnalysis:
        try:
            return self.__dict__["_functions"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(f"no function '{name}' was analysed") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __str__(self) -> str:
        return "\n".join(map(str, self._functions.values()))


def _analysed(source: FunctionSource, given: Mapping[str, Any]) -> list[Step]:
    """Return the steps of a function, for the arguments of which most becomes kernels."""
    found: dict[str, list[Step]] = {}
    for names in example_arguments(source, given):
        options = ProgramOptions("c", False, False, None, lambda _: lambda __: None)
        steps = Program(source, options).prepared(names)
        key = "+" if all(v >= 0 for v in names.values() if isinstance(v, int)) else "-"
        known = found.get(key)
        if known is None or _python_lines(steps) < _python_lines(known):
            found[key] = steps
    kept: dict[str, Step] = {}
    for steps in found.values():
        for step in steps:
            kept.setdefault(_text_of(step), step)
    return list(kept.values())


def _python_lines(steps: list[Step]) -> int:
    return sum(
        step.lines[1] - step.lines[0] + 1
        for step in steps
        if isinstance(step, HostStatements) and not step.is_trivial
    )


def _text_of(step: Step) -> str:
    return str(step.plain) if isinstance(step, KernelRegion) else f"{step.lines} {step.why}"


@public
def analyse(subject: Any, **examples: Any) -> Analysis:
    """Return which loops of a function are parallel, and under which condition on sizes.

    Loop by loop and statement by statement: true, anti- and output dependences with their distance
    vectors.  Nothing is run.  Parameters are taken for arrays, integers and numbers by how they are
    used; examples say it where that guesses wrong.

    Parameters:
        subject: a function, a compiled function, a module, or the text of functions.
        examples: arguments that functions could be called with, by the names of their parameters.

    Returns:
        A handle: functions by name, as items and attributes.  Each prints as a table, has its
        kernels, and runs compiled when it is called.

    Raises:
        NoSource: if the text of a function cannot be had.
        InvalidArgument: if there is no function.

    >>> import polygen as pg
    >>> found = pg.analyse('''
    ... def shift(a, b, n, k):
    ...     for i in range(n):
    ...         a[i + k] = a[i] + b[i]
    ... ''')
    >>> print(found.shift.blocks[0])
      lines 3-4, where k >= 0 and a.shape[0] >= 2 and n <= -k + a.shape[0] and n <= a.shape[0]:
        loop i: parallel if n <= k or k <= 0
          true   line 4 -> line 4  through a, distance (k), if k >= 1 and k < n
    >>> found.shift.blocks[0].parallel(n=100, k=100)
    ('i',)
    """
    functions = dict(_functions(subject))
    if not functions:
        raise InvalidArgument(
            "pg.analyse was given nothing with a function in it",
            remedy="pass a function, a module, or the text of a 'def'",
        )
    return Analysis(
        {
            name: FunctionAnalysis(function, source, _fitting(function, examples))
            for name, (function, source) in functions.items()
        }
    )


def _fitting(function: Callable[..., Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters
    return {name: value for name, value in examples.items() if name in names}


def _functions(subject: Any) -> Iterator[tuple[str, tuple[Callable[..., Any], FunctionSource]]]:
    if isinstance(subject, CompiledFunction):
        subject = inspect.unwrap(subject)
    if isinstance(subject, types.FunctionType):
        yield subject.__name__, (subject, read_function(subject))
    elif isinstance(subject, types.ModuleType):
        for name, found in vars(subject).items():
            function = inspect.unwrap(found) if isinstance(found, CompiledFunction) else found
            if isinstance(function, types.FunctionType) and (
                function.__module__ == subject.__name__
            ):
                yield name, (function, read_function(function))
    elif isinstance(subject, str):
        yield from _of_text(subject)
    else:
        raise NoSource(
            f"pg.analyse was given a {type(subject).__name__}, which has no source",
            remedy="pass a function, a module, or the text of a 'def'",
        )


def _of_text(text: str) -> Iterator[tuple[str, tuple[Callable[..., Any], FunctionSource]]]:
    scope: dict[str, Any] = {"__name__": "<analysed text>"}
    linecache.cache.pop("<analysed text>", None)
    exec(compile(text, "<analysed text>", "exec"), scope)  # noqa: S102  (the user's own)
    for name, found in scope.items():
        if isinstance(found, types.FunctionType) and found.__module__ == "<analysed text>":
            yield name, (found, read_function(found, text))
