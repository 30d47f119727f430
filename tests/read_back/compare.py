"""Whether the text of a program says what its loop program says."""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from polygen.ir import expression as ex
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.parts import parts
from polygen.ir.tags import GroupTag
from polygen.lower.program import Call, Declare, HostLoop, If, Launch, Loop, LoopProgram, Shuffle, Verbatim
from polygen.targets.program import DeviceFunction, Program
from tests.read_back import lanes, values
from tests.read_back.program import Translator, launches_in, number_text
from tests.read_back.text import Expected, Parameter, Reader
from tests.read_back.tokens import NotRead, WrongText, function_text
from tests.read_back.values import Enough, NotSaid, Run

_Function: TypeAlias = Callable[[Run], Any]
_NAMES = {name: value for name, value in vars(values).items() if not name.startswith("_")}
_ITERATIONS = 300
_ROUNDS = 3
_SIZES = ((1, 12), (0, 4), (13, 40))


class Differs(AssertionError):
    """The text does something else than the loop program."""


def check(made: Program) -> str:
    """Compare a program with its text; return what hindered that, or nothing.

    Raises:
        Differs: if the text means something else.
    """
    program = made.loop_program
    try:
        if made.target.blocks_along is not None:
            raise NotRead("clusters")
        source = _with_marks(made.source, program)
        for function in program.functions:
            _Pair(made, function, None, function.name, source).check()
        if made.target.runs_host:
            _Pair(made, program, None, program.name, source).check()
        else:
            launches = list(launches_in(program.host))
            for launch, device in zip(launches, made.launches, strict=True):
                _Pair(made, program, (launch, device), launch.name, source).check()
    except NotRead as error:
        return str(error)
    except (WrongText, Differs) as error:
        raise Differs(f"{error}\n{made.source}\n{program}") from error
    return ""


_KINDS = {"u": "i", "V": "h"}


def _kind(variable: Any) -> str:
    kind: str = variable.dtype.kind
    return _KINDS.get(kind, kind)


def _passed(arguments: Iterable[Argument]) -> dict[str, Parameter]:
    each = (parts(a) if isinstance(a, GlobalArg) else (a,) for a in arguments)
    return {a.name: Parameter(_kind(a), not isinstance(a, ValueArg)) for some in each for a in some}


def _nodes(block: Iterable[Any]) -> Iterable[Any]:
    for node in block:
        yield node
        if isinstance(node, Loop | If | HostLoop | Launch):
            yield from _nodes(node.body)


def _bytes(node: Declare) -> int:
    # Numbers of 16 bits are computed with as float; vectors of three take the place of four.
    size = max(node.dtype.itemsize, 4) if node.dtype.kind in "fV" else node.dtype.itemsize
    return size * (node.extent or 1) * (4 if node.vector == 3 else node.vector or 1)


def _is_complex(variable: Any) -> bool:
    dtype = getattr(variable, "dtype", None)
    return dtype is not None and dtype.kind == "c"


def _verbatim_in(program: LoopProgram) -> list[Verbatim]:
    programs = (program, *program.functions)
    found = [n for p in programs for n in _nodes(p.host) if isinstance(n, Verbatim)]
    return list({node.code.strip(): node for node in found}.values())


def _with_marks(source: str, program: LoopProgram) -> str:
    """Return a source with calls in the place of C of the user's."""
    for number, node in enumerate(_verbatim_in(program)):
        first, *others = textwrap.dedent(node.code).strip("\n").split("\n")
        rest = "".join(rf"\n(?:\1)?{re.escape(line)}" for line in others)
        given = ", ".join(map(str, (number, *(name for name, _ in node.names))))
        mark = rf"\n\1pg_verbatim({given});\n"
        source, count = re.subn(rf"\n( *){re.escape(first)}{rest}\n", mark, source)
        if not count:
            raise WrongText(f"there is no {node.code!r}")
    return source


