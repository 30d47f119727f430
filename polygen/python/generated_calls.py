"""Python source of the quick call of a variant: it checks, allocates, calls and returns.

def call(A, n):
    if type(A) is ndarray and A.dtype is d0 and A.ndim == 1 and type(n) is int:
        s = A.shape[0]
        if s >= 2 and n - s >= 0:
            run({"A": A, "n": n, "s": s})
            return result
    return MISS
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from polygen.python.affine import Affine, affine_text
from polygen.python.array_libraries import library_of, library_of_results
from polygen.python.fault_sites import raise_first
from polygen.python.nodes import Nodes
from polygen.python.object_attributes import has_own_attributes
from polygen.python.tracer import Result, Traced
from polygen.python.unchanged_values import has_lists, is_unchanged, snapshot
from polygen.runtime.resident_arrays import array_to_host


class Miss:
    """The result of a call that is none of this variant's."""


MISS = Miss()
PLAIN = Miss()  # the arguments are those of this variant, and Python has to run the statements


def flush_python() -> None:
    """Let what Python has printed come before what a kernel prints."""
    sys.stdout.flush()


def flush_c() -> None:
    """Let what a kernel has printed come before what Python prints."""
    ctypes.CDLL(None).fflush(None)


class CallWriter:
    """Writes the call of a variant.

    Parameters:
        traced: what was traced.
        given: the values of names that it was traced for.
        run: what runs the kernel, with a dictionary of arguments.
        parameters: all names that the call is passed, in order.
    """

    def __init__(
        self,
        traced: Traced,
        given: Mapping[str, Any],
        run: Callable[[dict[str, Any]], object],
        parameters: Sequence[str],
    ) -> None:
        self._parameters = tuple(parameters)
        self._traced = traced
        self._given = given
        library = library_of_results(given.values())
        self._known: dict[str, Any] = {
            "_pg_MISS": MISS,
            "_pg_PLAIN": PLAIN,
            "_pg_raised": raise_first,
            "_pg_flushed": flush_python,
            "_pg_printed": flush_c,
            "_pg_empty": library.module.empty,
            "_pg_zeros": library.module.zeros,
            "_pg_numpy_empty": np.empty,
            "_pg_numpy_zeros": np.zeros,
            "_pg_run": run,
            "_pg_is_unchanged": is_unchanged,
            "_pg_array_to_host": array_to_host,
            "_pg_flip": np.flip,
            "_pg_expand_dims": np.expand_dims,
        }
        self._sizes = {one.path: one.name for one in traced.inputs if ".shape[" in one.path}

    def call(self, checked: Sequence[tuple[str, Callable[[Any], None]]] = ()) -> Callable[..., Any]:
        """Return the function: of the names, to a result or `MISS`; see `returns` for which.

        Parameters:
            checked: terms in the names, each with what raises an error where its value is wrong.
        """
        checks, sizes = self._checks()
        lines = [f"def call({', '.join(self._parameters)}):"]
        if checks:
            lines.append(f"    if not ({' and '.join(checks)}): return _pg_MISS")
        lines += [f"    {self._keep(check)}({term})" for term, check in checked]
        lines += [f"    {name} = {path}" for path, name in self._sizes.items()]
        lines += self._renamed()
        conditions = [*sizes, *[f"{affine_text(g)} >= 0" for g in self._traced.guards]]
        if conditions:
            lines.append(f"    if not ({' and '.join(conditions)}): return _pg_MISS")
        lines += self._looks_at_subscripts()
        lines += self._allocations(self._traced.nodes)
        passed = [f"{one.name!r}: {one.name}" for one in self._traced.inputs]
        made = [s.name for s in self._traced.nodes.storages.values() if s.role == "made"]
        passed += [f"{name!r}: {name}" for name in made]
        if self._traced.nodes.printed is not None:
            lines.append("    _pg_flushed()")
        lines.append(f"    _pg_run({{{', '.join(passed)}}})")
        if self._traced.nodes.printed is not None:
            lines.append("    _pg_printed()")
        if self._traced.nodes.fault is not None:
            name = self._traced.nodes.fault
            sites = self._keep(self._traced.fault_sites)
            result = f"lambda: {self._results()}"
            lines.append(f"    if {name}.any(): _pg_raised({name}, {sites}, {result})")
        lines.append(f"    return {self._results()}")
        scope = dict(self._known)
        exec(compile("\n".join(lines), "<polygen:call>", "exec"), scope)  # noqa: S102
        found: Callable[..., Any] = scope["call"]
        return found

    # --- checks

    def _checks(self) -> tuple[list[str], list[str]]:
        checks: list[str] = []
        arrays: list[tuple[str, Any]] = []
        for path, value in {**self._given, **self._traced.attributes}.items():
            self._check(path, value, checks, arrays)
        checks += [
            f"{one.source}.flags.c_contiguous is {one.is_contiguous}"
            for one in self._traced.nodes.storages.values()
            if one.layout_matters
        ]
        for at, (path, value) in enumerate(arrays):
            for other, known in arrays[:at]:
                checks.append(f"{path} is {'' if value is known else 'not '}{other}")
        return [*checks, *self._outside()], self._size_checks(arrays)

    def _outside(self) -> list[str]:
        """Return the conditions that globals and closure variables are what they were."""
        found: list[str] = []
        for source, name, value in self._traced.outside:
            function = source.function
            names = function.__code__.co_freevars
            if name in names:
                assert function.__closure__ is not None
                cell = self._keep(function.__closure__[names.index(name)])
                found.append(self._unchanged(f"{cell}.cell_contents", value))
            else:
                known = self._keep(function.__globals__)
                found.append(self._unchanged(f"{known}.get({name!r})", value))
        for owner, name, value in self._traced.outer_attributes:
            found.append(self._unchanged(f"{self._keep(owner)}.{name}", value))
        return found

    def _unchanged(self, path: str, value: Any) -> str:
        """Return the condition that a constant is what it was."""
        known = self._keep(snapshot(value))
        if has_lists(value):
            return f"_pg_is_unchanged({path}, {known})"
        return f"({path} is {known} or _pg_is_unchanged({path}, {known}))"

    def _check(
        self, path: str, value: Any, checks: list[str], arrays: list[tuple[str, Any]]
    ) -> None:
        if library_of(value) is not None:
            dtype = self._keep(value.dtype)
            checks += [
                f"type({path}) is {self._keep(type(value))}",
                f"({path}.dtype is {dtype} or {path}.dtype == {dtype})",
                f"{path}.ndim == {value.ndim}",
            ]
            arrays.append((path, value))
        elif isinstance(value, tuple | list):
            parts = cast("Sequence[Any]", value)
            checks += [
                f"type({path}) is {self._keep(type(parts))}",
                f"len({path}) == {len(parts)}",
            ]
            for at, part in enumerate(parts):
                self._check(f"{path}[{at}]", part, checks, arrays)
        elif isinstance(value, bool) or value is None:
            checks.append(f"{path} is {value}")
        elif isinstance(value, int | float | complex | np.generic):
            checks.append(f"type({path}) is {self._keep(type(cast('Any', value)))}")
        elif isinstance(value, str):
            checks.append(f"{path} == {value!r}")
        elif has_own_attributes(value):
            checks.append(f"type({path}) is {self._keep(type(value))}")
        else:
            checks.append(f"{path} is {self._keep(value)}")

    def _size_checks(self, arrays: Sequence[tuple[str, Any]]) -> list[str]:
        """Return the conditions on extents: which are 0 or 1, and which are equal."""
        found: list[str] = []
        by_extent: dict[int, str] = {}
        found += [f"{name} >= 2" for name in self._sizes.values()]
        for path, array in arrays:
            for axis, extent in enumerate(array.shape):
                own = f"{path}.shape[{axis}]"
                if extent <= 1:
                    found.append(f"{own} == {extent}")
                elif extent in by_extent:
                    found.append(f"{own} == {by_extent[extent]}")
                else:
                    by_extent[extent] = self._sizes.get(own, own)
        return found

    def _keep(self, value: Any) -> str:
        name = f"_pg_v{len(self._known)}"
        self._known[name] = value
        return name

    def _looks_at_subscripts(self) -> list[str]:
        """Return lines that leave calls to Python of which a subscript is outside."""
        lines: list[str] = []
        for name, extent in self._traced.nodes.index_guards:
            is_unsigned = self._traced.nodes.storages[name].dtype.kind == "u"
            end = affine_text(extent)
            least = "" if is_unsigned else f" or {name}.min() < -{end}"
            lines.append(f"    _pg_array_to_host({name})")
            lines.append(f"    if {name}.size and ({name}.max() >= {end}{least}): return _pg_PLAIN")
        return lines

    # --- what is passed

    def _renamed(self) -> list[str]:
        """Return lines that give integers the names that guards have for them."""
        return [
            f"    {one.name} = {one.path}"
            for one in self._traced.inputs
            if one.path not in self._sizes and one.name != one.path
        ]

    def _allocations(self, nodes: Nodes) -> list[str]:
        lines: list[str] = []
        for storage in nodes.storages.values():
            if storage.role != "made":
                continue
            shape = ", ".join([affine_text(form) for form in storage.shape])
            make = "zeros" if storage.zeros else "empty"
            # The host looks at numbers and counts of faults when the kernel is over.
            is_read = not storage.shape or storage.name in (nodes.fault, nodes.printed)
            make = f"_pg_numpy_{make}" if is_read else f"_pg_{make}"
            comma = "," if len(storage.shape) == 1 else ""
            dtype = self._keep(storage.dtype)
            lines.append(f"    {storage.name} = {make}(({shape}{comma}), {dtype})")
        return lines

    # --- results

    def _results(self) -> str:
        results = self._traced.results
        if self._traced.returns:
            return self._result(results["return"])
        parts = [f"{name!r}: {self._result(found)}" for name, found in results.items()]
        return f"{{{', '.join(parts)}}}"

    def _result(self, found: Result) -> str:
        if found.kind == "constant":
            return self._keep(found.value)
        if found.kind == "size":
            return affine_text(found.form)
        if found.kind == "scalar":
            return f"{found.name}.item()" if found.weak else f"{found.name}[()]"
        if found.kind in ("tuple", "list"):
            inner = ", ".join([self._result(part) for part in found.parts])
            if found.kind == "list":
                return f"[{inner}]"
            return f"({inner},)" if len(found.parts) == 1 else f"({inner})"
        text = found.path or found.name
        for step in found.recipe:
            text = self._step(text, step)
        return text

    def _step(self, text: str, step: tuple[Any, ...]) -> str:
        if step and step[0] == "transpose":
            return f"{text}.transpose({step[1]})"
        if step and step[0] == "attribute":
            return f"{text}.{step[1]}"
        if step and step[0] == "flip":
            return f"_pg_flip({text}, {step[1]})"
        if step and step[0] == "reshape":
            shape = ", ".join(map(affine_text, step[1]))
            return f"{text}.reshape(({shape}{',' * (len(step[1]) == 1)}))"
        if step and step[0] == "expand":
            return f"_pg_expand_dims({text}, {step[1]})"
        return f"{text}[{', '.join(map(_subscript_text, step))},]"


def _subscript_text(part: Any) -> str:
    if part is None:
        return "None"
    if isinstance(part, Affine):
        return affine_text(part)
    start, stop, step = part
    if isinstance(step, Affine):
        end = f"(None if {affine_text(stop)} < 0 else {affine_text(stop)})"
        return f"{affine_text(start)}:{end}:{affine_text(step)}"
    if step < 0:
        # A stop of -1 means before the first element here.
        stop_text = f"(None if {affine_text(stop)} < 0 else {affine_text(stop)})"
        return f"{affine_text(start)}:{stop_text}:{step}"
    return f"{affine_text(start)}:{affine_text(stop)}:{step}"
