"""Wrappers of calls that enqueue OpenCL's kernels."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.call_wrapper import RUN, Writer, as_tuple, local


class _OpenCLWriter(Writer):
    """Enqueues kernels on arrays of pyopencl's."""

    def plan(self) -> list[str]:
        return [*super().plan(), *(f"pg_type_{name}" for name in self.form.scalars)]

    def key(self) -> list[str]:
        what = ("dtype", "shape", "strides", "offset")
        arrays = map(local, (arg.name for arg in self.form.arrays))
        return ["queue", *(f"{name}.{part}" for name in arrays for part in what), *self.sizes]

    def find_queue(self) -> list[str]:
        arrays = as_tuple([local(arg.name) for arg in self.form.arrays])
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
        yield f"pg_event = {RUN}({', '.join(['pg_wait', *values])})"
        for arg in arrays:
            if arg.name in self.written:
                yield f"{local(arg.name)}.events[:] = (pg_event,)"


def opencl_writer(form: Form) -> Writer:
    """Return what writes the lines of a wrapper that are this target's."""
    return _OpenCLWriter(form)