class _Pair:
    """A function of the text, and what it is printed from.

    Parameters:
        made: the program.
        program: its loop program, or that of a function that it calls.
        of: the launch that the function is for, with what the host knows of it, if it is for one.
        name: the function's name.
        source: the text.
    """

    def __init__(
        self,
        made: Program,
        program: LoopProgram,
        of: tuple[Launch, DeviceFunction] | None,
        name: str,
        source: str,
    ) -> None:
        self.program, self.of, self.name, self.source = program, of, name, source
        self.made = made
        temporaries = [t.as_argument() for t in program.global_temporaries]
        self.arguments = of[0].arguments if of else (*program.arguments, *temporaries)
        every = (*program.arguments, *self.arguments)
        self.scalars = {a.name: _kind(a) for a in every if isinstance(a, ValueArg)}
        self.nodes = list(_nodes([of[0]] if of else program.host))
        self.checks_spaces = made.target.name != "cuda"

    def check(self) -> None:
        """Compare the two.

        Raises:
            Differs: if the text means something else.
            WrongText: if it cannot mean what the program does.
            NotRead: if the reader does not know what it means.
        """
        wanted, sizes = self._of_program()
        text, reader = self._of_text()
        shuffler = random.Random(self.name)
        for low, high in _SIZES:
            self._round(text, wanted, sizes, reader, shuffler, (low, high))

    # --- translations

    def _of_text(self) -> tuple[_Function, Reader]:
        program, loops = self.program, [n for n in self.nodes if isinstance(n, Loop)]
        apart = not any(isinstance(a, GlobalArg) and a.may_alias for a in self.arguments)
        own = {t.name for t in program.global_temporaries}
        arrays = {a.name for a in self.arguments if isinstance(a, GlobalArg)}
        expected = Expected(
            arguments=_passed(self.arguments),
            grid=self.of is not None,
            verbatim=[(n.code.strip(), n.writes) for n in _verbatim_in(self.made.loop_program)],
            functions={n.function: n.writes for n in self.nodes if isinstance(n, Call)},
            in_parallel=program is not self.made.loop_program,
            parallel={n.iname: n.parallel for n in loops},
            alignments={a.name: a.alignment for a in self.arguments if isinstance(a, GlobalArg)},
            declared={n.name: _kind(n) for n in self.nodes if isinstance(n, Declare | Shuffle)},
            complexes=any(_is_complex(n) for n in (*self.nodes, *self.arguments)),
            overlapping=frozenset() if apart else frozenset(arrays - own),
        )
        reader = Reader(function_text(self.source, self.name), expected)
        self._check_loops(reader, loops)
        if self.of is not None:
            self._check_group_size(reader)
        names = {**_NAMES, **lanes.NAMES} if reader.has_vectors else _NAMES
        return _compiled("text", reader.lines, names), reader

    def _check_loops(self, reader: Reader, loops: Sequence[Loop]) -> None:
        kept = {n.iname for n in loops if not n.at_once}
        kept |= {n.iname for n in self.nodes if isinstance(n, HostLoop)}
        if reader.loops != kept:
            raise WrongText(f"loops over {sorted(reader.loops)}, not {sorted(kept)}")
        unrolled = {n.iname for n in loops if n.unroll}
        if reader.unrolled != unrolled:
            raise WrongText(f"unrolled: {sorted(reader.unrolled)}, not {sorted(unrolled)}")

    def _check_pool(self, reader: Reader, end: int) -> None:
        """Check that the variables in a group's memory have their places."""
        sizes = {n.name: _bytes(n) for n in self.nodes if isinstance(n, Declare)}
        places = sorted((place, name) for name, place in reader.pool.items())
        ends = [*(place for place, _ in places[1:]), end]
        for (place, name), following in zip(places, ends, strict=False):
            if place + sizes[name] > following or place % 16:
                raise WrongText(f"'{name}' does not fit between {place} and {following}")

    def _check_group_size(self, reader: Reader) -> None:
        assert self.of is not None
        launch, device = self.of
        items = {a.tag.axis: a.size for a in launch.axes if not isinstance(a.tag, GroupTag)}
        size = [items.get(axis, 1) for axis in range(3)]
        head = self.source[: self.source.index(f"{launch.name}(")].rstrip().rsplit("\n", 1)[-1]
        bounds = f"reqd_work_group_size({', '.join(map(str, size))})"
        if self.made.target.name == "cuda":
            bounds = f"__launch_bounds__({prod(size)}"  # type: ignore[arg-type]
        self._check_pool(reader, device.shared_bytes)
        if bounds not in head or [*device.local_size] + [1] * (3 - len(device.local_size)) != size:
            raise WrongText(f"groups of {size}, not {device.local_size} and {head}")

    def _of_program(self) -> tuple[_Function, _Function]:
        waits = self.made.target.copies is not None
        made = Translator(self.program, grid=self.of is not None, waits=waits)
        grid = Translator(self.program, grid=False)
        passed = {v.name: v for v in self.arguments}
        for table in self.program.tables:
            elements = table.initializer
            assert elements is not None
            texts = ", ".join(map(number_text, elements.ravel()))
            given = table.name, elements.dtype.kind, f"[{texts}]"
            made.add("v_{0} = run.table({0!r}, {1!r}, {2})".format(*given))
        for name in self.scalars:
            grid.add(f"v_{name} = run.sizes[{name!r}]")
            made.add(f"v_{name} = run.sizes[{name!r}]")
        for name, argument in passed.items():
            if isinstance(argument, ValueArg):
                continue
            for each in parts(argument) if isinstance(argument, GlobalArg) else (argument,):
                made.add(f"v_{each.name} = run.array({each.name!r}, {_kind(each)!r})")
            for extent in argument.shape or ():
                if isinstance(extent, ex.Sum):
                    made.add(f"not_negative({made.expr(extent)})")
        if self.of is None:
            made.host(self.program.host)
            return _compiled("program", made.lines), _compiled("grid", ["  return {}"])
        launch, device = self.of
        counts = [grid.expr(count) for count in device.group_counts]
        entries = ", ".join(
            f"({'g' if isinstance(a.tag, GroupTag) else 'l'!r}, {a.tag.axis}): {grid.expr(a.size)}"
            for a in launch.axes
        )
        grid.add(f"return {{{entries}}}, [{', '.join(counts)}]")
        for axis in launch.axes:
            letter = "g" if isinstance(axis.tag, GroupTag) else "l"
            for iname, first in axis.inames:
                value = f"run.sizes[{letter!r}, {axis.tag.axis}] + {made.expr(first)}"
                if iname in self.program.nonnegative:
                    value = f"not_negative({value})"
                made.add(f"v_{iname} = {value}")
        made.block(launch.body)
        return _compiled("program", made.lines), _compiled("grid", grid.lines)

    # --- runs

    def _round(
        self,
        text: _Function,
        wanted: _Function,
        grid: _Function,
        reader: Reader,
        shuffler: random.Random,
        between: tuple[int, int],
    ) -> None:
        """Run both for sizes that fit what the program promises."""
        for _ in range(3):
            sizes = self._sizes(shuffler, between)
            try:
                for item in self._items(sizes, grid, shuffler):
                    self._compare(text, wanted, reader, sizes | item)
            except NotSaid:
                continue
            return

    def _sizes(self, shuffler: random.Random, between: tuple[int, int]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for name, kind in self.scalars.items():
            if kind == "f":
                found[name] = shuffler.uniform(0.5, 3)
            elif kind == "c":
                found[name] = complex(shuffler.uniform(0.5, 3), shuffler.uniform(0.5, 3))
            elif kind == "b":
                found[name] = shuffler.random() < 0.5
            else:
                found[name] = shuffler.randint(*between)
                if name not in self.program.nonnegative and shuffler.random() < 0.3:
                    found[name] *= -1
        return found

    def _items(
        self, sizes: Mapping[Any, Any], grid: _Function, shuffler: random.Random
    ) -> list[dict[Any, int]]:
        """Return the places of some work items in the grid."""
        if self.of is None:
            return [{}]
        extents, counts = grid(Run(dict(sizes), 0))
        groups = [extents.get(("g", axis), 1) for axis in range(len(counts))]
        if counts != groups:
            raise Differs(f"'{self.name}' has {counts} groups, not {groups}")
        if any(extent <= 0 for extent in extents.values()):
            return []
        every = {(letter, axis): 0 for letter in "lg" for axis in range(3)}
        first, last = every, every | {at: extent - 1 for at, extent in extents.items()}
        other = every | {at: shuffler.randrange(extent) for at, extent in extents.items()}
        return [first, last, other] if first != last else [first]

    def _compare(
        self, text: _Function, wanted: _Function, reader: Reader, sizes: dict[Any, Any]
    ) -> None:
        others = Run(dict(sizes), _ITERATIONS)
        expected, ended = _trace(wanted, others, blames_text=False)
        run = Run(dict(sizes), _ITERATIONS)
        found, all_of_it = _trace(text, run, blames_text=True)
        count = min(len(expected), len(found))
        if ended and all_of_it and len(expected) != len(found):
            raise Differs(f"'{self.name}' writes {len(found)} times, not {len(expected)}: {sizes}")
        for ours, theirs in zip(found[:count], expected[:count], strict=True):
            if not self._same(ours, theirs):
                raise Differs(f"'{self.name}' does {ours}, not {theirs}: {sizes}")
        for table in self.program.tables:
            ours, theirs = run.shared.get(table.name), others.shared[table.name]
            if ours is not None and not _equal([*ours.values()], [*theirs.values()]):
                raise Differs(f"the table '{table.name}' has other elements")
        if reader.unordered and ended and all_of_it:
            self._compare_backwards(text, wanted, run, others)

    def _compare_backwards(
        self, text: _Function, wanted: _Function, run: Run, others: Run
    ) -> None:
        """Check that it makes no difference which iteration of a loop on threads comes first.

        If it does in the loop program, too, data decides: where subscripts are read.
        """
        again = Run(dict(run.sizes), _ITERATIONS, backwards=True)
        _trace(wanted, again, blames_text=False)
        if any(not _same_elements(again.shared[n], m) for n, m in others.shared.items()):
            return
        other = Run(dict(run.sizes), _ITERATIONS, backwards=True)
        _trace(text, other, blames_text=True)
        for name, memory in run.shared.items():
            if not _same_elements(other.shared[name], memory):
                raise Differs(f"'{self.name}': '{name}' depends on an order: {run.sizes}")

    def _same(self, found: Sequence[Any], expected: Sequence[Any]) -> bool:
        if len(found) != len(expected) or found[0] != expected[0]:
            return False
        if found[0] == "barrier":
            return not self.checks_spaces or (found[1] or "l") == (expected[1] or "l")
        if found[0] in ("verbatim", "call", "wait"):
            return all(map(_equal, found[1:], expected[1:]))
        (_, key, value, how), (_, other_key, other_value, other_how) = found, expected
        return key == other_key and _equal(value, other_value) and how in ("s", other_how)


def _compiled(name: str, lines: Sequence[str], names: Mapping[str, Any] = _NAMES) -> _Function:
    source = "\n".join(["def run_it(run):", *(lines or [" pass"])])
    space: dict[str, Any] = dict(names)
    exec(compile(source, name, "exec"), space)  # noqa: S102  (what it is for)
    found: _Function = space["run_it"]
    return found


def _trace(function: _Function, run: Run, *, blames_text: bool) -> tuple[list[Any], bool]:
    """Return what a run did, and whether that is all."""
    try:
        function(run)
    except Enough:
        return run.trace, False
    except (ArithmeticError, TypeError, ValueError, UnboundLocalError) as error:
        if blames_text:
            raise Differs(f"the text cannot be executed: {error}") from error
        raise NotSaid from error
    return run.trace, True


def _same_elements(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    return a.keys() == b.keys() and all(_equal(a[key], value) for key, value in b.items())


def _equal(a: Any, b: Any) -> bool:
    if a == b:
        return True
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, str) or isinstance(b, str) or a is None or b is None:
        return False
    if a != a and b != b:
        return True
    try:
        return bool(abs(a - b) <= 1e-5 * max(1, abs(a), abs(b)))
    except OverflowError:
        return False

