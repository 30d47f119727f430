"""The Python function that a call goes through: generated for the arguments that are passed.

What takes time (checks, code generation, compilation) is done once for each combination of types,
shapes, strides and sizes, and its result, a *plan*, is kept.  The wrapper looks the plan up and
does the rest: it finds addresses, compares them, allocates outputs, and starts the kernel.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from polygen.ir.array import Argument, ConstantArg, GlobalArg, ImageArg, ValueArg
from polygen.ir.dtype import integer_limits, is_integer
from polygen.ir.layout import Auto
from polygen.runtime.arguments import Form
from polygen.runtime.cuda_arrays import NO_STREAM, array_class
from polygen.runtime.outputs import written_arrays
from polygen.runtime.separate import passed_arguments
from polygen.runtime.sizes import fixed_sizes


@dataclass(frozen=True)
class Wrapper:
    """The source of a wrapper.

    Attributes:
        source: a Python function `call(queue, wait_for, ...)`.
        plan: the names of what it takes out of a plan, in order.  They begin with ``pg_run``, and
            ``pg_recorded``, which does the same and tells profiles; then come ``pg_new_x``, which
            allocates `x`, ``pg_size_n``, the value of a size, ``pg_low_x`` and ``pg_high_x``, where
            the bytes of `x` begin and end, ``pg_mask_x``, the bits that are 0 in an address of `x`,
            and ``pg_before_x``, how many bytes of the memory that generated code sees come before
            the first element.
    """

    source: str
    plan: tuple[str, ...]


_RUN = "(pg_recorded if pg_recorders else pg_run)"


def local(name: str) -> str:
    """Return what the wrapper calls an argument.  Other names in it begin with ``pg_``."""
    taken = keyword.iskeyword(name) or name in ("queue", "wait_for")
    return f"pg_arg_{name}" if taken else name


def _tuple(parts: Sequence[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def make_wrapper(form: Form) -> Wrapper:
    """Return the wrapper for calls of a form."""
    writer = _WRITERS[form.target](form)
    plan = ("pg_run", "pg_recorded", *writer.plan())
    parameters = ", ".join(["queue", "wait_for", *map(local, form.passed)])
    lines = [
        f"def call({parameters}):",
        f'    """Run kernel {form.kernel.name} on target {form.target}."""',
        *(f"    {line}" for line in _body(form, writer, plan)),
    ]
    return Wrapper("\n".join(lines) + "\n", plan)


def _body(form: Form, writer: _Writer, plan: tuple[str, ...]) -> Iterator[str]:
    yield from writer.find_queue()
    yield f"pg_key = {_tuple(writer.key())}"
    yield "pg_plan = pg_plans.get(pg_key)"
    yield "if pg_plan is None:"
    yield f"    pg_plan = pg_prepare({', '.join(['pg_key', 'queue', *map(local, form.passed)])})"
    yield f"{_tuple(plan)} = pg_plan"
    yield from _check_ranges(form)
    for arg in form.allocated:
        yield f"{local(arg.name)} = pg_new_{arg.name}({writer.allocator()})"
    yield from writer.find_data()
    yield from writer.run()
    written = written_arrays(form.kernel)
    if form.kernel.options.return_dict:
        outputs = f"{{{', '.join(f'{name!r}: {local(name)}' for name in written)}}}"
    else:
        outputs = _tuple([local(name) for name in written])
    yield f"return pg_event, {outputs}"


def _check_ranges(form: Form) -> Iterator[str]:
    for name, dtype in form.scalars.items():
        if is_integer(dtype):
            low, high = integer_limits(dtype)
            yield f"if not {low} <= {local(name)} <= {high}:"
            yield f"    pg_check_range({name!r}, {local(name)}, pg_dtype_{name})"


class _Writer:
    """What differs from target to target."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.written = written_arrays(form.kernel)
        self.sizes = [local(arg.name) for arg in form.sizes]
        self._fixed = fixed_sizes(form.kernel)

    def is_passed(self, arg: Argument) -> bool:
        """Tell whether generated code has an argument."""
        return arg.name not in self._fixed

    def plan(self) -> list[str]:
        return [f"pg_new_{arg.name}" for arg in self.form.allocated]

    def key(self) -> list[str]:
        raise NotImplementedError

    def find_queue(self) -> list[str]:
        return []

    def allocator(self) -> str:
        return ""

    def find_data(self) -> Iterator[str]:
        raise NotImplementedError

    def run(self) -> Iterator[str]:
        raise NotImplementedError

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of passed arrays that must not overlap, the first of which is written."""
        if self.form.kernel.options.skip_arg_checks:
            return
        buffers = [arg for arg in self.form.arrays if not isinstance(arg, ImageArg)]
        for first, second in combinations(buffers, 2):
            constant = isinstance(first, ConstantArg) or isinstance(second, ConstantArg)
            if (first.may_alias or second.may_alias) and not constant:
                continue
            if first.name in self.written:
                yield first.name, second.name
            elif second.name in self.written:
                yield second.name, first.name

    def check_apart(self, condition: str, name: str, other: str) -> Iterator[str]:
        yield f"if {condition}:"
        yield f"    pg_check_apart({name!r}, {local(name)}, {other!r}, {local(other)})"

    def compared(self) -> list[str]:
        """Return the arrays in `pairs`, each once."""
        return list(dict.fromkeys(name for pair in self.pairs() for name in pair))


class _CWriter(_Writer):
    """Runs a C function on NumPy arrays."""

    def plan(self) -> list[str]:
        names = super().plan()
        names += [
            f"pg_size_{arg.name}"
            for arg in self.form.kernel.arguments
            if isinstance(arg, ValueArg)
            and self.is_passed(arg)
            and arg.name not in self.form.scalars
        ]
        arrays = (*self.form.arrays, *self.form.allocated)
        names += [f"pg_before_{arg.name}" for arg in arrays if _begins_later(arg)]
        names += [f"pg_{end}_{name}" for name in self.compared() for end in ("low", "high")]
        return [*names, *(f"pg_mask_{arg.name}" for arg in self.form.arrays), "pg_hidden"]

    def key(self) -> list[str]:
        arrays = map(local, (arg.name for arg in self.form.arrays))
        parts = [f"{name}.{what}" for name in arrays for what in ("dtype", "shape", "strides")]
        return [*parts, *self.sizes]

    def find_data(self) -> Iterator[str]:
        for arg in (*self.form.arrays, *self.form.allocated):
            name = local(arg.name)
            interface = f'{name}.__array_interface__["data"]'
            if arg in self.form.arrays and arg.name in self.written:
                yield f"pg_at_{arg.name}, pg_read_only = {interface}"
                yield "if pg_read_only:"
                yield f"    pg_raise_read_only({arg.name!r})"
            else:
                yield f"pg_at_{arg.name} = {interface}[0]"
        yield from self.check_places()

    def check_places(self) -> Iterator[str]:
        """Yield checks of the addresses of arrays."""
        if self.form.arrays:
            yield f"if {' | '.join(map(_misaligned, self.form.arrays))}:"
            yield "    pg_raise_misaligned()"
        for name, other in self.pairs():
            before = "pg_at_{0} + pg_low_{0} < pg_at_{1} + pg_high_{1}"
            both = f"{before.format(name, other)} and {before.format(other, name)}"
            yield from self.check_apart(both, name, other)

    def run(self) -> Iterator[str]:
        yield "for pg_event in wait_for or ():"
        yield "    pg_wait_here(pg_event)"
        arguments = passed_arguments(self.form.kernel)
        values = [self._value(arg) for arg in arguments if self.is_passed(arg)]
        yield f"{_RUN}({', '.join([*values, '*pg_hidden'])})"
        yield "pg_event = pg_finished"

    def _value(self, arg: GlobalArg | ValueArg) -> str:
        if isinstance(arg, GlobalArg):
            return _begin(arg)
        if arg.name in self.form.scalars:
            return self.number(arg.name)
        return f"pg_size_{arg.name}"

    def number(self, name: str) -> str:
        """Return a scalar as a number of Python's."""
        return f"{local(name)}.item()" if name in self.form.numpy_scalars else local(name)


