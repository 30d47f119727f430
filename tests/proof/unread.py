"""Random kernels with writes that nothing reads: of temporaries, in whichever memory."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.kernel import Kernel
from polygen.runtime.claims.assumptions import CallData, check_assumptions

INAMES = "ijk"
SUBSCRIPTS = ("i", "j", "k", "i + j", "2*i + j", "3 - j", "i + 2*k", "0", "i // 2", "x[i]", "x[j]")
CONDITIONS = ("i == 0", "j < 2", "k == 1 and i > 0", "i == j", "x[k] > 1", "x[i] == 2")
TAGS = ("l.0", "l.1", "g.0", "g.1", "l.auto", "unr", "ilp")
SPACES = (AddressSpace.GLOBAL, AddressSpace.LOCAL, AddressSpace.AUTO, AddressSpace.PRIVATE)
EXTENT = 12


class Maker:
    """Makes a kernel, and steps on it; `choices` makes each choice."""

    def __init__(self, choices: random.Random) -> None:
        self._random = choices
        self.temporaries: list[TemporaryVariable] = []

    def kernel(self) -> Kernel:
        """Return a kernel without tags, whose instructions are in an order, or in none."""
        last = self._random.choice(("0<=k<2", "0<=k<3", "0<=k<=j", "i<=k<3"))
        lines: list[str] = []
        for number in range(self._random.randint(1, 3)):
            after = f"s{self._random.randrange(number)}" if number else ""
            options = [f"id=s{number}", f"dep=*{self._random.choice(('', after))}"]
            target = self._target()
            inames = set(INAMES).intersection(target) | set(
                self._random.sample(INAMES, self._random.randint(1, 3))
            )
            if self._random.random() < 0.3:
                condition = self._random.choice(CONDITIONS)
                inames |= set(INAMES).intersection(condition)
                options.append(f"if={condition}")
            options.append(f"inames={':'.join(sorted(inames))}")
            value = self._random.choice((*sorted(inames), "1", "a[0]"))
            lines.append(f"{target} = {value}  {{{', '.join(options)}}}")
        lines.append("out[i, j] = a[i] + j  {id=last, dep=*, inames=i:j}")
        data: list[Any] = [
            pg.GlobalArg("x", "int32", (EXTENT,)),
            pg.GlobalArg("a", "int32", (EXTENT,)),
            pg.GlobalArg("out", "int32", (EXTENT, EXTENT)),
        ]
        quiet = ("AmbiguousNesting", "PriorityIgnored")
        domain = f"{{ [i,j,k]: 0<=i<3 and 0<=j<4 and {last} }}"
        return pg.make_kernel(
            domain, "\n".join(lines), [*data, *self.temporaries], silenced_warnings=quiet
        )

    def _target(self) -> str:
        if not self.temporaries or self._random.random() < 0.7:
            space = self._random.choice(SPACES)
            rank = self._random.choice((0, 1, 1, 2))
            name = f"t{len(self.temporaries)}"
            self.temporaries.append(
                TemporaryVariable(name, "int32", shape=(EXTENT,) * rank, address_space=space)
            )
        chosen = self._random.choice(self.temporaries)
        index = [self._random.choice(SUBSCRIPTS) for _ in chosen.shape]
        return f"{chosen.name}[{', '.join(index)}]" if index else chosen.name

    def tags(self) -> dict[str, str]:
        """Return tags for some inames."""
        return {i: self._random.choice(TAGS) for i in INAMES if self._random.random() < 0.5}

    def step(self, kernel: Kernel) -> Kernel:
        """Take a step."""
        iname = self._random.choice(kernel.inames)
        kind = self._random.randrange(5)
        if kind == 0 and self.temporaries:
            name = self._random.choice(self.temporaries).name
            space = self._random.choice(("global", "local", "private"))
            return pg.set_temporary_address_space(kernel, name, space)
        if kind == 1:
            tags = [None, *TAGS]
            return pg.split_iname(
                kernel,
                iname,
                2,
                outer_tag=self._random.choice(tags),
                inner_tag=self._random.choice(tags),
            )
        if kind == 2:
            return pg.reverse(kernel, iname)
        if kind == 3:
            return pg.untag_inames(kernel, iname)
        return pg.tag_inames(kernel, {iname: self._random.choice(TAGS)})


def arguments(choices: random.Random) -> dict[str, Any]:
    """Return arguments, of which the table of subscripts holds some number twice, or none."""
    table = choices.sample(range(EXTENT), EXTENT)
    if choices.random() < 0.5:
        table[2] = table[0]
    return {
        "x": np.array(table, np.int32),
        "a": np.arange(EXTENT, dtype=np.int32),
        "out": np.zeros((EXTENT, EXTENT), np.int32),
    }


def meets(kernel: Kernel, given: Mapping[str, Any]) -> bool:
    """Tell whether arguments meet what a kernel owes; False, too, where that is not known."""
    try:
        check_assumptions(kernel, CallData({}, {}, given.get, lambda _: None))
    except (pg.errors.ObligationViolated, pg.errors.ObligationUnchecked):
        return False
    return True
