"""Typed expressions as C: the table of rules, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from polygen.analysis.typing.kinds import Kind
from polygen.analysis.typing.random_numbers import GENERATORS
from polygen.errors import InternalError, TypeNotSupported
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, computed_in, is_bfloat16, is_integer, is_short_float
from polygen.ir.expression import Expression
from polygen.ir.layout import has_vectors
from polygen.lower.program import Declare, Node
from polygen.targets.expressions import arithmetic_rules
from polygen.targets.expressions import logic_rules as logic
from polygen.targets.expressions.call_rules import print_call, print_component
from polygen.targets.expressions.common_rules import Printer, Rule
from polygen.targets.expressions.name_facts import Names, Uses
from polygen.targets.expressions.typed_terms import ATOM, SUM, Term, promoted
from polygen.targets.lanes.lane_printer import LanePrinter
from polygen.targets.lanes.lane_rules import LANE_RULES
from polygen.targets.languages.target import BOOL, FLOAT16, FLOAT32, FLOAT64, SHORT_NAMES, Target

RULES: Mapping[type, Rule] = {
    ex.Variable: logic.print_variable,
    ex.Subscript: logic.print_subscript,
    ex.Call: print_call,
    ex.Component: print_component,
    ex.Sum: arithmetic_rules.print_sum,
    ex.Product: arithmetic_rules.print_product,
    ex.Quotient: arithmetic_rules.print_quotient,
    ex.FloorDiv: arithmetic_rules.print_floor_div,
    ex.Remainder: arithmetic_rules.print_remainder,
    ex.Power: arithmetic_rules.print_power,
    ex.Min: logic.print_min,
    ex.Max: logic.print_max,
    ex.Comparison: logic.print_comparison,
    ex.LogicalAnd: logic.print_and,
    ex.LogicalOr: logic.print_or,
    ex.LogicalNot: logic.print_not,
    ex.If: logic.print_if,
    ex.BitwiseAnd: logic.print_bits,
    ex.BitwiseOr: logic.print_bits,
    ex.BitwiseXor: logic.print_bits,
    ex.BitwiseNot: logic.print_bitwise_not,
    ex.LeftShift: logic.print_left_shift,
    ex.RightShift: logic.print_right_shift,
}


class ExpressionPrinter:
    """Prints the expressions of one source, and notes what they use.

    Parameters:
        target: whose C it is.
        names: what is known of the names that expressions mention.
    """

    def __init__(self, target: Target, names: Names) -> None:
        self._printer = Printer(target, RULES, names)
        self._in_lanes: LanePrinter | None = None

    @property
    def uses(self) -> Uses:
        """The needs of the printed text."""
        return self._printer.uses

    @property
    def aliases(self) -> dict[str, str]:
        """Indices that are not declared, and which others, always the same, they are written as."""
        return self._printer.aliases

    def set_aliases(self, aliases: dict[str, str]) -> None:
        """Let these names be written as others from now on, and no others."""
        self._printer.aliases = aliases

    @property
    def copied(self) -> frozenset[str]:
        """Scalars of which there may be a copy that can take their place."""
        return self._printer.names.copied

    def is_alias(self, node: Node) -> bool:
        """Tell whether a node says that an index is another one, and let it be called that."""
        if (
            not isinstance(node, Declare)
            or node.insn_id
            or not isinstance(node.initial, ex.Variable)
        ):
            return False
        self.aliases[node.name] = self.aliases.get(node.initial.name, node.initial.name)
        return True

    def is_index(self, name: str) -> bool:
        """Tell whether a name is a loop counter or a size: nothing assigns to it."""
        return self._printer.names.kinds.get(name) is int

    @property
    def counter_type(self) -> str:
        """The target's name of the type of loop counters."""
        return self.type_name(self._printer.index_dtype)

    def counter_type_of(self, iname: str) -> str:
        """Return what the target calls the type of a loop's counter: a wider one for wide data."""
        return self.type_name(self._printer.names.dtypes.get(iname, self._printer.index_dtype))

    @property
    def index_dtype(self) -> DType:
        """The type of loop counters and subscripts."""
        return self._printer.index_dtype

    @property
    def asks_in_turn(self) -> bool:
        """Whether conditions that are seldom asked cost less than to ask all: see `Target`."""
        return self._printer.target.asks_in_turn

    def declared_type(self, name: str) -> DType:
        """Return the type that a variable, or the elements of an array, are declared with."""
        return self._printer.names.dtypes[name]

    def held_type(self, name: str) -> DType:
        """Return the type that a variable has in memory: halves that are not passed are floats."""
        dtype, stored = self.declared_type(name), name in self._printer.names.stored
        if name in self._printer.names.wide:
            return promoted(dtype)
        return FLOAT32 if is_short_float(dtype) and not stored else dtype

    def is_real(self, name: str) -> bool:
        """Tell whether a variable is a floating-point number."""
        return self.declared_type(name).kind == "f"

    def alignment(self, name: str) -> int | None:
        """Return what an array is to begin at a multiple of, in bytes, if anything needs that."""
        found = self._printer.names.alignments.get(name)
        return None if found is None else found[0]

    def accumulation(self, operation: str, name: str) -> str:
        """Return what the target calls an operation that accumulates in a variable."""
        dtype = self.declared_type(name)
        if operation not in ("max", "min") or dtype.kind != "f":
            return operation
        helper = f"pg_{operation}_{SHORT_NAMES[dtype.name]}"
        self.uses.accumulations.add((helper, self.type_name(dtype)))
        return helper

    def overlapping(self, name: str) -> frozenset[str]:
        """Return the names of the arrays that a write of a variable may change, too."""
        return self._printer.names.overlapping.get(name, frozenset())

    def new_name(self, like: str, dtype: DType) -> str:
        """Return a name that nothing has, for a variable of this type."""
        names = self._printer.names
        name, count = like, 0
        while name in names.kinds or name in names.dtypes:
            name, count = f"{like}_{count}", count + 1
        names.kinds[name] = names.dtypes[name] = dtype
        return name

    def type_name(self, dtype: DType) -> str:
        """Return what the target calls a type, and note that the text mentions it.

        Raises:
            TypeNotSupported: if it has no such type.
        """
        return self._printer.type_name(dtype)

    def variable_type(self, dtype: DType) -> str:
        """Return what the target calls the type of a variable; a ``float`` for types of 16 bits.

        Raises:
            TypeNotSupported: if it has no such type.
        """
        return self.type_name(promoted(dtype) if dtype == FLOAT16 else computed_in(dtype))

    def element_type(self, dtype: DType, vector: int | None) -> str:
        """Return what the target calls the type of what an array holds: numbers, or vectors.

        Parameters:
            dtype: the type of the numbers.
            vector: how many a vector has; None for numbers alone.

        Raises:
            TypeNotSupported: if it has no such type.
        """
        name = self.type_name(dtype)
        if vector is None or vector == 1:
            return name
        target = self._printer.target
        if not has_vectors(dtype):
            raise TypeNotSupported(
                f"target '{target.name}' has no vectors of numbers of type '{dtype.name}'",
                remedy="use stride:1 in place of vec",
            )
        return self._printer.vector_type(dtype, vector)

    def value(self, node: Expression, dtype: DType, *, exact: bool = False) -> str:
        """Return an expression that C converts to `dtype`, when assigned, as NumPy would.

        Parameters:
            node: the expression.
            dtype: the type.
            exact: whether it is converted already, for what is no assignment.

        Raises:
            TypeNotSupported: if the target lacks a type that is needed.
            LiteralOutOfRange: if an integer is used at a type that cannot hold it.
            TypeMismatch: if an operation does not exist for its operands.
            UnknownFunction: if the target has no such function.
        """
        if is_bfloat16(dtype):
            return self.unpacked(self.packed(node))
        self._printer.annotate(node)
        term = self._converted(self._printer.term(node, dtype), dtype)
        text = (self._printer.exact(term) if exact else term).text
        self._printer.forget()
        return text

    def shuffled(self, node: ex.Variable | ex.Subscript, dtype: DType, distance: int) -> str:
        """Return the value that a scalar has for another work item of the sub-group.

        Parameters:
            node: the scalar.
            dtype: its type.
            distance: how many work items further on that one is.
        """
        target, name = self._printer.target, ex.name_of(node)
        if target.shuffle is None:
            raise InternalError(f"registers of others in a program for target '{target.name}'")
        name = self.aliases.get(name, name)
        self.uses.names.add(name)
        self.uses.types.add("shuffle")
        if dtype.kind != "c":
            return target.shuffle(name, distance)
        parts = [target.complex_forms[part].format(name) for part in ("real", "imag")]
        read = [target.shuffle(part, distance) for part in parts]
        return target.complex_literal.format(self.type_name(dtype), *read)

    def unpacked(self, bits: str) -> str:
        """Return the number that the 16 bits of a bfloat16 are."""
        term = Term(bits, ATOM, FLOAT32, FLOAT32)
        return self._printer.helper("from_bfloat16", FLOAT32, [term]).text

    def packed(self, node: Expression) -> str:
        """Return the 16 bits of an expression as a bfloat16."""
        p = self._printer
        p.annotate(node)
        term = p.helper("to_bfloat16", FLOAT32, [p.convert(p.term(node, FLOAT32), FLOAT32)])
        p.forget()
        return term.text

    def assignment(self, target: ex.Variable | ex.Subscript, value: Expression) -> str:
        """Return ``target = value``, or ``target += ...`` where the value is such a sum.

        Raises:
            TypeNotSupported, LiteralOutOfRange, TypeMismatch, UnknownFunction: see `value`.
        """
        p = self._printer
        target = logic.in_memory(p, target)
        declared = p.names.dtypes.get(ex.name_of(target))
        if declared is not None and is_bfloat16(declared):
            return self._rounding(target, value, declared)
        p.annotate(target)
        left = p.term(target, FLOAT64)
        place = logic.written_component(p, target) or left.text
        p.annotate(value)
        if left.dtype == BOOL and (operator := logic.gathering(target, value)):
            assert isinstance(value, ex.LogicalAnd | ex.LogicalOr)
            text = p.truth(p.term(value.children[0], BOOL)).text
            p.forget()
            return f"{place} {operator}= {text}"
        right = p.term(value, left.dtype)
        if ex.name_of(target) in p.names.wide:  # where storing it does not make it smaller
            right = p.exact(right) if right.dtype == left.dtype else p.convert(right, left.dtype)
        # Storing a half rounds.
        rounds = left.dtype == FLOAT16 and ex.name_of(target) in p.names.stored
        if not rounds:
            right = self._converted(right, left.dtype)
        elif right.dtype.kind != "f" and p.target.store_half:
            right = p.convert(right, FLOAT32)  # for integers, there is no such function
        p.forget()
        if rounds and isinstance(target, ex.Subscript) and p.target.store_half:
            index, (name, _) = logic.index_text(p, target), logic.place_of(p, target)
            return p.target.store_half.format(right.text, index, name)
        updates = p.target.half_updates or not rounds
        if updates and right.split is not None and right.split[0] == left.text:
            _, operator, operand = right.split
            return f"{place} {operator}= {operand.text}"
        return f"{place} = {right.text}"

    def address(self, node: ex.Variable | ex.Subscript) -> str:
        """Return a pointer to a variable, or to an element of an array."""
        return f"&{self.target(logic.in_memory(self._printer, node))}"

    def in_lanes(self, lanes: tuple[str, int]) -> LanePrinter:
        """Return what prints expressions for all lanes of an iname, of that and their number."""
        if self._in_lanes is None:
            self._in_lanes = LanePrinter(self._printer, LANE_RULES)
        p = self._in_lanes
        (p.iname, p.count), p.aliases = lanes, self._printer.aliases
        return p

    def _rounding(self, target: ex.Variable | ex.Subscript, value: Expression, dtype: DType) -> str:
        """Return the assignment to a bfloat16: the bits in an array that is passed, or a float."""
        p = self._printer
        if not (isinstance(target, ex.Subscript) and ex.name_of(target) in p.names.stored):
            return f"{self.target(target)} = {self.value(value, dtype)}"
        name, _ = logic.place_of(p, target)
        p.uses.names.add(name)
        return f"{name}[{logic.index_text(p, target)}] = {self.packed(value)}"

    def element(self, node: ex.Variable | ex.Subscript, space: str) -> str:
        """Return a variable or an element as it is in memory: a number, or the bits of one.

        Parameters:
            node: the variable, or the element.
            space: what a declaration in its address space begins with.
        """
        p, name = self._printer, ex.name_of(node)
        of_bits = is_bfloat16(self.held_type(name))
        halves = self.held_type(name) == FLOAT16 and p.target.load_half
        if not of_bits and not halves:
            return self.target(node)
        place = cast("ex.Subscript", logic.in_memory(p, node))
        array, _ = logic.place_of(p, place)
        p.uses.names.add(array)
        array = f"((volatile {space}ushort *) {array})" if halves else array
        return f"{array}[{logic.index_text(p, place)}]"

    def target(self, node: ex.Variable | ex.Subscript) -> str:
        """Return what is written to."""
        self._printer.annotate(node)
        text = self._printer.term(node, FLOAT64).text
        self._printer.forget()
        return text

    def type_of(self, node: Expression, at: DType) -> DType:
        """Return the type of an expression where it is used at a type."""
        found = self._printer.dtype(self._printer.annotate(node), at)
        self._printer.forget()
        return found

    def result_types(self, call: ex.Call) -> list[DType]:
        """Return the types of the results of a function that has several."""
        p = self._printer
        kind: Any = p.annotate(call)  # a type for each, a type with fields, or the same for all
        p.forget()
        if isinstance(kind, tuple):
            return [p.dtype(k, p.index_dtype) for k in cast("tuple[Kind, ...]", kind)]
        if kind.fields is None:
            return [kind] * GENERATORS[ex.name_of(call.function)].count
        return [kind[position] for position in range(len(kind.fields))]

    def structure(self, call: Expression) -> tuple[str, str]:
        """Return the type of a call of a function with several results, and the call."""
        self._printer.annotate(call)
        text = self._printer.term(call, self.index_dtype).text
        self._printer.forget()
        generator = GENERATORS.get(ex.name_of(call.function)) if isinstance(call, ex.Call) else None
        if generator is not None:
            names = self._printer.target.vector_names
            return names[generator.dtype.name, generator.count], text
        return f"struct {text.partition('(')[0]}_results", text

    def index(self, node: Expression, *, counted_up_to: bool = False) -> Term:
        """Return an expression of loop counters and sizes, such as a bound.

        Parameters:
            node: the expression.
            counted_up_to: any number that is not positive means the same as any other such.
        """
        p = self._printer
        truncated = counted_up_to and isinstance(node, ex.FloorDiv)
        p.bounding = True
        term = p.index_term(node, arithmetic_rules.print_truncated_div if truncated else None)
        p.bounding = False
        if promoted(term.c_type).kind == "u" and term.integer is None:
            # Counters are compared with it, and are signed.
            term = p.cast(term, term.dtype if term.dtype.kind == "i" else p.index_dtype)
        p.forget()
        return term

    def pointer(self, node: Expression) -> str:
        """Return a pointer to an element of an array, or to a variable without axes."""
        if not isinstance(node, ex.Variable | ex.Subscript):
            raise InternalError(f"{node!r} is no element of an array")
        place, name = logic.in_memory(self._printer, node), ex.name_of(node)
        self.uses.names.add(name)
        if isinstance(place, ex.Variable):
            return f"&{name}"
        offset = self.index(place.index)
        return name if offset.integer == 0 else f"{name} + {offset.within(SUM)}"

    def condition(self, node: Expression) -> str:
        """Return an expression that is true or false: what a statement is under."""
        self._printer.guarding = True
        text = self.value(node, BOOL)
        self._printer.guarding = False
        return text

    def _converted(self, term: Term, dtype: DType) -> Term:
        p = self._printer
        if dtype == BOOL:
            return p.truth(term)
        if dtype.kind == "c" and not p.target.complex_operators:
            return p.convert(term, dtype)
        narrower = is_integer(dtype) and dtype.itemsize <= term.dtype.itemsize
        return term if narrower else p.exact(term)
