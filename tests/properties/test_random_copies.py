"""Random copies of what random kernels read: refused, or the kernel leaves the same arrays."""

from __future__ import annotations

import random
from collections import Counter

import polygen as pg
from polygen.errors import (
    CannotProve,
    FootprintNotConstant,
    IllegalStep,
    MalformedKernel,
    NoLoopNest,
    NotAsynchronous,
    NothingMatches,
    NotSwept,
    PrivateAcrossLaunches,
    UserError,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import kernel
from tests.oracle.compare import check_arrays, make_arguments, typed

COUNT = 40
SOME = 16
SIZES = (0, 1, 5)
# What is said of a copy that cannot be made; anything else that is raised is a defect.
REFUSALS = (
    *(FootprintNotConstant, NotSwept, IllegalStep, CannotProve, NoLoopNest, NothingMatches),
    MalformedKernel,  # of a local copy that would be as large as a call says
)


class Reads:
    """Makes reads that differ in their shifts: copies of others would be of any size."""

    def __init__(self, shuffler: random.Random, inames: str) -> None:
        self._shuffler = shuffler
        self._inames = inames
        self._axes = [self._factors() for _ in range(2)]
        self._halved = shuffler.random() < 0.15

    def _factors(self) -> list[str]:
        chosen = [i for i in self._inames if self._shuffler.random() < 0.6]
        return [f"{self._shuffler.choice((1, 1, 1, 2))}*{i}" for i in chosen]

    def make(self) -> str:
        """Return the text of a read."""
        shifts = (self._shuffler.choice((0, 0, 1, 3)) for _ in self._axes)
        index = [" + ".join([*f, str(s)]) for f, s in zip(self._axes, shifts, strict=True)]
        if self._halved:
            index[0] = f"({index[0]})//2"
        text = f"a[{', '.join(index)}]"
        if self._shuffler.random() < 0.2:
            return f"if({self._inames[0]} > {self._shuffler.randrange(3)}, {text}, 1)"
        return text


def random_kernel(shuffler: random.Random) -> Kernel:
    """Return a kernel that reads an array in several places, in place of which copies may be."""
    lower = shuffler.randrange(3)
    domains = [f"{{ [i]: {lower}<=i<n }}", "{ [j]: 0<=j<n }"]
    if shuffler.random() < 0.3:
        domains = [f"{{ [i,j]: {lower}<=i<n and 0<=j<=i }}"]
    if shuffler.random() < 0.4:
        domains.append("{ [k]: 0<=k<n }")
        reads = f"sum(k, {Reads(shuffler, 'ijk').make()}*c[k]) + d[i]"
    else:
        several = Reads(shuffler, "ij")
        reads = " + ".join(several.make() for _ in range(shuffler.randrange(1, 4)))
    lines = [f"out[i,j] = {reads}  {{id=out}}"]
    if shuffler.random() < 0.3:
        lines = ["a[p,q] = b[p,q] + 1  {id=a}", lines[0].replace("{", "{dep=a, ")]
        domains.append("{ [p,q]: 0<=p,q<4*n+8 }")
    return kernel(domains, "\n".join(lines), loop_priority="i, j")


def tiled(knl: Kernel, shuffler: random.Random) -> Kernel:
    """Return the kernel with loops split, some of them on the grid."""
    axes = shuffler.sample((0, 1), 2)
    for iname in ("i", "j", "k"):
        if iname not in knl.inames or shuffler.random() < 0.03:
            continue
        knl = pg.split_iname(knl, iname, shuffler.randrange(2, 5))
        if iname != "k" and shuffler.random() < 0.6:
            axis = axes.pop()
            knl = pg.tag_inames(knl, {f"{iname}_outer": f"g.{axis}", f"{iname}_inner": f"l.{axis}"})
    return knl


def copied(knl: Kernel, shuffler: random.Random, *, asynchronous: bool) -> Kernel:
    """Return the kernel with a copy of what is read."""
    inner = [i for i in knl.inames if i.endswith("_inner") or shuffler.random() < 0.05]
    sweep = [i for i in inner if i not in "pq" and shuffler.random() < 0.95]
    return pg.add_prefetch(
        knl,
        "a",
        sweep,
        default_tag=shuffler.choice((None, "l.auto", "l.auto")),
        fetch_bounding_box=shuffler.choice((None, True, False)),
        within="out",
        asynchronous=asynchronous,
        temporary_address_space="local" if asynchronous else None,
    )


@few(1, "seeds", [range(SOME), range(SOME, COUNT)], ids=str)
def test_random_copies(seeds: range) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds:
        shuffler = random.Random(seed)
        knl = random_kernel(shuffler)
        for n in SIZES:
            arguments = make_arguments(knl, {"n": n}, seed)
            plain = typed(knl, arguments)
            step_seed = random.Random(seed)
            try:
                new = copied(tiled(plain, step_seed), step_seed, asynchronous=seed % 2 == 0)
            except REFUSALS as error:
                outcomes[type(error).__name__] += 1
                break
            except UserError as error:
                error.add_note(f"seed {seed}\n{plain}")
                raise
            try:
                check_arrays(plain, arguments, [lambda _, new=new: new], seed)  # type: ignore[misc]
            except (NotAsynchronous, PrivateAcrossLaunches) as error:
                # Of an array that the same launch writes; of a copy that the whole grid waits for.
                outcomes[type(error).__name__] += 1
                break
        else:
            outcomes["copied"] += 1
    # Refusals are no success.
    assert outcomes["copied"] >= len(seeds) // 2, outcomes
    assert outcomes["NotSwept"] >= 1, outcomes
    assert outcomes["PrivateAcrossLaunches"] <= 2, outcomes
