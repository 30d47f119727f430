"""Calls of libraries between launches on a GPU: on the stream of the kernel's call, by CuPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from polygen.errors import NoLibrary
from polygen.ir import expression as ex
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.expression import Expression
from polygen.ir.layout import Strided
from polygen.language.routine_table import ROUTINES, Form
from polygen.lower.program import Call, Launch, LibraryFunction, LoopProgram
from polygen.runtime.backends.cuda.cuda_arrays import stream_of_cupy
from polygen.runtime.backends.cuda.cuda_driver import Driver
from polygen.runtime.backends.cuda.gpu_routines import Given, Libraries, Refused, run_routine
from polygen.runtime.backends.cuda.library_operands import Operand
from polygen.runtime.calls.library_errors import library_error
from polygen.source import caller_location
from polygen.targets.programs.host_numbers import call_in, number_of
from polygen.targets.programs.launches import calls_library, launches_of

_MOST_PENDING = 64  # factorizations of which nobody has asked yet whether they failed


def libraries() -> Libraries:
    """Return CuPy's modules.

    Raises:
        NoLibrary: if CuPy is not installed, or finds no cuBLAS or cuSOLVER.
    """
    try:
        return loaded_libraries()
    except ImportError as error:
        raise NoLibrary(
            "a kernel that calls BLAS or LAPACK on CUDA takes them from cuBLAS and cuSOLVER, "
            f"through CuPy, and {error}",
            where=caller_location(),
            remedy="pip install 'cupy-cuda13x[ctk]' (cupy-cuda12x for CUDA 12), which brings the "
            "libraries; or make loops of the call: inline_callable_kernel",
        ) from None


@cache
def loaded_libraries() -> Libraries:
    """Import CuPy's modules."""
    blas, solver = (f"cupy_backends.cuda.libs.{n}" for n in ("cublas", "cusolver"))
    return Libraries(import_module("cupy"), import_module(blas), import_module(solver))


@dataclass(frozen=True)
class _Prepared:
    """A call, and what it is of.

    Attributes:
        name: the name of the launch that it is.
        call: the call.
        conditions: under which it is made.
        function: what is called.
        form: the routine with its options, and what it is given.
    """

    name: str
    call: Call
    conditions: tuple[Expression, ...]
    function: LibraryFunction
    form: Form