def _begin(arg: GlobalArg) -> str:
    """Return the address that generated code is passed."""
    at = f"pg_at_{arg.name}"
    return f"{at} - pg_before_{arg.name}" if _begins_later(arg) else at


def _misaligned(arg: GlobalArg) -> str:
    """Return the bits of that address that should not be there."""
    begin = f"({_begin(arg)})" if _begins_later(arg) else _begin(arg)
    return f"{begin} & pg_mask_{arg.name}"


def _begins_later(arg: GlobalArg) -> bool:
    """Tell whether an array has a declared offset: the first element is not where it begins."""
    return arg.offset != 0 and not isinstance(arg.offset, Auto)


class _OpenCLWriter(_Writer):
    """Enqueues kernels on arrays of pyopencl's."""

    def plan(self) -> list[str]:
        return [*super().plan(), *(f"pg_type_{name}" for name in self.form.scalars)]

    def key(self) -> list[str]:
        what = ("dtype", "shape", "strides", "offset")
        arrays = map(local, (arg.name for arg in self.form.arrays))
        return ["queue", *(f"{name}.{part}" for name in arrays for part in what), *self.sizes]

    def find_queue(self) -> list[str]:
        arrays = _tuple([local(arg.name) for arg in self.form.arrays])
        forked = ["if pg_forked:", "    pg_raise_forked()"]
        return [*forked, "if queue is None:", f"    queue = pg_find_queue({arrays})"]

    def allocator(self) -> str:
        passed = self.form.arrays
        return f"allocator={local(passed[0].name)}.allocator" if passed else ""

    def find_data(self) -> Iterator[str]:
        for arg in (*self.form.arrays, *self.form.allocated):
            yield f"pg_data_{arg.name} = {local(arg.name)}.base_data"
        for name in self.compared():
            yield f"pg_memory_{name} = pg_memory_of(pg_data_{name})"
        for name, other in self.pairs():
            yield from self.check_apart(f"pg_memory_{name} == pg_memory_{other}", name, other)

    def run(self) -> Iterator[str]:
        arrays = (*self.form.arrays, *self.form.allocated)
        events = [f"*{local(arg.name)}.events" for arg in arrays]
        given = "*(pg_enqueued(wait_for) if wait_for else ())"
        yield f"pg_wait = [{', '.join([given, *events])}]"
        values = [f"pg_data_{arg.name}" for arg in arrays]
        values += [f"pg_type_{name}({local(name)})" for name in self.form.scalars]
        yield f"pg_event = {_RUN}({', '.join(['pg_wait', *values])})"
        for arg in arrays:
            if arg.name in self.written:
                yield f"{local(arg.name)}.events[:] = (pg_event,)"


