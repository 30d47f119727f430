"""The statements of random kernels: a function for each construct."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

import polygen as pg
from polygen.ir.fetches import FETCHES
from tests.random_kernels.functions import CALLS
from tests.random_kernels.more_statements import MORE
from tests.random_kernels.nest import Line, Nest
from tests.random_kernels.sources import Source
from tests.random_kernels.values import Value, computed, joined, largest

Statement: TypeAlias = Callable[[Nest], None]
INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _id(nest: Nest) -> str:
    return nest.maker.new("s")


def _assign(nest: Nest) -> None:
    """An element of an array of its own, perhaps under a condition."""
    inames, line_id = nest.inames(), _id(nest)
    reductions = nest.maker.reductions
    values = nest.expressions(inames)
    value = values.of(nest.kind(), 3)
    predicate = values.of("b", 1).text if nest.maker.chance(0.25) else ""
    target, source = nest.target(value, inames, line_id)
    bare = not values.needed  # else it might take over loops
    # With nothing before it, it may as well have loops of its own.
    own = bare and inames and not (nest.bounds or nest.maker.in_sequence)
    own = own and reductions == nest.maker.reductions and nest.maker.chance(0.5)
    options = (f"dup={':'.join(inames)}",) if own else ()
    text = f"{target} = {value.text}"
    nest.add(Line(text, line_id, inames, values.needed, predicate, options, bare), source)


def _scalar(nest: Nest) -> None:
    """A temporary of the work item."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    value = values.of(nest.kind(), 2)
    name = nest.maker.new("t")
    dtype = nest.storage(value)
    declared = dtype.name
    if nest.maker.chance(0.4):
        dtype, declared = value.dtype, ""
    source = Source(
        name, value.stored(name, dtype), inames, (), frozenset({line_id}), True, argument=False
    )
    nest.add(Line(f"<{declared}> {name} = {value.text}", line_id, inames, values.needed), source)


def _accumulate(nest: Nest) -> None:
    """One element that all iterations of the innermost loop change, one after the other."""
    inames, line_id = nest.inames(1), _id(nest)
    if not inames:
        return
    values = nest.expressions(inames)
    value = values.of("i", 2)
    target, source = nest.target(value, inames[:-1], line_id)
    # Whoever is outside of the loop would have to come behind it.
    source.repeated, source.inames = True, inames
    source.value = Value(source.name, source.value.dtype, largest(source.value.dtype))
    dtype = source.value.dtype.name
    update = nest.maker.random.choice(("+=", "-=", "*=", "^=", "|="))
    text = f"{target} {update} {dtype}({value.text})"
    if nest.maker.chance(0.3):
        text = f"{target} = {dtype}({value.text}) - {target}"
    nest.add(Line(text, line_id, inames, values.needed), source)


def _recurrence(nest: Nest) -> None:
    """What an iteration writes, a later one reads."""
    inames, line_id = nest.inames(1), _id(nest)
    if not inames:
        return
    values = nest.expressions(inames)
    value = values.of("i", 2)
    target, source = nest.target(value, inames, line_id)
    at = nest.maker.random.randrange(len(inames))
    places = [f"{i} + {nest.maker.OFFSET}" for i in source.order]
    places[at] = f"{source.order[at]} + {nest.maker.OFFSET - nest.maker.random.randint(1, 2)}"
    dtype = source.value.dtype
    source.value = Value(source.name, dtype, largest(dtype))
    text = f"{target} = {source.at(places)} + {dtype.name}({value.text})"
    nest.add(Line(text, line_id, inames, values.needed), source)


