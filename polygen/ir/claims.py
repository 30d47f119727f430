"""Claims of users: facts about data, which no proof could find.

A kernel keeps them for good, and shows them where it is printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Injective:
    """Elements of an array with other subscripts have other values.

    Attributes:
        array: an array argument that the kernel does not write.
    """

    array: str

    def __str__(self) -> str:
        return f"assume_injective({self.array!r})"


@dataclass(frozen=True)
class Independent:
    """No instance of one instruction touches what an instance of the other does, one writing.

    If both are one instruction: no two of its instances do.

    Attributes:
        first: the id of an instruction.
        second: the id of an instruction.
    """

    first: str
    second: str

    def __str__(self) -> str:
        return f"assume_independent({self.first!r}, {self.second!r})"

    def is_about(self, first: str, second: str) -> bool:
        """Tell whether it is about these two instructions, in whatever order."""
        return (self.first, self.second) in ((first, second), (second, first))


# A text says that a step was taken without proof: which step, with which arguments.
Claim: TypeAlias = Injective | Independent | str

_INJECTIVE = re.compile(r"assume_injective\('(\w+)'\)")
_INDEPENDENT = re.compile(r"assume_independent\('(\w+)', '(\w+)'\)")


def read_claim(line: str) -> Claim:
    """Return the claim that is printed like this."""
    if match := _INJECTIVE.fullmatch(line):
        return Injective(match[1])
    if match := _INDEPENDENT.fullmatch(line):
        return Independent(match[1], match[2])
    return line
