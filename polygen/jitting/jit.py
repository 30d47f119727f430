"""`polygen.jit`."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import types
from collections.abc import Callable, Mapping
from typing import Any

from polygen.errors import InvalidArgument, NoSource, OverlappingArguments
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.slots import slot
from polygen.ir.traced_calls import RUN_NOW, TRACING, WAITING
from polygen.jitting.borrowed_arrays import BorrowedArrays, has_foreign_arrays
from polygen.jitting.comparison import compare_statements
from polygen.jitting.compiled_programs import program_of
from polygen.jitting.explanations import explained
from polygen.jitting.placement import accelerator
from polygen.jitting.plain_runs import PLAIN
from polygen.jitting.step_bars import WaitingBars, can_show, step_bar
from polygen.python.array_libraries import library_of_results
from polygen.python.function_source import read_function
from polygen.python.generated_calls import MISS
from polygen.python.generated_calls import PLAIN as PLAIN_CALL
from polygen.python.program import KernelRegion, Program, Step
from polygen.runtime.resident_arrays import CopyCount
from polygen.source import caller_location

_POSITIONAL = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}


class CompiledFunction:
    """A function of Python that is compiled when it is called: what `jit` returns.

    It is called as the function is.

    Attributes:
        function: the function itself.
    """

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.function = function
        self._options = dict(options)
        self._signature = inspect.signature(function, follow_wrapped=False)
        self._names = tuple(self._signature.parameters)
        kinds = {parameter.kind for parameter in self._signature.parameters.values()}
        self._is_positional = kinds <= _POSITIONAL
        # By targets, and whether they show how far loops are.
        self._programs: dict[tuple[str, bool], Program] = {}
        self._copied = CopyCount()  # by the last call
        self._quick: tuple[Callable[..., Any], bool] | None = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if PLAIN.get():
            return self.function(*args, **kwargs)
        if TRACING.get() or WAITING:
            found = slot("record_function")(self, self.bound(args, kwargs))
            if found is not RUN_NOW:
                return found
        if self._quick is not None and self._are_all(args, kwargs):
            call, returns = self._quick
            try:
                found = call(*args)
            except OverlappingArguments:
                found = PLAIN_CALL
            if found is not MISS and found is not PLAIN_CALL:
                return found if returns else None
        return self._run(args, kwargs)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        names = self.bound(args, kwargs)
        if has_foreign_arrays(names.values()):
            borrowed = BorrowedArrays(names)
            program = self._program_for(borrowed.names, shows_steps=self._shows_steps())
            return borrowed.returned(program.run(borrowed.names))
        program = self._program_for(names, shows_steps=self._shows_steps())
        found = program.run(names)
        self._quick = program.quick_call()
        return found

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else BoundFunction(self, instance)

    def __reduce__(self) -> Any:
        """Find a function by its name, which stands for what `jit` returned.

        Raises:
            PicklingError: if it has none, as a function has that another one defines.
        """
        module, name = self.function.__module__, self.function.__qualname__
        if "<" in name:
            raise pickle.PicklingError(
                f"'{name}' cannot be pickled: it is found again by its name, and has none in "
                f"'{module}'; define it outside of functions"
            )
        return _found_again, (module, name, self._options)

    def __repr__(self) -> str:
        return f"<compiled function {self.function.__qualname__}>"

    def _are_all(self, args: Any, kwargs: Any) -> bool:
        """Tell whether each argument is that of a parameter, in their order."""
        return not kwargs and self._is_positional and len(args) == len(self._names)

    def bound(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """Return the arguments of a call by name, defaults among them.

        Parameters:
            args: those by position.
            kwargs: those by name.
        """
        if self._are_all(args, kwargs):
            return dict(zip(self._names, args, strict=True))
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _shows_steps(self) -> bool:
        return bool(self._options.get("progress")) and can_show()

    def target_for(self, names: Mapping[str, Any]) -> str:
        """Return where a call runs, as long as nobody forecasts it.

        Parameters:
            names: its arguments by name.
        """
        return self._options.get("target") or library_of_results(names.values()).target

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of `jit`."""
        return self._options

    def _program_for(self, names: Mapping[str, Any], *, shows_steps: bool = False) -> Program:
        """Return the program for where arguments are."""
        where_arrays_are = library_of_results(names.values()).target
        target = self._options.get("target") or where_arrays_are
        if target == "auto" and (where_arrays_are != "c" or accelerator() is None):
            target = where_arrays_are
        key = target, shows_steps
        if key not in self._programs:
            self._programs[key] = self._made(target, WaitingBars(step_bar) if shows_steps else None)
        return self._programs[key]

    def _made(self, target: str, bars: WaitingBars | None) -> Program:
        source = read_function(self.function, self._options.get("source"))
        return program_of(
            source,
            target,
            strict=bool(self._options.get("strict")),
            deterministic=bool(self._options.get("deterministic")),
            copied=self._copied,
            bars=bars,
        )

    def kernels(self, *args: Any, **kwargs: Any) -> list[Kernel]:
        """Return the kernels of a call, as they are run; the call itself is not made.

        Parameters:
            args: the arguments of the call.
            kwargs: those by name.
        """
        names = BorrowedArrays(self.bound(args, kwargs)).names
        steps = self._program_for(names).prepared(names)
        return [step.kernel for step in steps if isinstance(step, KernelRegion)]

    def compare(self, *args: Any, **kwargs: Any) -> None:
        """Run each statement as a kernel and as Python, on copies of the arguments.

        Parameters:
            args: the arguments of the call.
            kwargs: those by name.

        Raises:
            ResultsDiffer: for the first statement, and the first element, that differ.
        """
        names = BorrowedArrays(self.bound(args, kwargs)).names
        compare_statements(self._program_for(names), names)

    def explain(self) -> str:
        """Return what became of the statements, call by call: kernels, and what stayed Python."""
        steps: dict[int, list[Step]] = {}
        for program in self._programs.values():
            for at, tried in program.steps.items():
                steps.setdefault(at, []).extend(tried)
        return explained(self.function.__name__, steps, self._copied)