def _several(nest: Nest) -> None:
    """Two assignees at once."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    first, second = values.of(nest.kind(), 2), values.of(nest.kind(), 2)
    a, from_a = nest.target(first, inames, line_id)
    if nest.maker.chance(0.3):
        name = nest.maker.new("t")
        stored = second.named(name)
        b, from_b = (
            f"<> {name}",
            Source(name, stored, inames, (), frozenset({line_id}), True, False),
        )
    else:
        b, from_b = nest.target(second, inames, line_id)
    text = f"{a}, {b} = {first.text}, {second.text}"
    nest.add(Line(text, line_id, inames, values.needed), from_a, from_b)


def _swap(nest: Nest) -> None:
    """Two elements that change places."""
    inames, line_id = nest.inames(), _id(nest)
    zero = Value("0", INT32, 16)
    a, from_a = nest.target(zero, inames, line_id)
    b, from_b = nest.target(zero, inames, line_id)
    dtype = from_a.value.dtype
    nest.maker.data[from_b.name] = replace(nest.maker.data[from_b.name], dtype=dtype)
    for source in from_a, from_b:
        source.value = Value(source.name, dtype, largest(dtype))
    if nest.maker.chance(0.5):
        nest.add(_fetch(nest, inames, (a, b), dtype.name, line_id), from_a, from_b)
        return
    nest.add(Line(f"{a}, {b} = {b}, {a} + 1", line_id, inames, set()), from_a, from_b)


def _fetch(
    nest: Nest, inames: tuple[str, ...], elements: tuple[str, str], dtype: str, line_id: str
) -> Line:
    """Return an update of an element that gives another one the old value."""
    maker, values = nest.maker, nest.expressions(inames)
    operand = f"{dtype}({values.of('i', 1).text})"
    kept, updated = elements
    name = maker.random.choice([*(n for n in FETCHES if n != "fetch_truediv"), "own"])
    operand = f"{dtype}(3)" if name in _NOT_ZERO else operand
    given = [updated, *[operand] * len(FETCHES[name].takes)] if name in FETCHES else []
    text = f"{kept} = {name}({', '.join(given)})"
    if name == "own":
        text = f"{kept}, {updated} = {updated}, {operand} - {updated}"
    few_bits = np.dtype(dtype).itemsize < 4  # which CUDA has for one device alone
    words = [word for word in maker.memory() if not (few_bits and word == "all_devices")]
    words += ["any_order"] if maker.chance(0.5) else []
    option = f"atomic={':'.join(words)}" if words else "atomic"
    maker.constructs.append("old value")
    return Line(text, line_id, inames, values.needed, options=(option,))


_NOT_ZERO = ("fetch_div", "fetch_mod", "fetch_lshift", "fetch_rshift")


def _parts(nest: Nest) -> None:
    """Both results of a function of the user's."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    value = values.of("i", 1)
    part = Value("", INT32, 56)
    a, from_a = nest.target(part, inames, line_id)
    b, from_b = nest.target(part, inames, line_id)
    text = f"{a}, {b} = own_parts(int32({value.text}))"
    nest.add(Line(text, line_id, inames, values.needed), from_a, from_b)


def _branches(nest: Nest) -> None:
    """A block with branches, each of which writes the same element."""
    inames = nest.inames()
    values = nest.expressions(inames)
    a, b = values.of("i", 2), values.of("i", 1)
    depth = 0 if nest.maker.in_sequence else 1  # a reduction would be in a loop with what follows
    conditions = values.of("b", depth).text, values.of("b", depth).text
    ids = [_id(nest) for _ in range(3)]
    either = computed("", joined(a, b), max(a.most, b.most, 3), 0)
    if either.kind != "i":  # of 64 bits, with a sign and without
        return
    target, source = nest.target(either, inames, ids[0])
    source.writers = frozenset(ids)
    texts = (f"{target} = {a.text}", f"{target} = {b.text}", f"{target} = 3")
    heads = (f"if {conditions[0]}", f"elif {conditions[1]}", "else")
    for head, text, line_id in zip(heads, texts, ids, strict=True):
        nest.maker.lines.append(head)
        nest.add(Line(text, line_id, inames, set(values.needed)))
    nest.maker.lines.append("end")
    nest.maker.sources.append(source)


def _staged(nest: Nest) -> None:
    """A temporary array, filled in one loop and read in another."""
    maker = nest.maker
    inames, fill, line_id = nest.inames(), _id(nest), _id(nest)
    over, along, name = maker.new("u"), maker.new("r"), maker.new("t")
    maker.domains += [f"{{ [{over}]: 0<={over}<4 }}", f"{{ [{along}]: 0<={along}<4 }}"]
    values = nest.expressions((*inames, over))
    value = values.of(nest.kind(), 2)
    dtype = nest.storage(value)
    space = maker.random.choice(tuple(pg.AddressSpace))
    maker.data[name] = pg.TemporaryVariable(name, dtype, (4,), space)
    nest.add(Line(f"{name}[{over}] = {value.text}", fill, (*inames, over), values.needed))
    stored = value.stored(name, dtype)
    if value.kind == "b":
        total, wide = f"any({along}, {name}[3 - {along}])", Value("", dtype, 1)
    else:
        total, wide = f"sum({along}, {name}[3 - {along}])", _sum_of(stored, 4)
    target, source = nest.target(wide, inames, line_id)
    nest.add(Line(f"{target} = {total}", line_id, inames, {fill}), source)


def _sum_of(value: Value, trips: int) -> Value:
    dtype = value.dtype
    if value.kind == "i":
        dtype = np.dtype(np.int64 if dtype.kind == "i" else np.uint64)
    ulps = 1 if value.exact else trips
    return computed("", dtype, trips * value.most, trips * value.error, ulps)


