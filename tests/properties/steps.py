"""Random sequences of transformations that are legal by construction."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import polygen as pg
from polygen.errors import NestingNotPossible, NothingMatches
from polygen.ir.kernel import Kernel
from tests.properties.generator import Case


class Steps:
    """Transforms a kernel at random, and keeps track of what may be done to its inames.

    Parameters:
        case: the kernel.
        kernel: the same kernel, with marks perhaps.
        sizes: the parameters' values, which may be fixed and of which facts may be assumed.
        shuffler: makes the choices.
    """

    def __init__(
        self, case: Case, kernel: Kernel, sizes: Mapping[str, int], shuffler: random.Random
    ) -> None:
        self.kernel = kernel
        self._random = shuffler
        self._sizes = dict(sizes)
        self._serial = set(case.serial)
        self._ordered = set(case.ordered)
        self._sequential = set(case.reduced) | set(case.by_data)
        self._constant: set[str] = set()

    def take(self, count: int) -> Kernel:
        """Apply up to `count` steps and return what they lead to."""
        kinds: list[Callable[[], None]] = [
            self._split,
            self._split,
            self._grid,
            self._grid,
            self._groups,
            self._unroll,
            self._prioritize,
            self._rename,
            self._know,
            self._shift,
            self._reverse,
            self._untag,
            self._interchange,
            self._rule,
        ]
        for _ in range(count):
            self._random.choice(kinds)()
        return self.kernel

    def _pick(self, allowed: Callable[[str], bool]) -> str | None:
        found = [i for i in self.kernel.inames if i not in self.kernel.tags and allowed(i)]
        return self._random.choice(found) if found else None

    def _may_be_parallel(self, iname: str) -> bool:
        return iname not in self._serial and iname not in self._sequential

    def _split(self) -> None:
        iname = self._pick(lambda _: True)
        if iname is None or len(self.kernel.inames) > 8:
            return
        self.kernel = pg.split_iname(self.kernel, iname, self._random.choice((1, 2, 3, 4, 7)))
        self._divided(iname)

    def _divided(self, iname: str) -> None:
        outer, inner = f"{iname}_outer", f"{iname}_inner"
        self._constant.add(inner)
        upward = iname in self._serial or iname in self._ordered
        for kind in (self._serial, self._sequential):
            if iname in kind:
                kind.update((outer, inner))
        if upward:
            # What is ordered as a whole is not, part by part.
            self._serial.update((outer, inner))
            self.kernel = pg.prioritize_loops(self.kernel, (outer, inner))

    def _grid(self) -> None:
        """Map an iname to groups and work items."""
        iname = self._pick(lambda i: self._may_be_parallel(i) and not self._is_part(i))
        axis = self._free_axis(iname)
        if iname is None or axis is None:
            return
        length = self._random.choice((2, 3, 4))
        tags: Any = {"outer_tag": f"g.{axis}", "inner_tag": f"l.{axis}"}
        self.kernel = pg.split_iname(self.kernel, iname, length, **tags)

    def _is_part(self, iname: str) -> bool:
        return "_" in iname

    def _groups(self) -> None:
        """Map an iname to an axis as it is."""
        iname = self._pick(self._may_be_parallel)
        axis = self._free_axis(iname)
        if iname is None or axis is None:
            return
        local = iname in self._constant and self._random.random() < 0.5
        self.kernel = pg.tag_inames(self.kernel, {iname: f"{'l' if local else 'g'}.{axis}"})

    def _free_axis(self, iname: str | None) -> int | None:
        """Return an axis that no instruction with this iname is on."""
        taken: set[str] = set()
        for insn in self.kernel.instructions:
            around = insn.within_inames | insn.reduction_inames
            if iname in around:
                taken.update(str(t)[-1] for i, t in self.kernel.tags.items() if i in around)
        free = [axis for axis in range(3) if str(axis) not in taken]
        return self._random.choice(free[:2]) if free else None

    def _unroll(self) -> None:
        iname = self._pick(lambda i: i in self._constant)
        if iname is not None:
            self.kernel = pg.tag_inames(self.kernel, {iname: "unr"})

    def _prioritize(self) -> None:
        """Ask for a random nesting, which keeps what has to run upward so."""
        order = list(self.kernel.inames)
        self._random.shuffle(order)
        for earlier in self.kernel.priorities:
            places = sorted(order.index(i) for i in earlier)
            for place, iname in zip(places, earlier, strict=True):
                order[place] = iname
        try:
            self.kernel = pg.prioritize_loops(self.kernel, order)
        except pg.UserError as error:
            if "contradicts" not in str(error):
                raise

    def _rename(self) -> None:
        iname = self._pick(lambda i: not self._is_part(i))
        if iname is None:
            return
        new = self.kernel.new_name(f"x{iname}")
        self.kernel = pg.rename_iname(self.kernel, iname, new)
        for kind in (self._serial, self._ordered, self._sequential, self._constant):
            if iname in kind:
                kind.add(new)

    def _know(self) -> None:
        """Fix a parameter, or assume what is true of it."""
        left = [n for n in self._sizes if n in self.kernel.parameters]
        if not left:
            return
        name = self._random.choice(left)
        value = self._sizes[name]
        if self._random.random() < 0.3:
            self.kernel = pg.fix_parameters(self.kernel, **{name: value})
            return
        facts = [f"{name} >= {value}", f"{name} <= {value + 2}", f"{name} mod 2 = {value % 2}"]
        facts += [f"{a} <= {b}" for a, b in product(left, left) if self._sizes[a] <= self._sizes[b]]
        self.kernel = pg.assume(self.kernel, self._random.choice(facts))

    def _shift(self) -> None:
        """Give the iterations of a loop other numbers."""
        iname = self._pick(lambda _: True)
        if iname is not None:
            sizes = [n for n in self._sizes if n in self.kernel.parameters]
            offsets: list[int | str] = [1, -3, *sizes]
            offset = self._random.choice(offsets)
            self.kernel = pg.shift(self.kernel, iname, offset)
            if isinstance(offset, str):
                self._constant.discard(iname)  # it can be neither unrolled nor on a local axis

    def _reverse(self) -> None:
        """Let a loop run downward that may run in any order."""
        iname = self._pick(lambda i: self._is_free(i) and i not in self._sequential)
        if iname is not None:
            self.kernel = pg.reverse(self.kernel, iname)

    def _is_free(self, iname: str) -> bool:
        """Tell whether the iterations of a loop may come in any order."""
        parts = {iname, iname.partition("_")[0]}
        return parts.isdisjoint(self._serial | self._ordered)

    def _untag(self) -> None:
        """Make a loop of an axis, or of copies."""
        tagged = sorted(i for i in self.kernel.tags if self._is_free(i))
        if tagged:
            self.kernel = pg.untag_inames(self.kernel, self._random.choice(tagged))

    def _interchange(self) -> None:
        """Exchange two loops that may be nested either way."""
        free = [i for i in self.kernel.inames if i not in self.kernel.tags and self._is_free(i)]
        if len(free) < 2 or self._serial or self._ordered:
            return
        with suppress(NestingNotPossible):
            self.kernel = pg.interchange(self.kernel, *self._random.sample(free, 2))

    def _rule(self) -> None:
        """Read an array through a rule, or expand all rules."""
        if self.kernel.substitutions:
            self.kernel = pg.remove_unused_inames(pg.expand_subst(self.kernel))
            return
        name = self.kernel.new_name("f")
        with suppress(NothingMatches):
            self.kernel = pg.extract_subst(self.kernel, name, "ia[x]", ["x"])