class BoundFunction:
    """A method that is compiled when it is called, of an object: what is passed comes behind it.

    Attributes:
        __func__: the compiled function.
        __self__: the object.
    """

    def __init__(self, function: CompiledFunction, instance: Any) -> None:
        self.__func__, self.__self__ = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        return self.__func__(self.__self__, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__func__, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundFunction):
            return NotImplemented
        return self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __reduce__(self) -> Any:
        return BoundFunction, (self.__func__, self.__self__)

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r} of {self.__self__!r}>"

    def kernels(self, *args: Any, **kwargs: Any) -> list[Kernel]:
        """Return the kernels of a call: see `CompiledFunction.kernels`."""
        return self.__func__.kernels(self.__self__, *args, **kwargs)

    def compare(self, *args: Any, **kwargs: Any) -> None:
        """Compare a call with Python: see `CompiledFunction.compare`."""
        self.__func__.compare(self.__self__, *args, **kwargs)


def _found_again(module: str, name: str, options: Mapping[str, Any]) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    # What `jit` returned may have another name than the function.
    return found if isinstance(found, CompiledFunction) else CompiledFunction(found, options)


def _check_kind(function: types.FunctionType) -> None:
    """Refuse functions that return before their statements run."""
    kinds = {
        "a generator": inspect.isgeneratorfunction(function),
        "a coroutine": inspect.iscoroutinefunction(function),
        "an asynchronous generator": inspect.isasyncgenfunction(function),
    }
    for kind, is_one in kinds.items():
        if is_one:
            raise InvalidArgument(
                f"pg.jit is given '{function.__name__}', which makes {kind}: its statements run "
                "when somebody asks for the next value",
                where=caller_location(),
                remedy="put what computes into a function of its own, and @pg.jit above that",
            )


@public
def jit(
    function: Any = None,
    *,
    target: str | None = None,
    strict: bool = False,
    deterministic: bool = False,
    progress: bool = False,
    source: str | None = None,
) -> Any:
    """Return a function of Python that is compiled when it is called.

    Statements become kernels, for the types and ranks of the arguments; what kernels cannot have
    stays Python between them.  Results are those of Python and NumPy.

    Parameters:
        function: a plain function; None to return a decorator.
        target: where kernels run: ``"c"``, ``"opencl"`` or ``"cuda"``; None for where the arrays
            are: CUDA for those of CuPy or PyTorch on a GPU, else C.  With ``"auto"``, calls with
            NumPy arrays run on a GPU, if there is one, and if a forecast says that this takes less
            time, copies there and back among it.
        strict: refuse statements that would stay Python.
        deterministic: each run gives the same bits: floating-point numbers that several iterations
            add to one element are not added in the order in which these come.
        progress: show a bar for each loop of the function's own level over ``range``, on a terminal
            and with rich installed (``pip install 'polygen[progress]'``): such loops run in parts.
        source: the text of the function, where Python does not keep it.

    Raises:
        NoSource: if the text of the function cannot be had.
        InvalidArgument: if it is a generator or a coroutine.

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
        "progress": progress,
        "source": source,
    }
    if function is None:
        return functools.partial(CompiledFunction, options=options)
    if isinstance(function, CompiledFunction):
        function = function.function
    if not isinstance(function, types.FunctionType):
        raise NoSource(
            f"pg.jit is given a {type(function).__name__}, and compiles functions",
            remedy="put @pg.jit above 'def'",
        )
    _check_kind(function)
    return CompiledFunction(function, options)
