"""The lines of a printed kernel: what each of them says."""

# ruff: noqa: D102  (each method is named like the rule of kernel.lark that it is for)

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields, replace
from typing import Any, TypeAlias, cast

import lark

from polygen.errors import MalformedText, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.array import (
    AddressSpace,
    Argument,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.dtype import DType, of_scalar
from polygen.ir.instruction import Instruction
from polygen.ir.later import NOT_JUDGED, PRIORITY, TAG, Later
from polygen.ir.layout import auto
from polygen.ir.names import check_name
from polygen.ir.operation import Special
from polygen.ir.options import CONTRACTIONS, Options, is_sub_group_size
from polygen.ir.sizes import UNBOUNDED, DerivedSize, OpenEnd
from polygen.ir.substitution import Rules
from polygen.ir.tags import InameTag, parse_tag
from polygen.language.calls import with_calls
from polygen.language.expression_nodes import element_type
from polygen.language.fetch_statements import with_fetch
from polygen.language.instructions import make_instruction
from polygen.language.layouts import with_layout
from polygen.language.nodes import Nodes
from polygen.language.parser import (
    located,
    parse_expression,
    parse_statement,
    parse_with,
)
from polygen.language.reductions import resolve_reductions
from polygen.language.refused import Refused
from polygen.language.rules import resolve_rules
from polygen.language.tables import read_elements, with_table
from polygen.language.user_reductions import CLAIMS, make_operation
from polygen.source import caller_location

_Children: TypeAlias = list[Any]


class KernelNodes(Nodes):
    """Makes lines of kernels: a method for each rule of kernel.lark."""

    def array_argument(self, children: _Children) -> Argument:
        name, dtype, *said = children
        return with_layout(GlobalArg(name.value, dtype, **_merged(said)))

    def constant_argument(self, children: _Children) -> Argument:
        name, dtype, *said = children
        return with_layout(ConstantArg(name.value, dtype, **_merged(said)))

    def image_argument(self, children: _Children) -> Argument:
        name, dtype, said = children
        return ImageArg(name.value, dtype, **said)

    def shape(self, children: _Children) -> dict[str, Any]:
        return {"shape": children[0]}

    def strides(self, children: _Children) -> dict[str, Any]:
        return {"strides": children[0]}

    def dim_tags(self, children: _Children) -> dict[str, Any]:
        return {"dim_tags": children[0].value[1:-1]}

    def automatic_offset(self, _children: _Children) -> dict[str, Any]:
        return {"offset": auto}

    def offset(self, children: _Children) -> dict[str, Any]:
        return {"offset": children[0]}

    def alignment(self, children: _Children) -> dict[str, Any]:
        return {"alignment": children[0]}

    def dim_names(self, children: _Children) -> dict[str, Any]:
        return {"dim_names": tuple([token.value for token in children])}

    def scalar_argument(self, children: _Children) -> Argument:
        name, dtype = children
        return ValueArg(name.value, of_scalar(name.value, dtype))

    def temporary(self, children: _Children) -> TemporaryVariable:
        name, dtype, *rest = children
        table = rest.pop() if rest and isinstance(rest[-1], lark.Token) else None
        said: dict[str, Any] = _merged(
            [{"address_space": r} if isinstance(r, AddressSpace) else r for r in rest]
        )
        if table is not None:
            said["initializer"] = _elements(table, dtype, said.get("shape", ()))
            said["read_only"] = True
        return with_layout(with_table(TemporaryVariable(name.value, dtype, **said)))

    def table(self, children: _Children) -> lark.Token:
        found: lark.Token = children[0]
        return found

    def address_space(self, children: _Children) -> AddressSpace:
        names = {space.value: space for space in AddressSpace}
        if children[0] not in names:
            raise Refused(
                f"'{children[0]}' is no address space",
                children[0].start_pos,
                did_you_mean(children[0], names),
            )
        return names[children[0]]

    def shuffled(self, _children: _Children) -> dict[str, Any]:
        return {"shuffled": True}

    def base_storage(self, children: _Children) -> dict[str, Any]:
        return {"base_storage": children[0].value}

    def type(self, children: _Children) -> DType | None:
        return element_type(children[0]) if children else None

    def reduction(self, children: _Children) -> Special:
        name, first, second, combined, identity, *claims = children
        arguments = first.value, second.value
        said = claims[0] if claims else ()
        return make_operation(name.value, arguments, combined, _literal(identity), said)

    def by_type(self, children: _Children) -> dict[str, Any]:
        return dict(children)

    def of_type(self, children: _Children) -> tuple[str, Any]:
        element_type(children[0])
        return children[0].value, _literal(children[1])

    def claims(self, children: _Children) -> tuple[str, ...]:
        for token in children:
            if token.value not in CLAIMS:
                raise Refused(
                    f"'{token}' is nothing that is claimed of a reduction",
                    token.start_pos,
                    did_you_mean(token.value, CLAIMS),
                )
        return tuple(claim for claim in CLAIMS if claim in children)

    def unknown(self, _children: _Children) -> None:
        return None

    def aliasing(self, _children: _Children) -> dict[str, Any]:
        return {"may_alias": True}

    def tag(self, children: _Children) -> tuple[str, InameTag]:
        return (children[0].value, parse_tag(children[1].value))

    def priority(self, children: _Children) -> tuple[str, ...]:
        return tuple(token.value for token in children)


def _merged(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def _elements(token: lark.Token, dtype: DType | None, shape: tuple[Any, ...]) -> Any:
    """Return the elements of a table, in its shape."""
    start = token.start_pos or 0
    if dtype is None:
        raise Refused("a table of constants has a type", start, "write it, as in 'type: int32'")
    try:
        return read_elements(token.value, dtype).reshape(shape)
    except (ValueError, OverflowError, TypeError):
        raise Refused(
            f"these are no elements of type {dtype.name} in this shape",
            start,
            "write as many numbers as the shape has elements, row by row",
        ) from None


def _literal(node: Any) -> Any:
    """Return a number; infinity is written ``inf``."""
    infinity = ex.Variable("inf")
    if node == infinity:
        return math.inf
    return -math.inf if node == ex.negated(infinity) else node


def _parse(line: str, start: str) -> Any:
    return parse_with("kernels", line, start, MalformedText)


def read_argument(line: str) -> Argument:
    """Return the argument that a line such as ``n: ValueArg, type: int32`` describes."""
    argument: Argument = _parse(line, "argument_line")
    check_name(argument.name)
    return argument


def read_temporary(line: str) -> TemporaryVariable:
    """Return the temporary that a line such as ``t: type: float32, shape: (16)`` describes."""
    temporary: TemporaryVariable = _parse(line, "temporary")
    check_name(temporary.name)
    return temporary


def read_size(line: str) -> DerivedSize:
    """Return the derived size of a line such as ``n_m = n * m``."""
    name, equals, text = line.partition(" = ")
    if not equals:
        raise located(
            MalformedText,
            "a derived size is a product of others",
            line,
            0,
            "it is written n_m = n * m, with parentheses around what is no name: (n - 1) * m",
        )
    check_name(name)
    if text.strip() == UNBOUNDED:
        return OpenEnd(name)
    return DerivedSize(name, None, tuple(map(parse_expression, text.split(" * "))))


def read_reduction(line: str) -> Special:
    """Return the operation of a line such as ``gcd(a, b) := if(b > 0, a % b, a), identity: 0``."""
    found: Special = _parse(line, "reduction")
    return found


def read_tag(line: str) -> tuple[str, InameTag]:
    """Return the iname and the tag of a line such as ``i: g.0``."""
    found: tuple[str, InameTag] = _parse(line, "tag")
    return found


def read_priority(line: str) -> tuple[str, ...]:
    """Return the inames of a line such as ``i, j``."""
    found: tuple[str, ...] = _parse(line, "priority")
    return found


def read_later(line: str, later: Later) -> Later:
    """Return what a kernel is to get later, with what a line such as ``priority: i, j`` says."""
    what, _, said = line.partition(": ")
    if what == NOT_JUDGED and said:
        return replace(later, open=said)
    if what == PRIORITY:
        return later.with_priority(read_priority(said))
    if what == TAG:
        return replace(later, tags=(*later.tags, read_tag(said)))
    raise MalformedText(
        "this says nothing of what a kernel gets later",
        where=caller_location(),
        excerpt=line,
        remedy=f"lines begin with '{NOT_JUDGED}:', '{PRIORITY}:' or '{TAG}:'",
    )


def read_instruction(
    line: str, inames: frozenset[str], rules: Rules, called: Collection[str] = ()
) -> Instruction:
    """Return the instruction of a line such as ``[i] a[i] = 0  {id=insn}``.

    Parameters:
        line: with all inames that the instruction is within, and all its dependencies.
        inames: those of the kernel.
        rules: those of the kernel.
        called: the names of kernels.
    """
    (statement,) = with_calls([parse_statement(line)], dict.fromkeys(called))
    statement = resolve_reductions(with_fetch(resolve_rules(statement, rules)), inames)
    if statement.id is None or statement.inames is None or statement.declared:
        lacks = "id" if statement.id is None else "list of inames"
        raise located(
            MalformedText,
            "a temporary is declared among the instructions"
            if statement.declared
            else f"this instruction has no {lacks}",
            line,
            0,
            "the instruction of a printed kernel looks like [i] a[i] = 0  {id=insn, dep=other}; "
            "make_kernel reads what people write",
        )
    if found := [name for name in _OPEN if getattr(statement, name)]:
        raise located(
            MalformedText,
            f"the option {_OPEN[found[0]]} leaves open what a printed kernel says",
            line,
            0,
            "write dep=, nosync= and inames= with all that there is; make_kernel reads what people "
            "write",
        )
    return make_instruction(
        statement,
        statement.id,
        statement.inames,
        frozenset(statement.dependencies),
        frozenset(statement.no_sync),
        caller_location(),
    )


_OPEN = {
    "dependency_queries": "dep_query=",
    "no_sync_queries": "nosync_query=",
    "exhaustive": "dep=*",
    "more_inames": "+inames=",
    "duplicated": "dup=",
}


def read_option(line: str, options: Options) -> Options:
    """Return `options` with what a line such as ``return_dict: True`` says.

    Raises:
        MalformedText: if there is no such option, or if it has values of another type.
    """
    name, _, text = line.partition(":")
    known = {f.name: getattr(options, f.name) for f in fields(Options)}
    if name not in known:
        raise located(
            MalformedText, f"there is no option '{name}'", line, 0, did_you_mean(name, known)
        )
    try:
        value: Any = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        value = ""  # which no option has
    fits, remedy = _values_of(name)
    if not fits(value):
        at = len(line) - len(text.lstrip())
        what = f"the option '{name}' does not have this value"
        raise located(MalformedText, what, line, at, remedy)
    return replace(options, **{name: value})


def _values_of(name: str) -> tuple[Callable[[object], bool], str]:
    """Return what tells the values of an option from others, and what to write."""
    if name == "sub_group_size":
        return is_sub_group_size, "write 0 or a power of two"
    if name == "contract":
        return CONTRACTIONS.__contains__, "write 'fast', 'sums' or 'off'"
    default = getattr(Options(), name)
    if isinstance(default, bool):
        return lambda value: isinstance(value, bool), "write True or False"
    if isinstance(default, int):
        return _is_count, "write a number"
    return _are_strings, "write a tuple of strings"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_strings(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(item, str) for item in cast("tuple[object, ...]", value)
    )
