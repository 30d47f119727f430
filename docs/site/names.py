"""Every public name by its purpose: what the reference of the site has an entry for.

A new name needs no line here: a transformation stands where docs/reference/steps.md has it, and
everything else is found by the package that it comes from.  `_PURPOSES` names those
that would stand in the wrong place.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import polygen as pg
import polygen.compat as lp

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Group:
    """The entries of one page.

    Attributes:
        title: of the page.
        about: what they have in common.
        names: of what, in `module`.
        module: where users find them.
    """

    title: str
    about: str
    names: tuple[str, ...]
    module: str = "polygen"

    @property
    def page(self) -> str:
        """The name of the page's file, without its suffix."""
        return re.sub(r"\W+", "_", self.title.lower()).strip("_")


@dataclass(frozen=True)
class _Purpose:
    """What names are for: those of some packages, and others that stand with them."""

    about: str
    packages: str
    names: str = ""


_PURPOSES = {
    "Making kernels": _Purpose("From text, calls, trees, or other kernels.", "language source"),
    "What kernels consist of": _Purpose(
        "The classes of which kernels and their parts are. Their fields are listed in "
        "`the fields of a kernel <../../reference/kernel.html>`_.",
        "ir",
        "PreambleInfo TranslationUnit",
    ),
    "Functions of Python": _Purpose(
        "Plain Python with NumPy, compiled; and what says how its loops run.",
        "jitting python",
        "MVL",
    ),
    "Running kernels": _Purpose(
        "Executing them, and the code that is generated.",
        "runtime pipeline lower targets cli",
    ),
    "Source for other hosts": _Purpose(
        "Files and libraries that need no polygen: see `emitting <../../emitting.html>`_.",
        "emission",
    ),
    "Proofs and order": _Purpose(
        "What is known of a kernel's meaning.",
        "analysis proof",
        """
        AutoTest Dependence Equivalence ParallelConditions ParallelInames Parallelism Verdict
        assume assume_independent assume_injective auto_test_vs_ref equivalent explain_order
        get_iname_duplication_options has_schedulable_iname_nesting is_legal parallel_conditions
        parallel_inames unneeded_barriers
        """,
    ),
    "Steps: recipes and choosing": _Purpose(
        "Several steps in a row, steps of one's own, and steps that are chosen for a device.",
        "recipes transformation schedules tuning",
        "Rearranged find_schedule",
    ),
    "Looking at kernels": _Purpose("Pictures, tables and numbers for people.", "inspection"),
    "Counting and measuring": _Purpose(
        "Operations, accesses, footprints, barriers, and the limits of devices.",
        "",
        """
        Count CountGranularity CountMap Limits MemAccess Op Profile ProfileRow ProfileTable
        Roofline Sync address_spaces
        bank_conflicts find_padding_multiple gather_access_footprint_bytes
        gather_access_footprint_elements gather_access_footprints get_mem_access_map get_op_map
        get_synchronization_map measure_limits profile roofline
        """,
    ),
    "Families of errors": _Purpose(
        "Those that scripts catch most. Each class has a page: `errors <../../errors.html>`_.",
        "errors",
    ),
}
CHOSEN = {name: title for title, kept in _PURPOSES.items() for name in kept.names.split()}
_ROW = re.compile(r"^ *\| ([^|]+?) \| (`.+) \|$", re.MULTILINE)


def transformations() -> dict[str, tuple[str, ...]]:
    """Return the transformations by what they are of: the table in docs/reference/steps.md."""
    rows = _ROW.findall((ROOT / "docs" / "reference" / "steps.md").read_text())
    return {
        re.sub(r" \(\[.*", "", kind): tuple(
            n for n in dict.fromkeys(re.findall(r"`(\w+)`", cell)) if _is_step(n)
        )
        for kind, cell in rows
    }


def _is_step(name: str) -> bool:
    return name in pg.__all__ and _home(getattr(pg, name)) == "transforms"


def _home(what: Any) -> str:
    """Return the package of polygen's that a thing is from."""
    module = what.__name__ if isinstance(what, ModuleType) else _module_of(what)
    return [*module.split("."), ""][1]


def _module_of(what: Any) -> str:
    return str(getattr(what, "__module__", None) or type(what).__module__)


