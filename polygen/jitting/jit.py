"""`polygen.jit`."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from polygen.errors import NoSource, OverlappingArguments, UserError
from polygen.ir.choices import Choice
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.jitting.comparison import compare_statements
from polygen.jitting.explanations import explained
from polygen.jitting.plain_runs import PLAIN
from polygen.python.function_source import read_function
from polygen.python.generated_calls import MISS
from polygen.python.generated_calls import PLAIN as PLAIN_CALL
from polygen.python.program import KernelRegion, Program, ProgramOptions, Step
from polygen.runtime.executor import Executor
from polygen.schedules.optimize import optimize


class CompiledFunction:
    """A function of Python that is compiled when it is called: what `jit` returns.

    It is called as the function is.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self._function = function
        self._options = dict(options)
        self._signature = inspect.signature(function)
        self._names = tuple(self._signature.parameters)
        self._program: Program | None = None
        self._quick: tuple[Callable[..., Any], bool] | None = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if PLAIN.get():
            return self._function(*args, **kwargs)
        if self._quick is not None and not kwargs and len(args) == len(self._names):
            call, returns = self._quick
            try:
                found = call(*args)
            except OverlappingArguments:
                found = PLAIN_CALL
            if found is not MISS and found is not PLAIN_CALL:
                return found if returns else None
        return self._run(args, kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        program = self._program or self._made()
        if kwargs or len(args) != len(self._names):
            names = self._bound(args, kwargs)
        else:
            names = dict(zip(self._names, args, strict=True))
        found = program.run(names)
        self._quick = program.quick_call()
        return found

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """Find a function by its name, which stands for what `jit` returned."""
        return _found_again, (self._function.__module__, self._function.__qualname__)

    def _bound(self, args: Any, kwargs: Any) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _made(self) -> Program:
        source = read_function(self._function, self._options.get("source"))
        target = self._options.get("target") or "c"
        options = ProgramOptions(
            target,
            bool(self._options.get("strict")),
            bool(self._options.get("deterministic")),
            _scheduled,
            lambda kernel: _runner(kernel, target),
        )
        self._program = Program(source, options)
        return self._program

    def kernels(self, *args: Any, **kwargs: Any) -> list[Kernel]:
        """Return the kernels of a call, as they are run; the call itself is not made.

        Parameters:
            args: the arguments of the call.
            kwargs: those by name.
        """
        program = self._program or self._made()
        steps = program.prepared(self._bound(args, kwargs))
        return [step.kernel for step in steps if isinstance(step, KernelRegion)]

    def compare(self, *args: Any, **kwargs: Any) -> None:
        """Run each statement as a kernel and as Python, on copies of the arguments.

        Parameters:
            args: the arguments of the call.
            kwargs: those by name.

        Raises:
            ResultsDiffer: for the first statement, and the first element, that differ.
        """
        compare_statements(self._program or self._made(), self._bound(args, kwargs))

    def explain(self) -> str:
        """Return what became of the statements, call by call: kernels, and what stayed Python."""
        steps: dict[int, list[Step]] = {} if self._program is None else self._program.steps
        return explained(self._function.__name__, steps)


def _found_again(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def _scheduled(kernel: Kernel, sizes: Mapping[str, int]) -> Kernel:
    try:
        return optimize(kernel, sizes=sizes)
    except UserError as error:  # the kernel runs as it is, and `explain` says why
        left = Choice(tuple(kernel.instructions_by_id), "no schedule", error.what, is_taken=False)
        return kernel.copy(choices=(left,))


def _runner(kernel: Kernel, target: str) -> Callable[[dict[str, Any]], object]:
    executor = Executor(kernel, target)

    def run(arguments: dict[str, Any]) -> object:
        return executor.run(None, None, arguments)

    return run


@public
def jit(
    function: Any = None,
    *,
    target: str | None = None,
    strict: bool = False,
    deterministic: bool = False,
    source: str | None = None,
) -> Any:
    """Return a function of Python that is compiled when it is called.

    Statements become kernels, for the types and ranks of the arguments; what kernels cannot have
    stays Python between them.  Results are those of Python and NumPy.

    Parameters:
        function: a plain function; None to return a decorator.
        target: where kernels run: ``"c"``, ``"opencl"`` or ``"cuda"``; None for where the arrays
            are.
        strict: refuse statements that would stay Python.
        deterministic: each run gives the same bits: floating-point numbers that several iterations
            add to one element are not added in the order in which these come.
        source: the text of the function, where Python does not keep it.

    Raises:
        NoSource: if the text of the function cannot be had.

    >>> import numpy as np
    >>> import polygen as pg
    >>> @pg.jit(source='''
    ... def smooth(x, y):
    ...     y[1:-1] = (x[:-2] + x[1:-1] + x[2:])/3
    ... ''')
    ... def smooth(x, y):
    ...     y[1:-1] = (x[:-2] + x[1:-1] + x[2:])/3
    >>> y = np.zeros(5)
    >>> smooth(np.arange(5.0)**2, y)
    >>> print(y.round(2))
    [0.   1.67 4.67 9.67 0.  ]
    """
    options = {
        "target": target,
        "strict": strict,
        "deterministic": deterministic,
        "source": source,
    }
    if function is None:
        return functools.partial(CompiledFunction, options=options)
    if not isinstance(function, types.FunctionType):
        raise NoSource(
            f"pg.jit is given a {type(function).__name__}, and compiles functions",
            remedy="put @pg.jit above 'def'",
        )
    return CompiledFunction(function, options)
