"""Variables are what the kernel says, have room for what they hold, and keep it long enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from polygen.analysis.access.accesses import references, touched
from polygen.analysis.access.parts_of_blocks import AXIS
from polygen.analysis.pairs.instance_pairs import users
from polygen.analysis.pairs.iteration_local import apart, passes_nothing
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import same_kind
from polygen.errors import WrongStorage
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.layout import Vector
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag
from polygen.lower.program import Declare, Launch, Loop
from polygen.validation.faults import fault
from polygen.validation.frames import SEQUENTIAL, Frame, Role, Storage
from polygen.validation.polynomial import number
from polygen.validation.view import View
from polygen.validation.works import Works


def check_storage(view: View, works: Works) -> None:
    """Check the variables of a program.

    Raises:
        WrongStorage: if one is not what the kernel says, too small, or loses its value.
    """
    _Storages(view, works).run()


class _Storages:
    def __init__(self, view: View, works: Works) -> None:
        self._view = view
        self._works = works
        self._kernel = view.kernel
        self._temporaries = {t.name: t for t in view.kernel.temporaries}
        self._temporaries.update(works.accumulators)
        self._launch_of: dict[str, Frame] = {}

    def run(self) -> None:
        self._check_program()
        for launch in self._view.frames:
            if launch.role is Role.LAUNCH:
                self._check_launch(launch)

    def _refuse(self, name: str, why: str) -> WrongStorage:
        writers = self._kernel.writers.get(name, ())
        return fault(WrongStorage, self._kernel, f"'{name}' {why}", *writers[:1])

    def _check_program(self) -> None:
        program = self._view.program
        tables = tuple(t for t in self._kernel.temporaries if t.read_only)
        shared = tuple(
            t
            for t in self._kernel.temporaries
            if self._kernel.address_space(t.name) is AddressSpace.GLOBAL and t not in tables
        )
        pairs = (
            (program.arguments, self._kernel.arguments),
            (program.global_temporaries, shared),
            (program.tables, tables),
        )
        for found, wanted in pairs:
            if found != wanted:
                differing = {v.name for v in wanted if v not in found}
                differing |= {v.name for v in found if v not in wanted}
                raise self._refuse(
                    min(differing, default=self._kernel.name), "is not declared as in the kernel"
                )
        for name, kind in kinds(self._kernel).items():
            if not same_kind(program.dtypes.get(name), kind):
                raise self._refuse(name, "has another type than in the kernel")

    def _check_launch(self, launch: Frame) -> None:
        node = launch.node
        assert isinstance(node, Launch)
        for argument in node.arguments:
            known = self._kernel.variables.get(argument.name)
            if isinstance(known, TemporaryVariable):
                known = known.as_argument()
            if known is not None and known != argument:
                raise self._refuse(argument.name, "is passed as something else than it is")
        groups = _groups(launch)
        for storage in _storages(launch):
            self._check_storage(storage, launch)
            if not groups <= storage.frame.axes.keys():
                raise self._refuse(storage.node.name, "is shared by groups that run at once")
            self._check_lifetime(storage)

    def _check_storage(self, storage: Storage, launch: Frame) -> None:
        node = storage.node
        temporary = self._temporaries.get(node.name)
        if temporary is None:
            raise self._refuse(node.name, "is declared, and the kernel has no such variable")
        if node.name in self._launch_of:
            several = self._launch_of[node.name] is not launch
            where = "in two launches, and each" if several else "twice, and each place"
            raise self._refuse(node.name, f"is declared {where} has its own")
        self._launch_of[node.name] = launch
        if node.dtype != temporary.dtype or node.address_space is not temporary.address_space:
            raise self._refuse(node.name, "is of another type, or in another address space")
        if node.address_space is AddressSpace.LOCAL and any(
            frame.role is Role.ITEM and isinstance(frame.node, Loop)
            for frame in storage.frame.outwards()
        ):
            raise self._refuse(node.name, "is shared by a group, and each item has its own")
        extent, temporary = self._extent(node, temporary)
        if self._view.terms(storage.frame).is_expanded(storage):
            items = 1
            for count in self._view.items(launch).values():
                items *= count
            extent = (extent or 1) * items
        self._check_elements(node, temporary)
        self._check_parts(node, temporary, launch)
        if node.extent != extent:
            raise self._refuse(
                node.name, f"is declared with {node.extent} elements, and needs {extent}"
            )

    def _check_parts(self, node: Declare, temporary: TemporaryVariable, launch: Frame) -> None:
        """Check that no two work items that differ along ``l.2`` use the same part."""
        if node.parts is None:
            return
        assert isinstance(launch.node, Launch)
        axes = [a for a in launch.node.axes if a.tag == LocalTag(AXIS)]
        blocks = {ex.Variable(iname) for a in axes for iname, first in a.inames if first == 0}
        uses = [u for w in self._works.all for u in references(w.insn) if u.name == node.name]
        if node.parts != temporary.shape[0] or not all(
            use.index and use.index[0] in blocks for use in uses
        ):
            raise self._refuse(node.name, "has parts that several blocks use")

    def _extent(
        self, node: Declare, temporary: TemporaryVariable
    ) -> tuple[int | None, TemporaryVariable]:
        """Return how many elements a variable has, and how it should be declared."""
        if temporary.shape:
            return number(self._view.layouts.count(node.name)), temporary
        lanes = self._lanes(node.name)
        if not lanes:
            return None, temporary
        extent = prod(lanes)  # of the accumulators of lanes, which may be components of vectors
        if node.vector is None or node.vector != lanes[-1]:
            return extent, temporary
        vectors = replace(temporary, shape=(node.vector,), dim_tags=(Vector(),))
        return extent // node.vector, vectors

    def _lanes(self, name: str) -> list[int]:
        """Return how many lanes of each iname have an accumulator."""
        if name not in self._works.accumulators:
            return []
        inames = next(w.insn.within_inames for w in self._works.all if name in w.insn.written_names)
        return [len(values) for values in self._view.layouts.lanes(inames).values()]

    def _check_elements(self, node: Declare, temporary: TemporaryVariable) -> None:
        tags = temporary.dim_tags or ()
        vectors = [e for e, tag in zip(temporary.shape, tags, strict=False) if tag == Vector()]
        if node.vector != (vectors[0] if vectors else None):
            raise self._refuse(node.name, "has elements of another number of components")
        if node.alignment != temporary.alignment:
            raise self._refuse(node.name, "has another alignment")

    def _check_lifetime(self, storage: Storage) -> None:
        """Check that what is written is still there where it is read.

        A variable that is declared in a loop starts anew in each iteration.
        """
        node = storage.node
        loops = frozenset(
            frame.name
            for frame in storage.frame.outwards()
            if frame.role in SEQUENTIAL and frame.name is not None
        )
        if not loops or node.initial is not None:
            return
        if node.name in self._works.accumulators:
            starts = [w for w in self._works.all if node.name in w.insn.written_names]
            if all(loops <= work.insn.within_inames for work in starts):
                return
        elif self._is_apart(node.name, loops) and passes_nothing(self._kernel, node.name, loops):
            return
        raise self._refuse(
            node.name,
            f"is declared in the loop of '{min(loops)}', and may have to keep its value longer",
        )

    def _is_apart(self, name: str, loops: frozenset[str]) -> bool:
        """Tell whether iterations of loops do not mix in any copy of a variable.

        A loop over which reductions run that read it has an iteration for each of their points.
        """
        rest = loops - apart(self._kernel, name, loops)
        for insn in users(self._kernel, name) if rest else ():
            for access in touched(self._kernel, insn)[name]:
                around = self._kernel.instruction(insn).within_inames
                if not rest <= (around if access.is_write else access.inames):
                    return False
        return True


def _groups(launch: Frame) -> frozenset[HardwareTag]:
    """Return the axes along which groups of a launch run at once."""
    return frozenset(
        tag
        for frame in launch.inside()
        if frame.role is Role.GROUP
        for tag in frame.axes
        if isinstance(tag, GroupTag)
    )


def _storages(launch: Frame) -> Iterator[Storage]:
    """Yield the variables that a launch declares; some twice, if they are declared twice."""
    for frame in launch.inside():
        for meaning in frame.bound.values():
            if isinstance(meaning, Storage):
                yield meaning
