"""The table of Loo.py's names, in ``names.table``, and the functions that it describes.

The wrappers that only pass their arguments on are made from it; so is the table of
docs/porting.md, by ``python -m docs.site.porting``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

import polygen as pg
from polygen.errors import InvalidArgument, PolygenWarning
from polygen.ir.public import public
from polygen.source import caller_location, warn

_NO, _PAGE, _OTHERWISE = "no", "page", "otherwise"


@dataclass(frozen=True)
class Row:
    """Stand-ins for some of Loo.py's names.

    Attributes:
        names: the names; of a row that is about no name, what it is about.
        where: what has them: a module here, or ``module:name`` in polygen; ``no``, ``page``, or
            ``otherwise``.
        parameters: Loo.py's, if they differ; see ``names.table``.
        note: what differs, or what to use instead.
    """

    names: tuple[str, ...]
    where: str
    parameters: tuple[str, ...] = ()
    note: str = ""

    @property
    def ignored(self) -> tuple[str, ...]:
        """The parameters that nothing depends on."""
        return tuple([p[1:] for p in self.parameters if p.startswith("-")])

    def find(self, name: str) -> Any:
        """Return what has one of the names."""
        module, colon, ours = self.where.partition(":")
        if not colon:
            return getattr(importlib.import_module(f"polygen.compat.{module}"), name)
        found = getattr(importlib.import_module(f"polygen.{module}".rstrip(".")), ours)
        return _passing_on(self, name, found) if self.parameters else found


def _rows() -> Iterator[Row]:
    text = Path(__file__).with_name("names.table").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            names, where, parameters, note, *_ = (*map(str.strip, line.split("|")), "", "")
            several = (names,) if where == _PAGE else tuple(names.split())
            yield Row(several, where, tuple(parameters.split()), note)


ROWS = tuple(_rows())
HERE: Mapping[str, Row] = {
    n: r for r in ROWS if r.where not in {_NO, _PAGE, _OTHERWISE} for n in r.names
}
NOT_HERE: Mapping[str, str] = {n: r.note for r in ROWS if r.where == _NO for n in r.names}
OTHERWISE: Mapping[str, str] = {n: r.note for r in ROWS if r.where == _OTHERWISE for n in r.names}
_SAID: set[str] = set()  # of what was warned already


class MeansOtherwise(PolygenWarning):
    """An argument that means something else here than in Loo.py, on purpose."""


def warn_otherwise(name: str) -> None:
    """Warn, the first time, that an argument means something else here; see `OTHERWISE`."""
    if name in _SAID:
        return
    _SAID.add(name)
    function, _, argument = name.rpartition(".")
    said = f"{function}(..., {argument}=) means something else here: {OTHERWISE[name]}"
    warn(MeansOtherwise(said))


def entry(program: object, entrypoint: str | None = None) -> pg.Kernel:
    """Return the kernel that is meant: that of this name, or the only entry point.

    Raises:
        InvalidArgument: if it is none, and no program.
    """
    if not isinstance(program, pg.Kernel | pg.TranslationUnit):
        raise InvalidArgument(
            f"{program!r} is no kernel and no program",
            where=caller_location(),
            remedy="pass what make_kernel returns",
        )
    if isinstance(program, pg.Kernel):
        return program
    return program.default_entrypoint if entrypoint is None else program[entrypoint]


def _passing_on(row: Row, name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with Loo.py's parameters that passes them on to one of polygen's."""
    signature, changed = _signature(row, ours)
    first = next(iter(signature.parameters))
    is_entry = row.parameters[0].startswith("@")

    def function(*args: Any, **kwargs: Any) -> Any:
        given = {**changed, **signature.bind(*args, **kwargs).arguments}
        program, others = given.pop(first), given.pop("others", {})
        if is_entry:
            program = entry(program, given.pop("entrypoint", None))
        passed = {n: v for n, v in given.items() if n not in row.ignored}
        return ours(program, **passed, **others)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "polygen.compat"
    function.__annotations__ = {first: pg.Kernel | pg.TranslationUnit}
    function.__dict__["__signature__"] = signature
    function.__doc__ = _documentation(row, ours)
    return public(function)


def _signature(row: Row, ours: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Return Loo.py's signature of a function, and the defaults that are not polygen's."""
    known = inspect.signature(ours).parameters
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    found: list[Parameter] = []
    changed: dict[str, Any] = {}
    for said in row.parameters:
        name, _, default = said.lstrip("@-").partition("=")
        if said == "*":
            kind = Parameter.KEYWORD_ONLY
        elif said == "**":
            found.append(Parameter("others", Parameter.VAR_KEYWORD))
        else:
            if default:
                changed[name] = ast.literal_eval(default)
            usual = known[name].default if name in known else None if found else Parameter.empty
            value = changed.get(name, usual)
            found.append(Parameter(name, kind, default=value))
    return inspect.Signature(found), changed


def _documentation(row: Row, ours: Callable[..., Any]) -> str:
    what = (inspect.getdoc(ours) or "").partition("\n")[0]
    ignored = ", ".join(f"``{name}``" for name in row.ignored)
    more = f"\n\nNothing depends on {ignored}." if ignored else ""
    return f"{what}\n\nIt is `polygen.{ours.__name__}`.{more}"