def purpose(name: str) -> str:
    """Return under which title a public name that is no transformation of the table stands."""
    home = _home(getattr(pg, name))
    by_home = (title for title, kept in _PURPOSES.items() if home in kept.packages.split())
    found = CHOSEN.get(name) or next(by_home, None)
    if found is None:
        where = "docs/reference/steps.md" if home == "transforms" else "docs/site/names.py"
        raise LookupError(f"say in {where} what '{name}', of polygen.{home}, is for")
    return found


def groups() -> list[Group]:
    """Return all groups: those of `polygen`, then what transformations are written with."""
    steps = transformations()
    of_steps = {n for names in steps.values() for n in names if n not in CHOSEN}
    rest = {n: purpose(n) for n in pg.__all__ if n not in of_steps and n != "errors"}
    found = [
        Group(
            title, kept.about, tuple(sorted((n for n in rest if rest[n] == title), key=str.lower))
        )
        for title, kept in _PURPOSES.items()
    ]
    found[3:3] = [
        Group(f"Transformations: {kind}", "", tuple(sorted(of_steps & set(names))))
        for kind, names in steps.items()
    ]
    return [*found, _RETURNED, _OWN_STEPS, *map(_of_module, _FOR_STEPS), _errors(), _compat()]


# What a transformation of one's own is written with, besides.
_FOR_STEPS = ("polygen.ir.expression", "polygen.ir.walk", "polygen.ir.domain")


def _of_module(path: str) -> Group:
    """Return what a module defines."""
    module = importlib.import_module(path)
    own = [n for n, what in vars(module).items() if getattr(what, "__module__", "") == path]
    about = (module.__doc__ or "").partition("\n\n")[0]
    public = tuple(sorted(n for n in own if not n.startswith("_")))
    return Group(f"For transformations: {path}", about, public, path)


_RETURNED = Group(
    "What functions return",
    "Classes of what users are given, and do not make themselves.",
    (
        *(
            "targets.programs.program.Program",
            "targets.programs.program.DeviceFunction",
            "lower.program.LoopProgram",
        ),
        *("ir.options.Options", "ir.substitution.SubstitutionRule", "ir.sizes.DerivedSize"),
        *("ir.claims.Injective", "ir.claims.Independent", "analysis.access.banks.BankConflicts"),
        *(
            "runtime.backends.cuda.device_array.DeviceArray",
            "runtime.calls.awaited_events.Finished",
        ),
        "runtime.backends.cuda.cuda_streams.CudaEvent",
        *("ir.tags.GroupTag", "ir.tags.LocalTag", "ir.tags.AutoLocalTag", "ir.tags.UnrollTag"),
        *("ir.tags.UnrollHintTag", "ir.tags.IlpTag", "ir.tags.VectorTag", "ir.tags.ForTag"),
        "targets.languages.target.Target",
        *("ir.choices.Choice", "schedules.explain.ExplainedNest", "schedules.bounds.Bound"),
        *("language.handles.Handle", "language.handles.VariableHandle", "language.handles.Loop"),
    ),
)
_OWN_STEPS = Group(
    "Writing transformations",
    "What annotations of a transformation of one's own may say of its arguments, and what helps "
    "to read these. See `the guide <../../writing_a_transformation.html>`_.",
    tuple(importlib.import_module("polygen.transformation").__all__),
    "polygen.transformation",
)


def _errors() -> Group:
    kinds = {
        name
        for name, kind in vars(pg.errors).items()
        if inspect.isclass(kind) and issubclass(kind, pg.PolygenError | pg.PolygenWarning)
    }
    about = "Every class, each with an example that provokes it: `errors <../../errors.html>`_."
    return Group("All errors", about, tuple(sorted(kinds)), "polygen.errors")


def _compat() -> Group:
    """Return the names of `polygen.compat` that are not polygen's own."""
    other = [n for n in lp.__all__ if getattr(lp, n) is not getattr(pg, n, None)]
    about = (
        "``import polygen.compat as lp``: what differs from polygen's own. All names of "
        "``polygen`` are there, too. See `porting <../../porting.html>`_."
    )
    return Group("Names of Loo.py", about, tuple(sorted(other)), "polygen.compat")


def resolve(path: str) -> Any:
    """Return what is at a path such as ``polygen.Kernel.copy``."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise LookupError(path)
