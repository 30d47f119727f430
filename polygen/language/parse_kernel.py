"""`parse_kernel`: the inverse of printing a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from polygen.errors import (
    InvalidArgument,
    MalformedText,
    UserError,
    did_you_mean,
)
from polygen.ir import walk
from polygen.ir.array import Argument, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.claims import Claim, read_claim
from polygen.ir.domain import Domain, universe
from polygen.ir.empty import NO_NAMES, new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.later import Later
from polygen.ir.names import check_function_name
from polygen.ir.operation import Special
from polygen.ir.options import TARGET_NAMES, Options, unknown_target
from polygen.ir.public import public
from polygen.ir.sizes import DerivedSize
from polygen.ir.substitution import SubstitutionRule
from polygen.ir.tags import InameTag
from polygen.ir.verify import verify
from polygen.language.domains import check_loops
from polygen.language.functions import (
    FunctionLines,
    read_preamble,
    read_text,
    with_functions,
    with_symbols,
)
from polygen.language.isl_text import read_set
from polygen.language.kernel_assembly import check_made
from polygen.language.kernel_lines import (
    read_argument,
    read_instruction,
    read_later,
    read_option,
    read_priority,
    read_reduction,
    read_size,
    read_tag,
    read_temporary,
)
from polygen.language.library_calls import with_libraries
from polygen.language.linear import without_linear_subscripts
from polygen.language.operations import defined_in_text
from polygen.language.parser import parse_expression, parse_rule
from polygen.language.programs import TranslationUnit, link_all
from polygen.language.rules import make_rules
from polygen.source import caller_location


@public
def parse_kernel(text: object) -> Kernel:
    """Return the kernel whose text is `text`: ``parse_kernel(str(knl)) == knl``.

    Nothing is filled in: the text of a kernel says everything.  As in `make_kernel`, its result has
    to be determined; a kernel with steps that were taken with ``unsafe=True`` is believed to be.

    Parameters:
        text: what `print` shows of a kernel.

    Raises:
        MalformedText: if a line is not one that a kernel is printed as.
        IllFormedKernel: if the result of the kernel is not determined.
        UserError: another class of it, if the parts of the kernel are wrong.
    """
    parts, _ = _read(text, "parse_kernel")
    kernels = [part.kernel() for part in parts]
    found = link_all({kernel.name: kernel for kernel in kernels})
    for part in parts[::-1]:
        part.check(found[part.name])
    return found[parts[0].name]


@public
def parse_program(text: object) -> TranslationUnit:
    """Return the program whose text is `text`: ``parse_program(str(program)) == program``.

    Parameters:
        text: what `print` shows of a program.

    Raises:
        UserError: as `parse_kernel` does.
    """
    parts, entrypoints = _read(text, "parse_program")
    if not entrypoints:
        raise MalformedText(
            "this text has no line with the names of entry points",
            where=caller_location(),
            remedy="a program begins with one, such as 'ENTRY POINTS: main'; parse_kernel reads a "
            "kernel",
        )
    found = link_all({part.name: part.kernel() for part in parts})
    for part in parts[::-1]:
        part.check(found[part.name])
    unit = TranslationUnit(tuple(found.values()), frozenset())
    return unit.with_entrypoints(entrypoints)


def _read(text: object, who: str) -> tuple[list[_Parts], list[str]]:
    """Return what a text says of each kernel, and the names of entry points."""
    if not isinstance(text, str):
        raise InvalidArgument(
            f"{who} was given {text!r}, which is no text",
            where=caller_location(),
            remedy="pass what print(kernel) shows",
        )
    entrypoints: list[str] = []
    called = frozenset(re.findall(r"^KERNEL: *(\w+)", text, re.MULTILINE))
    found = [parts := _Parts(called)]
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.strip()
        if not code or not code.strip("-") or code.startswith("#"):
            continue
        if code.startswith("ENTRY POINTS:") and not parts.name:
            entrypoints = [name.strip() for name in code.partition(":")[2].split(",")]
            continue
        if code.startswith("KERNEL:") and parts.name:
            found.append(parts := _Parts(called))
            section = ""
        try:
            with defined_in_text(parts.reductions):
                section = _read_line(parts, section, code)
        except UserError as error:
            error.what = f"line {number}: {error.what}"
            error.line = number
            raise
    return found, entrypoints


@dataclass
class _Parts:
    """The parts of a kernel that have been read so far."""

    called: frozenset[str]
    name: str = ""
    target: str | None = None
    arguments: list[Argument] = field(default_factory=list[Argument])
    temporaries: list[TemporaryVariable] = field(default_factory=list[TemporaryVariable])
    derived_sizes: list[DerivedSize] = field(default_factory=list["DerivedSize"])
    domains: list[Domain] = field(default_factory=list[Domain])
    assumptions: Domain = field(default_factory=lambda: Domain(universe()))
    tags: dict[str, InameTag] = field(default_factory=new_dict)
    priorities: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    separations: list[Expression] = field(default_factory=list[Expression])
    reductions: dict[str, Special] = field(default_factory=new_dict)
    rules: list[SubstitutionRule] = field(default_factory=list["SubstitutionRule"])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    claims: list[Claim] = field(default_factory=list["Claim"])
    options: Options = field(default_factory=Options)
    functions: FunctionLines = field(default_factory=FunctionLines)
    preambles: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    written_names: dict[str, str] = field(default_factory=new_dict)
    later: Later | None = None

    def kernel(self) -> Kernel:
        if not self.name:
            raise MalformedText(
                "this text has no line with the name of a kernel",
                where=caller_location(),
                remedy="it begins with a line such as 'KERNEL: polygen_kernel'",
            )
        kernel = Kernel(
            name=self.name,
            domains=tuple(self.domains),
            instructions=tuple(self.instructions),
            arguments=tuple(self.arguments),
            temporaries=tuple(self.temporaries),
            substitutions=tuple(self.finished_rules.values()),
            priorities=tuple(self.priorities),
            separations=tuple(self.separations),
            assumptions=self.assumptions,
            target=self.target,
            claims=tuple(self.claims),
            options=self.options,
            preambles=tuple(self.preambles),
            derived_sizes=tuple(self.derived_sizes),
            later=self.later,
            location=caller_location(),
        ).copy(tags=self.tags, written_names=self.written_names)
        kernel = without_linear_subscripts(kernel)
        kernel = with_functions(with_libraries(kernel), self.functions.functions())
        symbols = self.functions.symbols()
        return with_symbols(kernel, symbols) if symbols else kernel

    def check(self, kernel: Kernel) -> None:
        """Check the kernel, which knows now what it calls."""
        verify(kernel)
        for iname in (*self.tags, *(i for p in self.priorities for i in p)):
            kernel.check_iname(iname)
        is_open = kernel.later is not None and kernel.later.open
        if not is_open and not any(isinstance(c, str) for c in kernel.expanded.claims):
            check_made(kernel)

    @property
    def _inames(self) -> frozenset[str]:
        return frozenset(iname for domain in self.domains for iname in domain.inames)

    @cached_property
    def finished_rules(self) -> dict[str, SubstitutionRule]:
        """The rules, once all of them are read: what is no variable in one is an iname."""
        names = NO_NAMES.union(*(walk.free_variables(r.expression) for r in self.rules))
        variables = {v.name for v in (*self.arguments, *self.temporaries, *self.derived_sizes)}
        return make_rules(self.rules, self._inames, names - variables)

    # --- one method for each section

    def add_argument(self, line: str) -> None:
        self.arguments.append(read_argument(line))

    def add_temporary(self, line: str) -> None:
        self.temporaries.append(read_temporary(line))

    def add_size(self, line: str) -> None:
        self.derived_sizes.append(read_size(line))

    def add_domain(self, line: str) -> None:
        domain = read_set(line)
        check_loops(domain, line)
        self.domains.append(Domain(domain))

    def add_assumption(self, line: str) -> None:
        self.assumptions = Domain(read_set(line))

    def add_tag(self, line: str) -> None:
        iname, tag = read_tag(line)
        self.tags[iname] = tag

    def add_priority(self, line: str) -> None:
        self.priorities.append(read_priority(line))

    def add_separation(self, line: str) -> None:
        self.separations.append(parse_expression(line))

    def add_reduction(self, line: str) -> None:
        operation = read_reduction(line)
        self.reductions[operation.name] = operation

    def add_rule(self, line: str) -> None:
        if self.instructions:
            raise MalformedText(
                "a substitution rule comes after instructions",
                where=caller_location(),
                excerpt=line,
                remedy="put SUBSTITUTION RULES before INSTRUCTIONS",
            )
        self.rules.append(parse_rule(line))

    def add_instruction(self, line: str) -> None:
        self.instructions.append(
            read_instruction(line, self._inames, self.finished_rules, self.called)
        )

    def add_function(self, line: str) -> None:
        self.functions.add(line)

    def add_preamble(self, line: str) -> None:
        self.preambles.append(read_preamble(line))

    def add_claim(self, line: str) -> None:
        self.claims.append(read_claim(line))

    def add_written_name(self, line: str) -> None:
        name, _, called = line.partition(":")
        self.written_names[name] = read_text(line, called.strip())

    def add_later(self, line: str) -> None:
        self.later = read_later(line, self.later or Later())

    def add_option(self, line: str) -> None:
        self.options = read_option(line, self.options)


_SECTIONS: Mapping[str, Callable[[_Parts, str], None]] = {
    "ARGUMENTS": _Parts.add_argument,
    "TEMPORARIES": _Parts.add_temporary,
    "SIZES": _Parts.add_size,
    "DOMAINS": _Parts.add_domain,
    "ASSUMPTIONS": _Parts.add_assumption,
    "INAME TAGS": _Parts.add_tag,
    "PRIORITIES": _Parts.add_priority,
    "SEPARATIONS": _Parts.add_separation,
    "REDUCTIONS": _Parts.add_reduction,
    "FUNCTIONS": _Parts.add_function,
    "SUBSTITUTION RULES": _Parts.add_rule,
    "INSTRUCTIONS": _Parts.add_instruction,
    "PREAMBLES": _Parts.add_preamble,
    "CLAIMS": _Parts.add_claim,
    "OPTIONS": _Parts.add_option,
    "NAMES": _Parts.add_written_name,
    "LATER": _Parts.add_later,
}


_TITLE = re.compile(r"[A-Z][A-Z ]*:\s*")


def _read_line(parts: _Parts, section: str, line: str) -> str:
    """Read a line of `section`, and return the section that the next one is in."""
    title, colon, rest = line.partition(":")
    if colon and not rest and title in _SECTIONS:
        return title
    if not section and title in ("KERNEL", "TARGET") and rest.strip():
        if title == "KERNEL":
            check_function_name(rest.strip())
            parts.name = rest.strip()
        elif rest.strip() not in TARGET_NAMES:
            raise unknown_target(rest.strip())
        else:
            parts.target = rest.strip()
    elif section and not _TITLE.fullmatch(line):
        _SECTIONS[section](parts, line)
    else:
        raise MalformedText(
            "this is no line of a kernel's text",
            where=caller_location(),
            excerpt=line,
            remedy=did_you_mean(title, (*_SECTIONS, "KERNEL", "TARGET")),
        )
    return section
