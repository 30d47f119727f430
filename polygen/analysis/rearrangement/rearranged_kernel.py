"""A kernel before and after its loops were rearranged."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.instance_map import InstanceMap
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import in_other
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.constant_distances import are_digits, open_terms
from polygen.analysis.pairs.instance_pairs import equal, renamed, users
from polygen.analysis.pairs.iteration_local import apart, common_inames, passes_nothing
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.empty import new_dict
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Rearrangement:
    """A kernel before and after, and which old instance each new one computes.

    Both have the same instructions.
    """

    old: Kernel
    new: Kernel
    map: InstanceMap
    _frames: dict[str, frozenset[str]] = field(default_factory=new_dict, compare=False)

    def form(self, insns: tuple[str, str], iname: str) -> LinearForm | None:
        """Return what an old iname is in terms of the new ones; None if it differs for the two."""
        first, second = (self.map.value(insn, iname) for insn in insns)
        return linear_form(first) if first == second else None

    def compared(self, insns: tuple[str, str], iname: str, operator: str) -> isl.Set:
        """Return the pairs of which the old values of an iname compare like this."""
        first, second = (self.map.value(insn, iname) for insn in insns)
        condition = condition_set(ex.Comparison(first, operator, in_other(self.new, second)))
        if condition is None:
            raise InternalError(f"the old value of '{iname}' is not affine: {first!r}, {second!r}")
        return condition

    def frame(self, name: str) -> frozenset[str]:
        """Return new inames that pairs have to agree in, for their order to matter.

        A temporary that passes nothing between iterations of these, neither before nor after, is
        only touched by instances of other iterations in between by chance.
        """
        if name not in self._frames:
            self._frames[name] = self._find_frame(name)
        return self._frames[name]

    def _find_frame(self, name: str) -> frozenset[str]:
        if not isinstance(self.new.variables[name], TemporaryVariable):
            return frozenset()
        now = apart(self.new, name, common_inames(self.new, name))
        while now:
            before = apart(self.old, name, self._old_names(name, now))
            if (
                self._is_finer(name, before, now)
                and passes_nothing(self.new, name, now)
                and passes_nothing(self.old, name, before)
            ):
                return now
            loops = [i for i in order_of(self.new).loops(users(self.new, name)[0]) if i in now]
            if not loops:
                break
            now -= {loops[-1]}
        return frozenset()

    def _old_names(self, name: str, inames: frozenset[str]) -> frozenset[str]:
        """Return the old inames that instances have in common which agree in these new ones.

        What such an iname is must be the same for all instructions.
        """
        found: set[str] = set()
        for iname in common_inames(self.old, name):
            first, *others = (self.map.value(insn, iname) for insn in users(self.old, name))
            names = walk.free_variables(first).intersection(self.new.inames)
            if all(value == first for value in others) and names <= inames:
                found.add(iname)
        return frozenset(found)

    def _is_finer(self, name: str, before: frozenset[str], now: frozenset[str]) -> bool:
        """Tell whether instances in one old iteration are in one new one, too.

        The old inames are such as `_old_names` returns.
        """
        user = users(self.old, name)[0]
        if not self.map.moves(user, before):
            return before >= now
        if now <= self._decided((user, user), before):
            return True
        inames = now.union(*(walk.free_variables(self.map.value(user, i)) for i in before))
        domain = domain_of(self.new, inames.intersection(self.new.home_domains))
        pairs = domain.intersect(renamed(domain, self.new.inames))
        agree = (self.compared((user, user), i, "==") for i in sorted(before))
        pairs = reduce(isl.Set.intersect, agree, pairs)
        same = reduce(isl.Set.intersect, (equal(i) for i in sorted(now)))
        return bool(pairs.is_subset(same))

    def _decided(self, insns: tuple[str, str], before: frozenset[str]) -> frozenset[str]:
        """Return new inames that old ones decide, as far as their digits show it."""
        found: set[str] = set()
        forms = [f for f in (self.form(insns, i) for i in before) if f is not None]
        while True:
            count = len(found)
            for form in forms:
                digits = open_terms(self.new, form, found)
                if are_digits(self.new, form, digits):
                    found.update(map(str, digits))
            if len(found) == count:
                return frozenset(found)
