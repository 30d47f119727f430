"""What is generated: cases by name, of which each yields the texts of one kernel or of several."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import polygen as pg
from benchmarks.on_gpu import cases as reductions
from benchmarks.on_gpu.with_polygen import kernel as reduction
from tests.random_kernels.agree import cases_of
from tests.replay import examples
from tests.replay.texts import Texts, texts_of

RANDOM = 100  # seeds
Make = Callable[[], Mapping[str, Texts]]


def _example(name: str) -> Mapping[str, Texts]:
    texts = examples.texts_of_example(name)
    return {f"examples/{name}/{kernel}": found for kernel, found in texts.items()}


def _reduction(name: str, case: reductions.Case) -> Mapping[str, Texts]:
    optimized = pg.optimize_reductions(reduction(case), pg.Limits.named("H200"))
    return {name: texts_of(partial(pg.generate_code, optimized))}


def _random(name: str, seed: int) -> Mapping[str, Texts]:
    (case,) = cases_of(seed, 1)
    return {name: texts_of(partial(pg.generate_code, case.changed))}


def _reductions() -> dict[str, Make]:
    named = {re.sub(r"[^\w,-]+", "_", case.key): case for case in reductions.cases()}
    names = {f"reductions/{name}": case for name, case in named.items()}
    return {name: partial(_reduction, name, case) for name, case in names.items()}


CASES: Mapping[str, Make] = {
    **{f"examples/{name}": partial(_example, name) for name in examples.NAMES},
    **_reductions(),
    **{f"random/{seed}": partial(_random, f"random/{seed}", seed) for seed in range(RANDOM)},
}
# What `make test` looks at: one in so many of each group, and no example that takes a second.
_ONE_IN = {"examples": 1, "reductions": 23, "random": 5}
_LONG = (
    *("demo", "fast_product", "finite_elements", "layer_norm", "packed_product"),
    *("register_stencils", "scan", "softmax"),
)


def _sample() -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name in CASES.keys() - {f"examples/{long}" for long in _LONG}:
        kind, _, rest = name.partition("/")
        group = rest.partition("_")[0] if kind == "reductions" else ""
        groups.setdefault((kind, group), []).append(name)
    for (kind, _), names in groups.items():
        yield from sorted(names)[:: _ONE_IN[kind]]


SAMPLE = frozenset(_sample())


def texts_of_case(name: str) -> Mapping[str, Texts]:
    """Return the texts of a case's kernels, by names of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of kernels that are slow, and the like
        return CASES[name]()


def case_of(name: str) -> str:
    """Return the name of the case that yields a kernel of a name."""
    return "/".join(name.split("/")[:2])
