"""What instructions read in a random kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tests.random_kernels.values import Value


@dataclass(frozen=True)
class Array:
    """An array that nothing writes."""

    name: str
    value: Value

    def at(self, index: str) -> Value:
        """Return an element."""
        return self.value.named(self.name + index)


@dataclass
class Source:
    """What an instruction wrote, for later ones to read.

    Attributes:
        name: the variable.
        value: what is known of its elements.
        inames: those that the writer is within, outermost first.
        order: those whose values tell elements apart, in the order of the subscripts.
        writers: ids of the instructions that write it.
        scalar: whether it has no subscripts.
        argument: whether it has values before it is written.
        bounds: whether it is a scalar that a loop may be bounded by.
        repeated: whether more loops are around it, so that it is written again and again.
        hidden: whether it may be read in its own nest.
        open: whether its nest goes on.
    """

    name: str
    value: Value
    inames: tuple[str, ...]
    order: tuple[str, ...]
    writers: frozenset[str]
    scalar: bool = False
    argument: bool = True
    bounds: bool = False
    repeated: bool = False
    hidden: bool = False
    open: bool = True

    @property
    def may_be_earlier(self) -> bool:
        """Whether an earlier iteration may be asked for."""
        return self.argument and not self.repeated

    def may_be_read(self, inames: tuple[str, ...]) -> bool:
        """Tell whether an instruction within these inames may read it."""
        if not self.value.fits:
            return False
        if not self.open:
            return self.argument
        return not self.hidden and set(self.inames) <= set(inames)

    def at(self, places: list[str]) -> str:
        """Return the element with these subscripts."""
        return self.name if self.scalar else f"{self.name}[{', '.join(places) or '1'}]"