class LibraryLaunches:
    """The calls of libraries of a program.

    Attributes:
        arguments: what the host has to know for them.
    """

    def __init__(self, program: LoopProgram, driver: Driver) -> None:
        """Prepare the calls.

        Parameters:
            program: the program.
            driver: CUDA.

        Raises:
            NoLibrary: if it has some, and CuPy is not installed.
        """
        self._program, self._driver = program, driver
        functions = {function.name: function for function in program.libraries}
        launches = [n for n in launches_of(program.host) if calls_library(n, program)]
        self._calls = {launch.name: _prepared(launch, functions) for launch in launches}
        self.arguments = tuple([argument for n in launches for argument in n.arguments])
        self._libraries = libraries() if launches else None
        self._pending: list[tuple[LibraryFunction, int, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __contains__(self, name: str) -> bool:
        return name in self._calls

    @property
    def first(self) -> str:
        """The name of the first launch that is a call."""
        return next(iter(self._calls))

    def routine(self, name: str) -> str:
        """Return the name of the routine that a launch calls."""
        return self._calls[name].function.routine

    def start(self, name: str, stream: int, addresses: Mapping[str, int]) -> None:
        """Start a call on a stream.

        Parameters:
            name: the name of the launch.
            stream: the stream.
            addresses: where the values are that the program is passed.

        Raises:
            LibraryLayout, LibraryTooLarge: if the library does not take an array.
            SingularMatrix, NotPositiveDefinite: if an earlier call failed.
        """
        prepared = self._calls[name]
        values = _Values(self._program, self._driver, stream, self._needed(addresses))
        if not all(map(values.number, prepared.conditions)):
            return
        libraries = self._libraries
        assert libraries is not None
        with _on_stream(libraries, stream) as blas:
            given = values.given(prepared, libraries, blas, self._noted(prepared.function))
            try:
                run_routine(prepared.function.routine, given)
            except Refused as refused:
                raise library_error(
                    prepared.function, self._program.name, refused.why, refused.info
                ) from None
        if len(self._pending) >= _MOST_PENDING:
            self.check(stream)

    def _needed(self, addresses: Mapping[str, int]) -> dict[str, tuple[Argument, int]]:
        return {a.name: (a, addresses[a.name]) for a in self.arguments}

    def _noted(self, function: LibraryFunction) -> Callable[[int, Any], None]:
        return lambda why, info: self._pending.append((function, why, info))

    def check(self, stream: int) -> None:
        """Wait for a stream, and raise the error of the first call that failed on it.

        Raises:
            SingularMatrix, NotPositiveDefinite: if one did.
        """
        pending, self._pending = self._pending, []
        for function, why, info in pending:
            code = ctypes.c_int32()
            at = ctypes.addressof(code)
            self._driver.copy(at, info.data.ptr, 4, stream, to_host=True)
            if code.value > 0:
                first = code.value - 1 if function.routine != "potrf" else code.value
                raise library_error(function, self._program.name, why, first)

    def forget(self) -> None:
        """Ask no more whether calls failed: another error is raised."""
        self._pending = []


def _prepared(launch: Launch, functions: Mapping[str, LibraryFunction]) -> _Prepared:
    found = call_in(launch.body)
    assert found is not None  # or there were no code
    call, conditions = found
    function = functions[call.function]
    return _Prepared(launch.name, call, conditions, function, _form(function))


def _form(function: LibraryFunction) -> Form:
    routine, said = ROUTINES[function.routine], dict(function.options)
    arrays = [a for a in function.arguments if isinstance(a, GlobalArg)]
    names = {a.name for a in function.arguments}
    vectors = (a.name for a in arrays if len(a.shape or ()) == 1)
    return Form(
        function.routine,
        tuple([(n, said.get(n, words[0])) for n, words in routine.options.items()]),
        tuple([n for n in routine.numbers if n in names]),
        tuple([a.name for a in arrays]),
        routine.as_vector.intersection(vectors),
    )


@contextmanager
def _on_stream(libraries: Libraries, stream: int) -> Generator[int]:
    """Make a stream CuPy's current one, and cuBLAS's; yield the handle of cuBLAS."""
    cupy, cublas = libraries.cupy, libraries.cublas
    is_current = int(cupy.cuda.get_current_stream().ptr) == stream
    with nullcontext() if is_current else stream_of_cupy(stream):
        handle = cupy.cuda.Device().cublas_handle
        mode = cublas.getPointerMode(handle)
        cublas.setStream(handle, stream)
        cublas.setPointerMode(handle, _ON_HOST)
        try:
            yield handle
        finally:
            cublas.setPointerMode(handle, mode)


def _solver(libraries: Libraries, stream: int) -> int:
    """Return the handle of cuSOLVER, on a stream."""
    handle = int(libraries.cupy.cuda.Device().cusolver_handle)
    libraries.cusolver.setStream(handle, stream)
    return handle


_ON_HOST = 0  # CUBLAS_POINTER_MODE_HOST: alpha and beta are there


class _Values:
    """The arguments of a program, and what is in arrays."""

    def __init__(
        self,
        program: LoopProgram,
        driver: Driver,
        stream: int,
        places: Mapping[str, tuple[Argument, int]],
    ) -> None:
        self._driver, self._stream, self._places = driver, stream, places
        self._known = {
            name: _read(argument, program, at)
            for name, (argument, at) in places.items()
            if isinstance(argument, ValueArg)
        }

    def number(self, node: Expression) -> Any:
        """Return the value of an expression."""
        return number_of(node, self._known, self._element)

    def _element(self, array: str, place: int) -> Any:
        """Return an element of an array, once all is over that was started on the stream."""
        dtype = self._places[array][0].dtype
        assert dtype is not None
        found = np.zeros(1, dtype)
        at = self._address(array) + place * dtype.itemsize
        self._driver.copy(found.ctypes.data, at, dtype.itemsize, self._stream, to_host=True)
        return found[0]

    def _address(self, array: str) -> int:
        return ctypes.c_uint64.from_address(self._places[array][1]).value

    def given(
        self,
        prepared: _Prepared,
        libraries: Libraries,
        blas: int,
        failing: Callable[[int, Any], None],
    ) -> Given:
        """Return what a routine is given."""
        call, form = prepared.call, prepared.form
        pairs = list(zip(call.parameters, call.arguments, strict=True))
        numbers = {p.name: self.number(v) for p, v in pairs if not isinstance(p, GlobalArg)}
        routine = ROUTINES[form.routine]
        sizes = {name: int(numbers[name]) for name in routine.size_names(form)}
        arrays: dict[str, Operand] = {}
        for parameter, node in pairs:
            if isinstance(parameter, GlobalArg):
                shape = tuple([max(0, sizes[s]) for s in routine.axes(form, parameter.name)])
                arrays[parameter.name] = self._operand(parameter, node, shape, numbers)
        return Given(
            libraries,
            blas,
            lambda: _solver(libraries, self._stream),
            dict(form.options),
            sizes,
            {name: numbers[name] for name in form.numbers},
            arrays,
            routine.begins,
            failing,
        )

    def _operand(
        self,
        parameter: GlobalArg,
        node: Expression,
        shape: Sequence[int],
        numbers: Mapping[str, Any],
    ) -> Operand:
        dtype = parameter.dtype
        assert dtype is not None
        (place,) = map(self.number, ex.index_of(node) or (0,))
        tags = [tag for tag in parameter.dim_tags or () if isinstance(tag, Strided)]
        strides = tuple([_stride(tag, numbers) for tag in tags])
        address = self._address(ex.name_of(node)) + int(place) * dtype.itemsize
        return Operand(address, tuple(shape), strides, dtype)


def _stride(tag: Strided, numbers: Mapping[str, Any]) -> int:
    """Return a stride: a number, or what is given for one."""
    if isinstance(tag.stride, ex.Variable):
        return int(numbers[tag.stride.name])
    assert isinstance(tag.stride, int)
    return tag.stride


def _read(argument: ValueArg, program: LoopProgram, at: int) -> Any:
    """Return a number that the program is passed: Python's if it is a size."""
    dtype = argument.dtype
    assert dtype is not None
    stored = np.dtype(np.float32) if dtype.name == "float16" else dtype
    found = np.frombuffer(ctypes.string_at(at, stored.itemsize), stored)[0].astype(dtype)
    return found if isinstance(program.dtypes.get(argument.name), np.dtype) else int(found)
