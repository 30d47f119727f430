"""Random kernels whose loops carry dependences of all kinds, and random steps, legal or not."""

from __future__ import annotations

import random
from collections.abc import Callable

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

Step = Callable[[Kernel], Kernel]

SIZE = 24  # of each axis; subscripts stay inside for sizes up to 4
LIMITS = {"idx": 4}
FIRST = "@first"  # stands for what gives temporaries their first values

_INNER = ("0<=j<m", "0<=j<=i", "i<=j<n", "0<=j<3", "j=i", "0<=j<m and (i+j) mod 2 = 0")
_SUBSCRIPTS = (
    "{x}+4", "{x}+3", "{x}+5", "{x}+2", "2*{x}+1", "8-{x}", "({x}+4)//2", "{x}%3", "4",
    "n-{x}+4", "{x}+n", "idx[{x}]", "min({x}, 2)", "max({x}-1, 0)", "{x}+4", "{x}+4",
)  # fmt: skip
_TWO = ("{x}+{y}+2", "{x}-{y}+5", "2*{x}+{y}", "{x}", "{y}")


class Maker:
    """Makes one random kernel; dependencies between instructions follow the text."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names: tuple[str, ...] = ()
        self._depth: dict[str, int] = {}
        self._temporaries: dict[str, pg.TemporaryVariable] = {}

    def kernel(self) -> Kernel:
        """Return the kernel."""
        r = self._random
        self._names = ("i", "j")[: r.choice((1, 2, 2))]
        domains = [r.choice(("{ [i]: 0<=i<n }", "{ [i]: 1<=i<n+1 }", "{ [i]: 0<=i<4 }"))]
        if len(self._names) > 1:
            domains.append(f"{{ [j]: {r.choice(_INNER)} }}")
        lines: list[str] = []
        for number in range(r.choice((1, 1, 2, 2, 3))):
            lines.append(self._line(number))
        arrays = [pg.GlobalArg(a, "float64", (SIZE,)) for a in "abc"]
        arrays += [
            pg.GlobalArg("d", "float64", (SIZE, SIZE)),
            pg.GlobalArg("idx", "int32", (SIZE,)),
        ]
        # Nothing reads what was not written: temporaries start with a value.
        temporaries = sorted(self._temporaries)
        for name in temporaries:
            target = f"{name}[k_{name}]" if name == "v" else name
            inames = f"k_{name}" if name == "v" else r.choice(("", *self._prefixes()))
            lines.insert(0, f"{target} = 1  {{id=first_{name}, inames={inames}, dep=*}}")
            if name == "v":
                domains.append(f"{{ [k_{name}]: 0<=k_{name}<{SIZE} }}")
        first = ":".join(f"first_{name}" for name in temporaries)
        text = "\n".join(lines).replace(f"{FIRST}:" if not first else FIRST, first)
        text = text.replace(FIRST, "")
        return kernel(domains, text, *arrays, *self._temporaries.values(), "...")

    def _prefixes(self) -> tuple[str, ...]:
        return tuple(":".join(self._names[:count]) for count in range(1, len(self._names) + 1))

    def _temporary(self, name: str) -> str:
        spaces = [pg.AddressSpace.PRIVATE] * 3 + [pg.AddressSpace.LOCAL, pg.AddressSpace.GLOBAL]
        if name not in self._temporaries:
            shape = () if name in "tu" else (SIZE,)
            space = self._random.choice(spaces)
            self._temporaries[name] = pg.TemporaryVariable(name, "float64", shape, space)
        return name

    def _line(self, number: int) -> str:
        r = self._random
        inames = self._names if r.random() < 0.75 else self._names[:1]
        target = self._place(inames, writes=True)
        parts = [self._place(inames) for _ in range(r.choice((1, 2, 2)))]
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


def random_step(knl: Kernel, r: random.Random) -> tuple[str, Step]:
    """Return any step that fits the kernel, and how it is written."""
    free = [i for i in knl.inames if i not in knl.tags and not i.startswith("k")]
    choice = r.random()
    if not free or choice < 0.25:
        order = [i for i in knl.inames if not i.startswith("k")]
        r.shuffle(order)
        return f"prioritize {order}", lambda k: pg.prioritize_loops(k, order)
    iname = r.choice(free)
    if choice < 0.65:
        tag = r.choice(("g.0", "l.0", "g.1", "l.1"))
        return f"tag {iname} {tag}", lambda k: pg.tag_inames(k, {iname: tag})
    if choice < 0.75:
        tags = dict(zip(free, ("g.0", "l.0", "l.1"), strict=False))
        return f"tag {tags}", lambda k: pg.tag_inames(k, tags, force=True)
    if choice < 0.8 and knl.tags:
        some = r.choice(sorted(knl.tags))
        return f"untag {some}", lambda k: pg.tag_inames(k, {some: "for"}, force=True)
    length = r.choice((1, 2, 3))
    outer, inner = r.choice((None, None, "g.0")), r.choice((None, None, "l.0"))
    return f"split {iname} {length} {outer} {inner}", lambda k: pg.split_iname(
        k, iname, length, outer_tag=outer, inner_tag=inner
    )
