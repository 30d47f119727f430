"""Random kernels whose loops carry dependences of all kinds, and that are well formed."""

from __future__ import annotations

import random
import re

import polygen as pg
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.wellformed.check import obligations
from polygen.analysis.wellformed.obligations import INSIDE, ORDERED
from polygen.errors import DependencyCycle, IllFormedKernel, NestingDecides, NoLoopNest
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

SIZE = 24  # of each axis
LARGEST = 7  # the most that a size may be: then subscripts stay inside
LIMITS = {"idx": 4}
FIRST = "@first"  # stands for what gives temporaries their first values

_INNER = ("0<=j<m", "0<=j<=i", "i<=j<n", "0<=j<3", "j=i", "0<=j<m and (i+j) mod 2 = 0")
_SUBSCRIPTS = (
    "{x}+4", "{x}+3", "{x}+5", "{x}+2", "2*{x}+1", "8-{x}", "({x}+4)//2", "{x}%3", "4",
    "n-{x}+7", "{x}+n", "idx[{x}]", "min({x}, 2)", "max({x}-1, 0)", "{x}+4", "{x}+4",
)  # fmt: skip
_TWO = ("{x}+{y}+2", "{x}-{y}+8", "2*{x}+{y}", "{x}", "{y}")


class Maker:
    """Makes one random kernel; dependencies between instructions follow the text."""

    _counts: tuple[int, ...] = (1, 1, 2, 2, 3)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._start()

    def _start(self) -> None:
        self._names: tuple[str, ...] = ()
        self._domains: list[str] = []
        self._temporaries: dict[str, pg.TemporaryVariable] = {}

    def kernel(self) -> Kernel:
        """Return the first kernel that is well formed."""
        while True:
            with pg.without_proofs():
                found = self._well_formed(self._kernel())
            if found is not None:
                return found
            self._start()

    def _well_formed(self, knl: Kernel) -> Kernel | None:
        try:
            left = {found.kind for found in obligations(knl)}
        except NestingDecides:
            left = {ORDERED}
        except (IllFormedKernel, DependencyCycle, NoLoopNest):
            return None
        if why_none_is_permitted(knl) is not None:
            return None
        if left <= {INSIDE}:
            return knl
        if knl.priorities:
            return None
        order = list(knl.inames)
        self._random.shuffle(order)
        return self._well_formed(knl.copy(priorities=(tuple(order),)))

    def _kernel(self) -> Kernel:
        self._loops()
        lines = [self._line(number) for number in range(self._random.choice(self._counts))]
        # Nothing reads what was not written: temporaries start with a value.  And each matters.
        temporaries = sorted(self._temporaries)
        before = ":".join([FIRST, *(f"s{number}" for number in range(len(lines)))])
        for name in temporaries:
            lines.insert(0, self._first(name))
            lines.append(self._last(name, before))
        first = ":".join(f"first_{name}" for name in temporaries)
        text = "\n".join(lines).replace(f"{FIRST}:" if not first else FIRST, first)
        text = text.replace(FIRST, "")
        data = (*_arrays(), *self._temporaries.values(), "...")
        return kernel(self._domains, text, *data, assumptions=self._known(text))

    def _known(self, text: str) -> str:
        """Return the assumptions."""
        sizes = [n for n in "nm" if re.search(rf"\b{n}\b", "\n".join([text, *self._domains]))]
        return " and ".join(f"0 <= {n} <= {LARGEST}" for n in sizes)

    def _loops(self) -> None:
        r = self._random
        self._names = ("i", "j")[: r.choice((1, 2, 2))]
        self._domains = [r.choice(("{ [i]: 0<=i<n }", "{ [i]: 1<=i<n+1 }", "{ [i]: 0<=i<4 }"))]
        if len(self._names) > 1:
            self._domains.append(f"{{ [j]: {r.choice(_INNER)} }}")

    def _first(self, name: str) -> str:
        """Return what gives a temporary its first value."""
        value = "1" if self._random.random() < 0.15 else "c[{x}]"
        if name != "v":
            prefixes = [":".join(self._names[:count]) for count in range(1, len(self._names) + 1)]
            inames = self._random.choice(("", "", *prefixes))
            value = value.format(x=self._random.choice((inames[:1], "4")) or "4")
            return f"{name} = {value}  {{id=first_{name}, inames={inames}, dep=*}}"
        self._domains.append(f"{{ [k_v]: 0<=k_v<{SIZE} }}")
        return f"v[k_v] = {value.format(x='k_v')}  {{id=first_v, inames=k_v, dep=*}}"

    def _last(self, name: str, before: str) -> str:
        """Return what stores a temporary, so that its value matters."""
        if name != "v":
            target = f"b[{self._random.randint(0, 1)}]"
            return f"{target} = {name}  {{id=last_{name}, inames=, dep=*{before}}}"
        self._domains.append(f"{{ [k_w]: 0<=k_w<{SIZE} }}")
        return f"e[k_w] = v[k_w]  {{id=last_v, inames=k_w, dep=*{before}}}"

    def _temporary(self, name: str) -> str:
        spaces = [pg.AddressSpace.PRIVATE] * 3 + [pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL]
        if name not in self._temporaries:
            shape = () if name in "tu" else (SIZE,)
            space = self._random.choice(spaces)
            self._temporaries[name] = pg.TemporaryVariable(name, "float64", shape, space)
        return name

    def _line(self, number: int) -> str:
        r = self._random
        inames = self._inames()
        target = self._place(inames, writes=True)
        parts = self._parts(inames)
        if r.random() < 0.35:
            parts.append(target)
        value = " + ".join(parts) + f" + {number + 1}"
        options = [f"id=s{number}", f"inames={':'.join(inames)}"]
        # All before it: then the kernel leaves nothing open.
        options.append(f"dep=*{':'.join([FIRST, *(f's{d}' for d in range(number))])}")
        if r.random() < 0.2:
            conditions = (
                f"{inames[-1]} < 2",
                f"{inames[0]} == 1",
                "idx[4] > 1",
                f"c[{inames[0]}] > 0",
            )
            options.append(f"if={r.choice(conditions)}")
        return f"{target} = {value}  {{{', '.join(options)}}}"

    def _inames(self) -> tuple[str, ...]:
        """Return the inames of an instruction."""
        return self._names if self._random.random() < 0.75 else self._names[:1]

    def _parts(self, inames: tuple[str, ...]) -> list[str]:
        """Return what an instruction adds up."""
        return [self._place(inames) for _ in range(self._random.choice((1, 2, 2)))]

    def _place(self, inames: tuple[str, ...], writes: bool = False) -> str:
        r = self._random
        choice = r.random()
        if choice < 0.2:
            return self._temporary(r.choice("tu"))
        if choice < 0.3:
            return f"{self._temporary('v')}[{self._subscript(inames)}]"
        if choice < 0.5:
            return f"d[{self._subscript(inames)}, {self._subscript(inames)}]"
        return f"{r.choice('aab' if writes else 'aabc')}[{self._subscript(inames)}]"

    def _subscript(self, inames: tuple[str, ...]) -> str:
        r = self._random
        if len(inames) > 1 and r.random() < 0.3:
            return r.choice(_TWO).format(x=inames[0], y=inames[1])
        common = _SUBSCRIPTS if r.random() < 0.5 else _SUBSCRIPTS[:4]
        return r.choice(common).format(x=r.choice(inames))


def _arrays() -> list[pg.GlobalArg]:
    arrays = [pg.GlobalArg(a, "float64", (SIZE,)) for a in "abce"]
    arrays.append(pg.GlobalArg("d", "float64", (SIZE, SIZE)))
    return [*arrays, pg.GlobalArg("idx", "int32", (SIZE,))]