class _CudaWriter(_CWriter):
    """Starts CUDA functions on arrays in a GPU's memory."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self._classes = {a.name: array_class(form.classes[a.name]) for a in form.arrays}
        # New arrays are like the first that is passed.
        self._like = form.arrays[0].name if form.arrays else None

    def plan(self) -> list[str]:
        hidden = [name for name in super().plan() if name != "pg_hidden"]
        return [name for name in hidden if not name.startswith("pg_size_")]

    def find_queue(self) -> list[str]:
        arrays = [arg.name for arg in self.form.arrays if self._other(arg.name)]
        like = None if self._like is None else self._classes[self._like]
        first = "pg_no_stream" if like is None else f"pg_stream_{self._like}"
        address = (NO_STREAM if like is None else like.stream)[1].format("pg_owner")
        return [
            "pg_at = pg_device()",
            f"pg_owner = {first}(pg_at) if queue is None else queue",
            f"pg_stream = {address} if queue is None else pg_stream_of(queue)",
            *(f"pg_seen_{name} = pg_see_{name}({local(name)}, pg_stream)" for name in arrays),
        ]

    def _other(self, name: str) -> bool:
        found = self._classes[name]
        return found is not None and found.seen is not None

    def _seen(self, name: str) -> str:
        return f"pg_seen_{name}" if self._other(name) else local(name)

    def key(self) -> list[str]:
        parts = ["pg_at"]
        for name, found in self._classes.items():
            assert found is not None
            parts += [part.format(self._seen(name)) for part in found.key]
        return [*parts, *self.sizes]

    def allocator(self) -> str:
        return f"{'None' if self._like is None else local(self._like)}, pg_stream"

    def find_data(self) -> Iterator[str]:
        for arg in self.form.arrays:
            found = self._classes[arg.name]
            assert found is not None
            yield f"pg_at_{arg.name} = {found.address.format(self._seen(arg.name))}"
            if self._other(arg.name) and arg.name in self.written:
                yield f"if pg_seen_{arg.name}.read_only:"
                yield f"    pg_raise_read_only({arg.name!r})"
        for arg in self.form.allocated:
            like = None if self._like is None else self._classes[self._like]
            address = "{0}.address" if like is None else like.address
            yield f"pg_at_{arg.name} = {address.format(local(arg.name))}"
        yield from self.check_places()

    def run(self) -> Iterator[str]:
        yield "for pg_event in wait_for or ():"
        yield "    pg_wait_on(pg_stream, pg_event)"
        for name in (self._seen(arg.name) for arg in self.form.arrays if self._other(arg.name)):
            yield f"if {name}.stream is not None:"
            yield f"    pg_wait_on_stream(pg_stream, {name}.stream)"
        values = [_begin(arg) for arg in (*self.form.arrays, *self.form.allocated)]
        values += [self.number(name) for name in self.form.scalars]
        yield f"pg_event = {_RUN}({', '.join(['pg_stream', 'pg_owner', *values])})"


_WRITERS: Mapping[str, type[_Writer]] = {
    "c": _CWriter,
    "opencl": _OpenCLWriter,
    "cuda": _CudaWriter,
}