def _atomic(nest: Nest) -> None:
    """Updates of a few elements, from anywhere."""
    maker = nest.maker
    inames = nest.inames()
    name = maker.new("h")
    dtype = maker.random.choice(("int32", "int64", "uint32", "uint64", "float64"))
    operation = maker.random.choice("+-" if dtype[0] == "f" else "+-&|^<>")
    maker.data[name] = pg.GlobalArg(name, dtype, (9,))
    writers: set[str] = set()
    for _ in range(maker.random.choice((1, 1, 2))):
        line_id = _id(nest)
        values = nest.expressions(inames)
        operand = "2" if dtype[0] == "f" else f"{dtype}({values.of('i', 1).text})"
        place = f"{name}[({values.affine()}) % 9]"
        if maker.chance(0.4):
            maker.input("int32", "idx")
            place = f"{name}[idx[({values.affine()}) % 9]]"
        forms = {
            "<": f"{place} = min({place}, {operand})",
            ">": f"{place} = max({operand}, {place})",
        }
        text = forms.get(operation, f"{place} {operation}= {operand}")
        words = maker.memory() if maker.chance(0.7) else []
        words += ["update"] if maker.chance(0.3) else []
        option = f"atomic={':'.join(words)}" if words else "atomic"
        nest.add(Line(text, line_id, inames, values.needed, options=(option,)))
        writers.add(line_id)
    kind = np.dtype(dtype)
    value = Value(name, kind, 5e3 if kind.kind == "f" else largest(kind))
    maker.sources.append(Source(name, value, inames, ("",), frozenset(writers), hidden=True))


def _verbatim(nest: Nest) -> None:
    """Two statements in C."""
    maker = nest.maker
    inames, before, line_id = nest.inames()[:1], _id(nest), _id(nest)
    if maker.in_sequence and inames != nest.names:
        return
    values = nest.expressions(inames)
    dtype = maker.random.choice(("int32", "float64"))
    value = values.of("i", 1)
    name, first, second = maker.new("t"), maker.output(dtype, 1), maker.output(dtype, 1)
    given = f"<{dtype}> {name} = {dtype}(int16({value.text}))"
    nest.add(Line(given, before, inames, values.needed))
    place = f"{inames[0]} + {maker.OFFSET}" if inames else "1"
    code = f"{first}[k] = {name} + 1; {second}[k] = {first}[k] - {name};"
    writes = maker.random.choice((f"{first}, {second}", f"{first}[{place}], {second}[{place}]"))
    text = f'... code(k={place}) "{code}" reads({name}, {first}) writes({writes})'
    stored = Value(first, np.dtype(dtype), 2.0**15 + 1)
    source = Source(first, stored, inames, inames or ("",), frozenset({line_id}), hidden=True)
    nest.add(Line(text, line_id, inames, {before}), source)


def _best(nest: Nest) -> None:
    """The least or greatest value, and where it is."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    over = values.opened()
    value = values.exact(nest.maker.random.choice("if"), 2)
    iname = values.closed(over)
    a, from_a = nest.target(value, inames, line_id)
    dtype = from_a.value.dtype
    # Of nothing, it is an infinity or the largest integer.
    most = largest(dtype) if value.kind == "i" else np.inf
    from_a.value = Value(from_a.name, dtype, most, from_a.value.error)
    b, from_b = nest.target(Value("", INT32, largest(INT32)), inames, line_id)
    operation = nest.maker.random.choice(("argmin", "argmax"))
    text = f"{a}, {b} = {operation}({iname}, {value.text}, int32({iname}))"
    nest.add(Line(text, line_id, inames, values.needed), from_a, from_b)


def _segmented(nest: Nest) -> None:
    """A sum that begins anew where a condition holds."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    over = values.opened()
    value, starts = values.over(over, values.of("i", 1)), values.of("b", 1)
    iname = values.closed(over)
    wide = _sum_of(value, 1).dtype
    a, from_a = nest.target(Value("", wide, largest(wide)), inames, line_id)
    operation = nest.maker.random.choice(("sum", "product"))
    flag = nest.maker.new("t")
    text = f"{a}, <> {flag} = segmented({operation})({iname}, {value.text}, {starts.text})"
    from_flag = Source(
        flag, Value(flag, np.dtype(np.bool_), 1), inames, (), frozenset({line_id}), True, False
    )
    nest.add(Line(text, line_id, inames, values.needed), from_a, from_flag)


