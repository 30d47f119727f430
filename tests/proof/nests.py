"""Random kernels of several loop nests, with reductions: see `tests.proof.generator`."""

from __future__ import annotations

from tests.proof.generator import FIRST, Maker
from tests.properties.expressions import mentions

_REDUCED = ("0<={r}<3", "0<={r}<m", "0<={r}<n", "{i}<={r}<n", "0<={r}<={i}")
_SECOND = ("0<=p<n", "1<=p<n+1", "0<=p<4", "0<=p<m")


class NestsMaker(Maker):
    """Makes one random kernel of one or two loop nests."""

    _counts = (1, 2, 2, 3, 3, 4)

    def _loops(self) -> None:
        super()._loops()
        r = self._random
        self._nests = [self._names]
        self._reduced: dict[str, str] = {}  # and the iname that bounds it
        self._used: set[str] = set()
        if r.random() < 0.6:
            self._second_nest()

    def _second_nest(self) -> None:
        r = self._random
        names = ("p", "q")[: r.choice((1, len(self._names)))]
        copied = [text.replace("i", "p").replace("j", "q") for text in self._domains]
        copied = [text.replace("pdx", "idx") for text in copied]
        if r.random() < 0.35:
            copied[0] = f"{{ [p]: {r.choice(_SECOND)} }}"
        self._domains += copied[: len(names)]
        self._nests.append(names)

    def _line(self, number: int) -> str:
        # Those of the second nest come after those of the first, as a rule.
        later = len(self._nests) > 1 and (number > 0 or self._random.random() < 0.2)
        self._names = self._nests[1] if later and self._random.random() < 0.6 else self._nests[0]
        text = super()._line(number)
        self._names = self._nests[0]
        if self._random.random() < 0.3:
            text = self._fewer_dependencies(text, number)
        return text

    def _fewer_dependencies(self, text: str, number: int) -> str:
        kept = [f"s{d}" for d in range(number) if self._random.random() < 0.5]
        start = text.index(FIRST)
        end = min(at for at in (text.find(c, start) for c in ",}") if at > 0)
        return f"{text[:start]}{':'.join([FIRST, *kept])}{text[end:]}"

    def _parts(self, inames: tuple[str, ...]) -> list[str]:
        parts = super()._parts(inames)
        if self._random.random() < 0.25:
            parts[0] = self._reduction(inames)
        return parts

    def _reduction(self, inames: tuple[str, ...]) -> str:
        r = self._random
        own = [self._reduction_iname(inames) for _ in range(r.choice((1, 1, 2)))]
        beside = [names[0] for names in self._nests if names[0] not in inames]
        beside += [names[-1] for names in self._nests if names[:-1] == inames]
        if beside and r.random() < 0.15:
            own[0] = r.choice(beside)
        own = list(dict.fromkeys(own))
        operand = f"{self._place((*own, *inames)[:2])} + {r.choice('abc')}[{r.choice(own)}+3]"
        operand += "".join(f" + {x}" for x in own if self._has_to_be_in(x, operand))
        operation = r.choice(("sum", "sum", "max"))
        text = f"{operation}(({', '.join(own)}), {operand})"
        # Of nothing, a maximum is an infinity.
        return text if operation == "sum" else f"max({text}, -99)"

    def _has_to_be_in(self, iname: str, operand: str) -> bool:
        """Tell whether what is reduced has to mention an iname, and does not yet."""
        return not self._reduced.get(iname) and not mentions(operand, iname)

    def _reduction_iname(self, inames: tuple[str, ...]) -> str:
        r = self._random
        known = [name for name, outer in self._reduced.items() if outer in ("", inames[0])]
        if known and r.random() < 0.2:
            return r.choice(known)
        name = f"r{len(self._reduced)}"
        domain = r.choice(_REDUCED)
        self._reduced[name] = inames[0] if "{i}" in domain else ""
        self._domains.append(f"{{ [{name}]: {domain.format(r=name, i=inames[0])} }}")
        return name
