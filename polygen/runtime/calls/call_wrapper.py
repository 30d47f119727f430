"""The Python function that a call goes through: generated for the arguments that are passed.

What takes time (checks, code generation, compilation) is done once for each combination of types,
shapes, strides and sizes, and its result, a *plan*, is kept.  The wrapper looks the plan up and
does the rest: it finds addresses, compares them, allocates outputs, and starts the kernel.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from polygen.ir.array import Argument, ConstantArg, ImageArg
from polygen.ir.dtype import integer_limits, is_integer
from polygen.runtime.arrays.inferred_sizes import fixed_sizes
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.calls.arguments import INDEX_BOUNDS, Form


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


RUN = "(pg_recorded if pg_recorders else pg_run)"


def local(name: str) -> str:
    """Return what the wrapper calls an argument.  Other names in it begin with ``pg_``."""
    taken = keyword.iskeyword(name) or name in ("queue", "wait_for")
    return f"pg_arg_{name}" if taken else name


def as_tuple(parts: Sequence[str]) -> str:
    """Return a tuple of Python's."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def make_wrapper(form: Form, new_writer: Callable[[Form], Writer]) -> Wrapper:
    """Return the wrapper for calls of a form, as the target's writer makes it."""
    writer = new_writer(form)
    plan = ("pg_run", "pg_recorded", *writer.plan())
    parameters = ", ".join(["queue", "wait_for", *map(local, form.passed)])
    lines = [
        f"def call({parameters}):",
        f'    """Run kernel {form.kernel.name} on target {form.target}."""',
        *(f"    {line}" for line in _body(form, writer, plan)),
    ]
    return Wrapper("\n".join(lines) + "\n", plan)


def _body(form: Form, writer: Writer, plan: tuple[str, ...]) -> Iterator[str]:
    yield from writer.find_queue()
    yield f"pg_key = {as_tuple([*writer.key(), *_widths(form)])}"
    yield "pg_plan = pg_plans.get(pg_key)"
    yield "if pg_plan is None:"
    yield f"    pg_plan = pg_prepare({', '.join(['pg_key', 'queue', *map(local, form.passed)])})"
    yield f"{as_tuple(plan)} = pg_plan"
    yield from _check_ranges(form)
    for arg in form.allocated:
        yield f"{local(arg.name)} = pg_new_{arg.name}({writer.allocator()})"
    yield from writer.find_data()
    yield from writer.run()
    written = written_arrays(form.kernel)
    if form.kernel.options.return_dict:
        outputs = f"{{{', '.join(f'{name!r}: {local(name)}' for name in written)}}}"
    else:
        outputs = as_tuple([local(name) for name in written])
    yield f"return pg_event, {outputs}"


def _widths(form: Form) -> Iterator[str]:
    """Yield what tells apart how large scalars in subscripts are."""
    for name in map(local, form.index_scalars):
        yield " + ".join(f"({-bound} < {name} < {bound})" for bound in INDEX_BOUNDS)


def _check_ranges(form: Form) -> Iterator[str]:
    for name, dtype in form.scalars.items():
        if is_integer(dtype):
            low, high = integer_limits(dtype)
            yield f"if not {low} <= {local(name)} <= {high}:"
            yield f"    pg_check_range({name!r}, {local(name)}, pg_dtype_{name})"


class Writer:
    """Writes the lines of a wrapper that differ from target to target."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.written = written_arrays(form.kernel)
        self.sizes = [local(arg.name) for arg in form.sizes]
        self._fixed = fixed_sizes(form.kernel)

    def is_passed(self, arg: Argument) -> bool:
        """Tell whether generated code has an argument."""
        return arg.name not in self._fixed

    def plan(self) -> list[str]:
        """Return the names of what a plan has beside what runs it."""
        return [f"pg_new_{arg.name}" for arg in self.form.allocated]

    def key(self) -> list[str]:
        """Return what tells apart the calls that have plans of their own."""
        raise NotImplementedError

    def find_queue(self) -> list[str]:
        """Return the lines that find where to run."""
        return []

    def allocator(self) -> str:
        """Return what ``pg_new_x`` is passed."""
        return ""

    def find_data(self) -> Iterator[str]:
        """Yield the lines that find the memory of arrays, and check it."""
        raise NotImplementedError

    def run(self) -> Iterator[str]:
        """Yield the lines that start the kernel, and set ``pg_event``."""
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
        """Yield a check of two arrays that may overlap where a condition holds."""
        yield f"if {condition}:"
        yield f"    pg_check_apart({name!r}, {local(name)}, {other!r}, {local(other)})"

    def compared(self) -> list[str]:
        """Return the arrays in `pairs`, each once."""
        return list(dict.fromkeys(name for pair in self.pairs() for name in pair))
