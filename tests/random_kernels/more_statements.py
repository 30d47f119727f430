"""More statements of random kernels: layouts, storage, order, and what targets differ in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from tests.random_kernels.functions import GENERATORS
from tests.random_kernels.nest import Line, Nest
from tests.random_kernels.sources import Source
from tests.random_kernels.values import Value, computed, largest

Statement: TypeAlias = Callable[[Nest], None]
INT32 = np.dtype(np.int32)
BFLOAT16_EPS = 2.0**-8
IMAGES = ("float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")
VECTORS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
# Of arrays of two axes, the second with 4 subscripts: any of these may be used,
ANY: tuple[dict[str, Any], ...] = (
    {"dim_tags": "N0, N1"},
    {"dim_tags": "N1, N0(pad_to=3)"},
    {"dim_tags": "F(pad_to=8), F"},
    {"dim_tags": "C", "offset": 5},
    {"dim_tags": "row:stride:auto, column:stride:auto", "offset": pg.auto},
    {"strides": "7, 1"},
    {"strides": "1, n + m + 23"},
    {"strides": (pg.auto, 1)},
    {"alignment": 16},
    {"dim_names": "row, column", "may_alias": True},
)
# or only those that are known when code is made.
FIXED: tuple[tuple[int, dict[str, Any]], ...] = (
    (4, {"dim_tags": "N0, vec"}),
    (3, {"dim_tags": "N0, vec"}),
    (2, {"dim_tags": "stride:8, vec", "offset": 4}),
    (4, {"dim_tags": "stride:auto, vec", "offset": pg.auto}),
    (3, {"dim_tags": "N0, sep"}),
    (2, {"dim_tags": "stride:2, sep"}),
)


def _id(nest: Nest) -> str:
    return nest.maker.new("s")


# --- arrays


def _laid_out(nest: Nest) -> None:
    """Rows of 4 of an array with a layout, from one with another layout."""
    maker = nest.maker
    if maker.in_sequence:
        return
    inames, line_id = nest.inames(), _id(nest)
    dtype = maker.random.choice(("int8", "int32", "int64", "float32", "float64"))
    given, target = maker.new("l"), maker.new("o")
    for name in (given, target):
        layout = maker.random.choice(ANY)
        maker.data[name] = pg.GlobalArg(name, dtype, (maker.EXTENT, 4), **layout)
    row = f"{inames[0]} + {maker.OFFSET}" if inames else "1"
    around = [maker.random.choice((*inames[:1], "n", "2")) for _ in range(2)]
    columns = [maker.random.choice((f"{i} % 4", f"3 - {i} % 4")) for i in around]
    if inames:  # then each instance has an element of its own
        maker.domains.append(f"{{ [{(over := maker.new('u'))}]: 0<={over}<4 }}")
        inames, columns[0] = (inames[0], over), over
    text = f"{target}[{row}, {columns[0]}] = {given}[{row}, {columns[1]}] + 1"
    nest.add(Line(text, line_id, inames, set()), _unread(target, dtype, inames, line_id))


def _unread(name: str, dtype: str, inames: tuple[str, ...], line_id: str) -> Source:
    """Return what is known of an array of a shape of its own: others do not read it."""
    value = Value(name, np.dtype(dtype), 1e30)
    writers = frozenset({line_id})
    return Source(name, value, inames, inames, writers, argument=False, hidden=True)


def _separate(nest: Nest) -> None:
    """Components of vectors, or of arrays of their own: in unrolled loops, or one by one."""
    maker = nest.maker
    if maker.in_sequence:
        return
    inames, line_id = nest.inames()[:1], _id(nest)
    (length, layout), dtype = maker.random.choice(FIXED), maker.random.choice(VECTORS)
    given, target = maker.new("l"), maker.new("o")
    other = {} if maker.chance(0.3) else layout
    maker.data[given] = pg.GlobalArg(given, dtype, (maker.EXTENT, length), **other)
    maker.data[target] = pg.GlobalArg(target, dtype, (maker.EXTENT, length), **layout)
    row = f"{inames[0]} + {maker.OFFSET}" if inames else "1"
    column, turned = str(maker.random.randrange(length)), str(maker.random.randrange(length))
    if maker.chance(0.6):
        column = maker.unrolled(f"0<={{x}}<{length}")
        inames, turned = (*inames, column), f"{length - 1} - {column}"
    value = f"{given}[{row}, {column}] - {given}[{row}, {turned}]"
    line = Line(f"{target}[{row}, {column}] = {value}", line_id, inames, set())
    nest.add(line, _unread(target, dtype, inames, line_id))


def _image(nest: Nest) -> None:
    """Elements of an image, of two or three axes; of an array where there are no images."""
    maker = nest.maker
    inames, line_id = nest.inames(), _id(nest)
    name, dtype = maker.new("img"), np.dtype(maker.random.choice(IMAGES))
    axes = maker.random.choice((2, 3))
    shape: tuple[Any, ...] = (maker.EXTENT, 5, 3)[:axes]
    kind = pg.ImageArg if maker.target == "opencl" else pg.GlobalArg
    maker.data[name] = kind(name, dtype, shape)
    values = nest.expressions(inames)
    row = f"{inames[-1]} + {maker.OFFSET}" if inames else "1"
    index = [row, f"({values.affine()}) % 5", f"({values.affine()}) % 3"][:axes]
    target, source = nest.target(Value(name, dtype, 16), inames, line_id)
    line = Line(f"{target} = {name}[{', '.join(index)}]", line_id, inames, values.needed)
    nest.add(line, source)


def _bfloat16(nest: Nest) -> None:
    """Numbers that are stored as bfloat16, and computed with as float32."""
    maker = nest.maker
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    value = values.of("f", 2)
    name, given = maker.new("o"), maker.new("l")
    shape = (maker.EXTENT,) * len(inames) or (2,)
    for array, extents in ((given, (9,)), (name, shape)):
        maker.data[array] = pg.GlobalArg(array, "bfloat16", extents)
    single = np.dtype(np.float32)
    total = computed("", single, value.most + 16, value.error)
    error = total.error + BFLOAT16_EPS * total.most
    text = f"float32({value.text}) + {given}[({values.affine()}) % 9]"
    source = Source(
        name, Value(name, single, total.most, error), inames, inames, frozenset({line_id})
    )
    target = source.at([f"{i} + {maker.OFFSET}" for i in inames])
    if maker.chance(0.4):
        before, kept = _id(nest), maker.new("t")
        nest.add(Line(f"<bfloat16> {kept} = {text}", before, inames, values.needed))
        text, values.needed = kept, {before}
    nest.add(Line(f"{target} = {text}", line_id, inames, values.needed), source)


def _started(nest: Nest) -> None:
    """A temporary that has values before anything is written to it."""
    maker = nest.maker
    if maker.in_sequence:
        return
    name, over, add, line_id = maker.new("t"), maker.new("u"), _id(nest), _id(nest)
    initial = np.array(maker.random.choices(range(9), k=4), np.int32)
    space = maker.random.choice((pg.AddressSpace.PRIVATE, pg.AddressSpace.GLOBAL, pg.auto))
    maker.data[name] = pg.TemporaryVariable(name, address_space=space, initializer=initial)
    maker.domains.append(f"{{ [{over}]: 0<={over}<4 }}")
    place = f"{name}[{over}]"
    nest.add(Line(f"{place} = 2*{place} + {over}", add, (over,), set()))
    along = maker.new("r")
    maker.domains.append(f"{{ [{along}]: 0<={along}<4 }}")
    target, source = nest.target(Value("", np.dtype(np.int64), 1e3), (), line_id)
    nest.add(Line(f"{target} = sum({along}, {name}[{along}])", line_id, (), {add}), source)


def _copied(nest: Nest) -> None:
    """Elements that are copied asynchronously to local memory."""
    maker = nest.maker
    if maker.in_sequence or nest.fence:
        return
    name, over, along, line_id = maker.new("t"), maker.new("u"), maker.new("r"), _id(nest)
    given, copy = maker.new("l"), _id(nest)
    dtype = np.dtype(maker.random.choice(("int32", "uint32", "float64")))
    maker.data[given] = pg.GlobalArg(given, dtype, (9,))
    maker.domains += [f"{{ [{x}]: 0<={x}<4 }}" for x in (over, along)]
    first = maker.random.randrange(6)
    maker.data[name] = pg.TemporaryVariable(
        name, dtype, 4, address_space=pg.AddressSpace.LOCAL, shuffled=first > 2
    )
    text = f"{name}[{over}] = {given}[{over} + {first}]"
    nest.add(Line(text, copy, (over,), set(), options=("asynchronous",)))
    target, source = nest.target(Value("", np.dtype(np.float64), 1e3), (), line_id)
    nest.add(Line(f"{target} = sum({along}, {name}[{along}])", line_id, (), {copy}), source)


# --- functions


def _words(nest: Nest) -> None:
    """Several random numbers from one call."""
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    name, bits, given = nest.maker.random.choice(GENERATORS)
    counter = values.of("i", 1)
    arguments = ", ".join([counter.text, *map(str, range(given - 1))])
    word = Value("", np.dtype(f"uint{bits}"), largest(np.dtype(f"uint{bits}")))
    ending = ""
    if nest.maker.chance(0.4):
        ending, word = f"_f{bits}", Value("", np.dtype(f"float{bits}"), 1, 2.0**-20)
    count = int(name[-4])
    targets = [nest.target(word, inames, line_id) for _ in range(count)]
    text = f"{', '.join(t for t, _ in targets)} = {name}{ending}({arguments})"
    nest.add(Line(text, line_id, inames, values.needed), *(s for _, s in targets))


# --- order


def _grouped(nest: Nest) -> None:
    """Two instructions of a group, and one that does not come between them."""
    maker = nest.maker
    if maker.in_sequence:
        return
    inames, group = nest.inames(), maker.new("g")
    for option in (f"groups={group}", f"conflicts={group}", f"groups={group}"):
        line_id = _id(nest)
        target, source = nest.target(Value("", INT32, 16), inames, line_id)
        place = maker.input("int32", "a").at(f"[{maker.random.randrange(9)}]").text
        nest.add(Line(f"{target} = {place}", line_id, inames, set(), options=(option,)), source)


def _unnamed(nest: Nest) -> None:
    """An instruction that nothing depends on: as it is printed, or with a new id."""
    maker = nest.maker
    inames = nest.inames()
    if maker.in_sequence or nest.fence or nest.bounds:
        return
    values = nest.expressions(inames)
    value = values.input("i")
    target, source = nest.target(value, inames, "")
    source.argument, source.hidden = False, True
    options = maker.random.choice(("id_prefix=load", "id_prefix=load, priority=-1", ""))
    prefix = f"[{', '.join(inames)}] "
    if inames and maker.chance(0.4):
        prefix = ""
        options = ", ".join(filter(None, (options, f"+inames={':'.join(inames)}")))
    maker.lines.append(f"{prefix}{target} = {value.text}  {{{options}}}")
    maker.sources.append(source)


def _atomic_store(nest: Nest) -> None:
    """Elements that are written atomically."""
    maker = nest.maker
    inames, line_id = nest.inames(), _id(nest)
    values = nest.expressions(inames)
    name, dtype = maker.new("h"), maker.random.choice(("int32", "int64", "uint32"))
    shape = (maker.EXTENT,) * len(inames) or (2,)
    maker.data[name] = pg.GlobalArg(name, dtype, shape)
    number = np.dtype(dtype)
    source = Source(
        name, Value(name, number, largest(number)), inames, inames, frozenset((line_id,))
    )
    target = source.at([f"{i} + {maker.OFFSET}" for i in inames])
    words = ["init", *maker.memory()]
    maker.random.shuffle(words)
    text = f"{target} = {dtype}({values.of('i', 1).text})"
    options = (f"atomic={':'.join(words)}",)
    nest.add(Line(text, line_id, inames, values.needed, options=options), source)


MORE: dict[str, tuple[Statement, float]] = {
    "laid out": (_laid_out, 2),
    "separate": (_separate, 2),
    "image": (_image, 1),
    "bfloat16": (_bfloat16, 1.5),
    "started": (_started, 1),
    "copied": (_copied, 0.7),
    "words": (_words, 2),
    "grouped": (_grouped, 1),
    "unnamed": (_unnamed, 1),
    "atomic store": (_atomic_store, 1),
}
