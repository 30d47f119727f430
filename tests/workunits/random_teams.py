"""Random work units of teams: statements in which no two threads race, as text."""

from __future__ import annotations

from random import Random

HEAD = """import polygen.workunits as pk


@pk.workunit
def unit(m: pk.TeamMember, acc: pk.Acc[pk.double], x: pk.View1D[pk.double],
         y: pk.View1D[pk.double], z: pk.View1D[pk.double], q: pk.View1D[pk.double]):
    e = m.league_rank()
    r = m.team_rank()
    size = m.team_size()
    s = pk.ScratchView1D[pk.double](m.team_scratch(0), {size})
    p = pk.ScratchView1D[pk.double](m.thread_scratch(0), 2)
    u = 1.0
    v = x[e*size + r]
    w = 0.25
    p[0] = v
    p[1] = 0.5
    s[r] = v
"""
TAIL = """    y[e*size + r] = v + w + p[0] + p[1]
    acc += 0.5*v
"""


class Unit:
    """A random work unit.

    Parameters:
        seed: of the choices.

    Attributes:
        size: how many threads a team has.
        text: the module that defines it.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.size = self._random.choice([2, 3, 4])
        self._names = 0
        self._is_read = False  # whether scratch memory of the team is read, or written
        lines = self._block(self._random.randint(4, 9), 1)
        self.text = HEAD.format(size=self.size) + "".join(lines) + TAIL

    def _block(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += self._statement(depth)
        return lines

    def _statement(self, depth: int) -> list[str]:
        kinds = [
            *["thread"] * 4, *["own"] * 3, "uniform", "branch", "inner", "sum", "barrier", "shared",
            "once", "vector", "reduction",
        ]  # fmt: skip
        if depth < 3:
            kinds += ["loop", "together"]
        kind = self._random.choice(kinds)
        indent = "    " * depth
        made: list[str] = getattr(self, f"_{kind}")(depth)
        return [f"{indent}{line}\n" if not line.endswith("\n") else line for line in made]

    def _name(self) -> str:
        self._names += 1
        return f"f{self._names}"

    def _of_thread(self) -> str:
        """Return an expression that may differ by thread."""
        return self._random.choice(
            ["0.5*v", "v - w", "0.25*w + u", "x[e*size + r]", "1.0*r", "u + e", "p[0]", "p[1]*0.5",
             "v if v > w else u", "max(v, w)"]
        )  # fmt: skip

    def _of_team(self) -> str:
        return self._random.choice(["0.5*u", "u + 0.125*e", "1.5", "0.5*u + x[e]", "u*0.25 + size"])

    def _thread(self, _depth: int) -> list[str]:
        name, sign = self._random.choice("vw"), self._random.choice(["=", "+=", "-="])
        return [f"{name} {sign} {self._of_thread()}"]

    def _own(self, _depth: int) -> list[str]:
        choices = [f"p[{self._random.randint(0, 1)}] = {self._of_thread()}"]
        if self._is_read:
            choices.append(f"v += 0.5*s[(r + {self._random.randint(0, 3)}) % size]")
        else:
            choices.append(f"s[r] = {self._of_thread()}")
        return [self._random.choice(choices)]

    def _uniform(self, _depth: int) -> list[str]:
        return [f"u = {self._of_team()}"]

    def _branch(self, _depth: int) -> list[str]:
        condition = self._random.choice(["r < 1", "v > w", "r == size - 1", "x[e*size + r] > 0.5"])
        return [
            f"if {condition}:",
            f"    {self._thread(0)[0]}",
            "else:",
            f"    {self._own(0)[0]}",
        ]

    def _inner(self, _depth: int) -> list[str]:
        return [f"for k in range(r + {self._random.randint(0, 2)}):", f"    {self._thread(0)[0]}"]

    def _sum(self, _depth: int) -> list[str]:
        return [f"acc += {self._of_thread()}"]

    def _barrier(self, _depth: int) -> list[str]:
        self._is_read = self._random.random() < 0.5
        return ["m.team_barrier()"]

    def _shared(self, _depth: int) -> list[str]:
        name = self._name()
        return [
            f"def {name}(j: int):",
            f"    q[e*size + j] += {self._of_team()} + j",
            f"pk.parallel_for(pk.TeamThreadRange(m, size), {name})",
        ]

    def _once(self, _depth: int) -> list[str]:
        name = self._name()
        return [
            f"def {name}():",
            f"    z[e] += {self._of_team()}",
            f"pk.single(pk.PerTeam(m), {name})",
        ]

    def _vector(self, _depth: int) -> list[str]:
        name = self._name()
        return [
            f"def {name}(j: int, t: pk.Acc[pk.double]):",
            f"    t += 0.25*({self._of_thread()}) + j",
            f"v = 0.5*v + pk.parallel_reduce(pk.ThreadVectorRange(m, 3), {name})",
        ]

    def _reduction(self, _depth: int) -> list[str]:
        name = self._name()
        return [
            f"def {name}(j: int, t: pk.Acc[pk.double]):",
            f"    t += 0.125*({self._of_team()}) + x[e*size + j]",
            f"u = 0.25*u + pk.parallel_reduce(pk.TeamThreadRange(m, size), {name})",
        ]

    def _with_barriers(self, depth: int) -> list[str]:
        """Return statements of all threads, between barriers."""
        before, indent = self._is_read, "    " * (depth + 1)
        self._is_read = False
        inside = self._block(self._random.randint(1, 3), depth + 1)
        self._is_read = before
        return [f"{indent}m.team_barrier()\n", *inside, f"{indent}m.team_barrier()\n"]

    def _loop(self, depth: int) -> list[str]:
        return [
            f"for k{depth} in range({self._random.randint(1, 3)}):",
            *self._with_barriers(depth),
        ]

    def _together(self, depth: int) -> list[str]:
        condition = self._random.choice(["u > 1", "e % 2 == 0", "size > 2"])
        return [f"if {condition}:", *self._with_barriers(depth)]