def _scan(nest: Nest) -> None:
    """What has come so far in the innermost loop."""
    inames, line_id = nest.inames(1), _id(nest)
    if not inames:
        return
    maker = nest.maker
    over = maker.new("r")
    upper = maker.random.choice((f"{over}<={inames[-1]}", f"{over}<{inames[-1]}"))
    maker.domains.append(f"{{ [{over}]: 0<={upper} }}")
    values = nest.expressions(())
    kind = maker.random.choice("if")
    values.bound = [over]
    value = values.of(kind, 2)
    if kind == "i":
        operation = maker.random.choice(("min", "max", "xor_all", "horner3"))
        total = Value("", value.dtype, largest(value.dtype))
    else:
        operation, total = "sum", _sum_of(value, 24)
    target, source = nest.target(total, inames, line_id)
    text = f"{target} = {operation}({over}, {value.text})"
    nest.add(Line(text, line_id, inames, values.needed), source)


def _kernel_call(nest: Nest) -> None:
    """A call of another kernel, on parts of arrays."""
    maker = nest.maker
    inames, line_id = nest.inames(), _id(nest)
    row = f"{inames[-1]} + {maker.OFFSET}" if inames else "1"
    given = maker.input("int32", "b")
    axis, other, name = maker.new("q"), maker.new("q"), maker.new("o")
    called = maker.random.choice(list(CALLS))
    extent, arguments = CALLS[called]
    maker.data[name] = pg.GlobalArg(name, "int32", (*(maker.EXTENT,) * len(inames), extent))
    places = [f"{i} + {maker.OFFSET}" for i in inames]
    part = f"[{axis}]: {name}[{', '.join([*places, axis])}]"
    read = f"[{axis}]: {given.name}[{row}, {axis}]"
    two = f"[{other}, {axis}]: {given.name}[{row} - {other}, 4 - {axis}]"
    number = maker.random.randint(0, 4)
    text = f"{part} = {called}({arguments.format(s=number, x=read, xx=two, y=part)})"
    source = Source(name, Value(name, INT32, largest(INT32)), inames, (), frozenset({line_id}))
    source.argument, source.hidden = False, True  # its last axis is shorter than others are
    nest.add(Line(text, line_id, inames, set(), bare=True), source)


def _related(nest: Nest) -> None:
    """A dependency on some instances only."""
    inames, first, second = nest.inames(1), _id(nest), _id(nest)
    if not inames or nest.maker.in_sequence:
        return
    values = nest.expressions(inames)
    value = values.of("i", 1)
    a, from_a = nest.target(value, inames, first)
    nest.add(Line(f"{a} = {value.text}", first, inames, values.needed), from_a)
    b, from_b = nest.target(from_a.value, inames, second)
    back = nest.maker.random.choice((0, 0, 1, 2))
    places = [f"{i} + {nest.maker.OFFSET}" for i in from_a.order]
    at = nest.maker.random.randrange(len(places))
    places[at] = f"{from_a.order[at]} + {nest.maker.OFFSET - back}"
    later = [f"{i}' = {i}{f' + {back}' if i == from_a.order[at] else ''}" for i in inames]
    after = ", ".join(f"{i}'" for i in inames)
    relation = f"{{ [{', '.join(inames)}] -> [{after}] : {' and '.join(later)} }}"
    line = Line(f"{b} = {from_a.at(places)}", second, inames, {f"{first}[{relation}]"})
    nest.add(line, from_b)


def _mark(nest: Nest) -> None:
    """A point in the order that is no statement."""
    line_id, inames = _id(nest), nest.inames()
    before = [i for i, known in nest.ids.items() if known == inames]
    if not before or nest.maker.in_sequence:
        return
    kind = nest.maker.random.choice(("nop", "lbarrier"))
    needed = {nest.maker.random.choice(before)}
    more = ("mem_kind=local",) if kind == "lbarrier" and len(before) > 1 else ()
    nest.add(Line(f"... {kind}", line_id, inames, needed, options=more))


STATEMENTS: dict[str, tuple[Statement, float]] = {
    "assignment": (_assign, 5),
    "scalar": (_scalar, 3),
    "accumulation": (_accumulate, 1),
    "recurrence": (_recurrence, 1),
    "several": (_several, 2),
    "swap": (_swap, 2),
    "parts": (_parts, 1),
    "branches": (_branches, 2),
    "staged": (_staged, 2),
    "atomic": (_atomic, 2),
    "verbatim": (_verbatim, 1),
    "best": (_best, 1),
    "segmented": (_segmented, 1),
    "scan": (_scan, 2),
    "kernel call": (_kernel_call, 1.5),
    "related": (_related, 1),
    "mark": (_mark, 1.5),
    **MORE,
}


def fill(nest: Nest) -> None:
    """Add some statements to a nest, at least one."""
    maker = nest.maker
    weights = [weight for _, weight in STATEMENTS.values()]
    for chosen in maker.random.choices(list(STATEMENTS), weights, k=maker.random.randint(2, 4)):
        before = len(maker.lines)
        STATEMENTS[chosen][0](nest)
        maker.constructs += [chosen] if len(maker.lines) > before else []
    if not nest.ids:
        _assign(nest)
