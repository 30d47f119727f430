"""Relations between instances of two instructions, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polygen.ir.domain import Domain, rename_dimension, unflatten

MARK = "__after"  # marks inames of the second instance, for isl reads i' as i


@dataclass(frozen=True)
class InstanceRelation:
    """Pairs of instances of two instructions, of which the first comes before the second.

    Attributes:
        first: the id of the instruction whose instances come first.
        domain: the pairs: the inames of the first instance, then those of the second, marked.
    """

    first: str
    domain: Domain

    @property
    def inames(self) -> tuple[str, ...]:
        """The inames of the first instance."""
        return tuple([i for i in self.domain.inames if not i.endswith(MARK)])

    @property
    def later_inames(self) -> tuple[str, ...]:
        """The inames of the second instance."""
        marked = self.domain.inames[len(self.inames) :]
        return tuple([i.removesuffix(MARK) for i in marked])

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names that it mentions besides inames."""
        return self.domain.parameters

    def __str__(self) -> str:
        count = len(self.inames)
        pairs = isl.Map.from_range(self.domain.set)
        pairs = pairs.move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, count)
        text = str(pairs)
        return text[text.index("{") :].replace(MARK, "'")

    def flat(self, mark: str) -> isl.Set:
        """Return the pairs as a flat set, with `mark` behind the inames of the second instance."""
        found: isl.Set = self.domain.flat
        for iname in self.later_inames:
            found = rename_dimension(found, iname + MARK, iname + mark)
        return found


def make_relation(
    first: str, flat: isl.Set, inames: Sequence[str], later: Sequence[str]
) -> InstanceRelation:
    """Return a relation from a flat set of pairs.

    Parameters:
        first: the id of the instruction whose instances come first.
        flat: with `MARK` behind the inames of the second instance.
        inames: those of the first instance.
        later: those of the second.
    """
    isl_set = unflatten(flat, [*inames, *(i + MARK for i in later)])
    return InstanceRelation(first, Domain(isl_set.drop_unused_params()))


def widened(relation: InstanceRelation, added: Iterable[str]) -> InstanceRelation:
    """Return a relation whose second instances are within more inames, whatever these are."""
    later = (*relation.later_inames, *sorted(added))
    return make_relation(relation.first, relation.domain.flat, relation.inames, later)
