"""A target is a table of what differs between C-like languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from polygen.errors import TypeNotSupported
from polygen.ir.array import AddressSpace, ImageArg
from polygen.ir.atomicity import MemoryOrdering, MemoryScope
from polygen.ir.dtype import FACTS, DType, dtype_name
from polygen.ir.empty import new_dict
from polygen.ir.layout import USUAL_VECTOR_BYTES

# What helpers and literals of a type are called, after it: pg_floor_div_i32.
SHORT_NAMES: Mapping[str, str] = {
    f"{kind}{8 * size}": f"{kind[0]}{8 * size}"
    for kind, sizes in (("int", (1, 2, 4, 8)), ("uint", (1, 2, 4, 8)), ("float", (2, 4, 8)))
    for size in sizes
} | {"bool": "bool", "complex64": "c64", "complex128": "c128"}


@dataclass(frozen=True)
class Bits:
    """A language's reinterpretation of memory as numbers, and the other way around.

    Attributes:
        number: a number, of its bits.
        bits: bits, of the number.
        needs: what the source has to begin with, as in `Atomics.needs`; or nothing.
    """

    number: str = "{0}"
    bits: str = "{0}"
    needs: str = ""


@dataclass(frozen=True, kw_only=True)
class Atomics:
    """A language's atomic operations.

    The texts are templates: ``$at`` is the element, ``$x`` the operand, ``$bits`` the new value as
    it is kept, ``$number`` the old one, ``$T`` the type of numbers, ``$M`` that of the element,
    ``$U`` the unsigned type of its size, and ``$mask`` the largest number of that, ``$space`` what
    a declaration in its address space begins with; ``$old``, ``$new``, ``$seen`` (what is in
    memory), ``$part`` (what of it is the element), ``$shift`` and ``$place`` are new names;
    ``$begin`` stands before the first ``$old`` of a loop that tries again: what declares it, unless
    it is declared before.  What a memory ordering adds are names of its own.

    Attributes:
        shared: the address spaces that others see; elsewhere an assignment is atomic as it is.
        orderings: for each memory ordering that it has, what it adds to the names.
        scopes: for each scope that it has, what it adds to the names.
        sizes: of the elements, in bytes.
        scope_sizes: those for scopes that do not have all.
        native: the statement for an operation on numbers of a type, or None.
        native_floats: the operations that this has for floating-point numbers as well.
        fetch: the same as `native`, with a declaration of the old value.
        exchange: lines that write ``$x``, a number of a type, and declare the old value; or None.
        compare_exchange: lines that write ``$x`` where ``$expected`` is, both integers of a type,
            and declare the old value; or None.
        retry: an update of a size by compare and swap; ``$bits`` are computed from ``$old``.
        forms: for the type of an element, how its bits are a number.
        store: the statement that writes a value of a size.
        needs: for a size, what the source has to begin with: a name in the target's `type_lines`.
        native_needs: the same for a native operation on numbers of a type; or nothing.
        retry_needs: the same for `retry` and `store`; nothing if these need nothing.
    """

    shared: frozenset[AddressSpace]
    orderings: Mapping[MemoryOrdering, Mapping[str, str]]
    scopes: Mapping[MemoryScope, Mapping[str, str]]
    sizes: tuple[int, ...]
    scope_sizes: Mapping[MemoryScope, tuple[int, ...]] = field(default_factory=new_dict)
    native: Callable[[str, DType], str | None]
    native_floats: frozenset[str] = frozenset()
    fetch: Callable[[str, DType], str | None]
    exchange: Callable[[DType], str | None]
    compare_exchange: Callable[[DType], str | None]
    retry: Callable[[int], str]
    forms: Callable[[DType], Bits]
    store: Callable[[int], str]
    needs: Mapping[int, str] = field(default_factory=new_dict)
    native_needs: Callable[[str, DType], str] = lambda _operation, _dtype: ""
    retry_needs: str = ""


@dataclass(frozen=True, kw_only=True)
class Copies:
    """A language's asynchronous copies to the memory of a group.

    Attributes:
        sizes: how many bytes one copies, the largest first; addresses are multiples of that.
        begin: the statement that begins one, of pointers to where it copies to and from.
        wait: the statement after which those that the work item began are made.
        needs: what the source has to begin with: a name in the target's `type_lines`.
    """

    sizes: tuple[int, ...]
    begin: str
    wait: str
    needs: str


@dataclass(frozen=True, kw_only=True)
class TensorCores:
    """A language's products of small matrices by the work items of a warp.

    Attributes:
        multiply: the statement that adds one, of the kind of numbers, the addresses of the sums,
            and the elements of the left and the right matrix that a work item passes.
        needs: what the source has to begin with: a name in its `type_lines`, of the kind.
        parts: the type of what a work item passes of a matrix that is loaded first, of the number
            of registers.
        parts_need: as `needs`, for that.
        load: the statement that loads it, of whether rows are columns (1), it, and where rows
            begin.
        multiply_loaded: as `multiply`, of what was loaded of both matrices.
    """

    multiply: str
    needs: str
    parts: str
    parts_need: str
    load: str
    multiply_loaded: str


COMMON_HELPERS = ("integers.h", "floats.h", "pairs.h")  # files of texts

# Of the numbers in vectors.
VECTOR_TYPES = tuple(
    [name for name, facts in FACTS.items() if facts.kind in "iuf" and facts.computed_in is None]
)

# Halves are left out: drivers have them, and PoCL's reads other numbers.
_PIXELS = ("float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")


@dataclass(frozen=True, kw_only=True)
class Target:
    """The table of a language's differences; what languages share stands beside this.

    Types are listed under the names that NumPy has for them.

    Attributes:
        name: how users call it.
        type_names: the types that it has.
        literal_suffixes: what follows a literal of a type; nothing if the type is not listed.
        type_lines: what the source must begin with where a type is used; under ``always``, what it
            begins with whatever it uses, under ``math``, ``team`` and ``uncontracted``, where
            it computes functions, where threads are in teams, and where no product is fused with
            a sum.
        extensions: what of the language not all devices have that is needed where such a line is.
        math_suffixes: what follows the name of a mathematical function for a type.
        math_names: functions that it has under another name than the usual one.
        missing_functions: functions that it has not; they are spelled out.
        integer_extremes: its ``min`` and ``max`` for integers of 32 and 64 bits, if it has them.
        helpers: the texts of helper functions, by name and kind of type, as `named_texts` has them.
            Beside `COMMON_HELPERS` these are such that it spells otherwise; ``to_half f``, which
            rounds a number to half precision and returns a ``float``; ``to_bfloat16 f`` and
            ``from_bfloat16 f``, which make a bfloat16, which it has as an integer, of a ``float``,
            and back; and functions of complex numbers.
        helper_prefix: what a function begins with that other functions of the source call.
        function_head: what stands before the name of a function for the host, given the size of
            its work groups, and how many of these a multiprocessor is to run at once (or 0).
        qualifiers: what the declaration of a variable in an address space begins with, and that of
            a pointer to it.
        constant_qualifier: what the declaration of a pointer to constant memory begins with.
        table_qualifier: what the declaration of a table of constants in a function begins with.
        table_infinity: how an element that is infinite is written there: as a constant; nothing if
            as anywhere.
        table_nan: how one that is no number is.
        shared_declaration: what the declaration of a variable of a work group begins with, if that
            is no qualifier of pointers to it, too.
        shared_alignment: what arrays of a work group begin at a multiple of, in bytes, if not of
            what their type needs.
        shared_pool: the declaration of all of a group's memory, whose size the launch says.
        launch_begin: the statement that waits until the launches before this one are over, of what
            `type_lines` has as ``early``, where a launch may be started before; or nothing.
        blocks_begin: a line at the beginning of a function whose groups are several blocks.
        blocks_begun: the statement that waits until all blocks have come to that line.
        shared_begin: what finds the memory that all blocks of a group use, if these are several.
        shared_end: a line at the end of a function that uses such memory; or nothing.
        store_in_blocks: how something is stored in the memory of all blocks, of their number, where
            it is stored in one's own, and what.
        own_pool: the name of a block's own memory, if groups are several blocks.
        most_shared: the number of bytes of a group's memory past which that is needed.
        hardware_index: the index along an axis, of the tag's letter and the axis; None if it has
            none.
        blocks_along: the axis of the work items along which each is a block of its own in the grid
            that is launched; None if groups are blocks.
        unsigned_indices: whether these are integers of 32 bits without a sign.
        barrier: the statement that makes writes to some address spaces visible, or None.
        block_barrier: one for the work items of a block, where groups are several.
        load_half: how an element of an array of halves is read, of its subscript and the array;
            nothing if like any other.
        store_half: how it is written, of the value, the subscript and the array.
        half_arrays: whether halves in arrays of a work item are halves, not ``float``.
        half_updates: whether halves in memory have operators such as ``+=``.
        read_again: the statement after which the compiler converts the halves of such an array
            again, rather than keep what it converted them to.
        wide_registers: whether small integers in vectors of a work item are kept as C computes with
            them: its registers have 32 bits.
        image_names: what the parameter for an image of that many axes begins with; nothing if it
            has no images.
        pixels: how an element of an image is read, by the type that it is read as and the number
            of axes: of the image's name, and the coordinates.
        complex_operators: whether complex numbers have operators of the language's own; else they
            are vectors of two.
        complex_literal: how one is written, of its type and its parts.
        complex_elements: how the elements of a table are written, by type, of their parts: exactly.
        complex_forms: how functions of complex numbers are called, of the arguments and of what
            follows the name of a mathematical function.
        complex_make: what makes one of its parts, before these, in parentheses, of the type; where
            they are vectors.
        complex_convert: a complex number as one of another type, of the type and the number; where
            they are vectors.
        complex_comparisons: how two are compared, of them; where they are vectors.
        vector_names: what holds several numbers, by the type of these and their count.
        vector_literal: what surrounds the numbers of one, of its name.
        array_vector: what elements are called that are vectors, of the type of the components, as
            the target calls it and as NumPy does, and their number.
        array_component: a component of one, of the vector and its number.
        array_number: the same as a number by itself, of what a declaration in the vector's address
            space begins with, the type of the number, the vector and the component's number.
        vector_bytes: the size of the largest vectors that are computed with.
        load_vector: the elements of an array from a pointer on as a vector, of the pointer, the
            number of elements, the vector's type and what a declaration of the pointer begins
            with: no more aligned than an element is.
        store_vector: the assignment of a vector to these, of the same and the vector.
        each_lane: the body of a function that calls another for each component of vectors, of the
            vector's type, their number and the call for the component ``i``; nothing if all calls
            are written one by one.
        load_halves: the elements of an array of halves as a vector of numbers in single precision,
            of the same; nothing if like any other.
        store_halves: the assignment of such a vector to these.
        load_aligned: the same where the pointer is a multiple of a vector's size; nothing if that
            makes no difference.
        store_aligned: the assignment to such ones.
        most_aligned: how many bytes a vector begins at a multiple of, at most; None if always at a
            multiple of its size.
        memory_begins: how many bytes the memory that the host allocates begins at a multiple of.
        vector_functions: functions of floating-point numbers that it has for vectors, too.
        math_of_vectors: what a source begins with, of its texts, so that mathematical functions in
            them may be computed for several numbers at once; None if nothing.
        lanes: a vector of numbers, of the vector's type and these.
        convert_lanes: a vector with components of another type, of the type and the vector.
        select_lanes: what chooses from two vectors, of a vector of -1 and 0, what is taken where
            that is -1, what elsewhere, the vector's type and that of the choice; each is an operand
            of any operator.
        choose_lanes: one of two vectors, of a truth value, the two, and their type.
        same_lanes: a vector of one number, of the vector's type, the number and how many it has.
        aligned: what follows the declaration of a variable with an alignment, of that.
        assume_aligned: a line at the beginning of a function about an argument and its alignment.
        shuffle: a number that another work item of the sub-group has, of the name and how many work
            items further on that one is; None if it has no sub-groups.
        restrict: how it says that a pointer is the only way to an array.
        atomics: what it has for atomic operations, or None.
        copies: what it has for asynchronous copies; None if they are copies as any.
        tensor_cores: what it has for products of small matrices; None if they are loops.
        parallel_loop: the line before loops that run on several threads: given their number, when
            several are worth it (always if nothing), how many iterations threads take at a time
            (all at once if nothing), and whether iterations become vectors; None if there is none.
        team: the line before what a team of threads executes, given when that is worth it.
        team_loop: as `parallel_loop`, within that; threads do not wait for each other there.
        team_state: the declaration of what the team waits by, with the text ``team_waits``.
        team_alone: the line before what one thread of the team executes.
        team_waits: the line at which all threads of the team wait for each other.
        vector_loop: the line before a loop whose iterations become vectors, given what these
            accumulate: operations and names.
        accumulation: what lets a function of two numbers be such an operation, of its name and
            the type.
        uncontracted_options: what its compiler is passed so that it fuses no products and sums.
        unroll: the line before a loop that the compiler is asked to unroll, given the number of its
            iterations, or None if that is no constant.
        asks_in_turn: whether conditions that are seldom asked cost less than to ask all of them:
            on a processor, which guesses right what is hardly ever so; branches part work items.
        has_libraries: whether its functions, or the host between them, call numerical libraries.
        runs_host: whether its functions run loops around launches, and all launches, themselves.
    """

    name: str
    type_names: Mapping[str, str]
    literal_suffixes: Mapping[str, str]
    type_lines: Mapping[str, str] = field(default_factory=new_dict)
    extensions: Mapping[str, tuple[str, ...]] = field(default_factory=new_dict)
    math_suffixes: Mapping[str, str] = field(default_factory=new_dict)
    math_names: Mapping[str, str] = field(default_factory=new_dict)
    missing_functions: frozenset[str] = frozenset()
    integer_extremes: Mapping[str, str] = field(default_factory=new_dict)
    helpers: Mapping[str, str]
    helper_prefix: str
    function_head: Callable[[tuple[int, ...], int], str]
    qualifiers: Mapping[AddressSpace, str]
    shared_declaration: str = ""
    shared_alignment: int | None = None
    shared_pool: str = ""
    launch_begin: str = ""
    blocks_begin: str = ""
    blocks_begun: str = ""
    shared_begin: str = ""
    shared_end: str = ""
    store_in_blocks: str = ""
    own_pool: str = ""
    most_shared: int | None = None
    constant_qualifier: str
    table_qualifier: str
    table_infinity: str = ""
    table_nan: str
    hardware_index: Callable[[str, int], str] | None = None
    blocks_along: int | None = None
    unsigned_indices: bool = False
    barrier: Callable[[frozenset[AddressSpace]], str] | None = None
    block_barrier: str = ""
    load_half: str = ""
    store_half: str = ""
    half_arrays: bool = False
    half_updates: bool = True
    read_again: str = ""
    wide_registers: bool = False
    image_names: Mapping[int, str] = field(default_factory=new_dict)
    pixels: Mapping[tuple[str, int], str] = field(default_factory=new_dict)
    complex_operators: bool
    complex_literal: str
    complex_elements: Mapping[str, str]
    complex_forms: Mapping[str, str]
    complex_make: str = ""
    complex_convert: str = ""
    complex_comparisons: Mapping[str, str] = field(default_factory=new_dict)
    vector_names: Mapping[tuple[str, int], str]
    vector_literal: tuple[str, str]
    array_vector: str
    array_component: str
    array_number: str
    vector_bytes: int = USUAL_VECTOR_BYTES
    load_vector: str
    store_vector: str
    vector_functions: frozenset[str] = frozenset()
    math_of_vectors: Callable[[Iterable[str]], list[str]] | None = None
    each_lane: str = ""
    load_halves: str = ""
    store_halves: str = ""
    load_aligned: str = ""
    store_aligned: str = ""
    most_aligned: int | None = None
    memory_begins: int = 1
    lanes: str
    convert_lanes: str
    select_lanes: str
    choose_lanes: str = "{0} ? {1} : {2}"
    same_lanes: Callable[[str, str, int], str]
    aligned: str
    assume_aligned: str = ""
    shuffle: Callable[[str, int], str] | None = None
    restrict: str
    atomics: Atomics | None = None
    copies: Copies | None = None
    tensor_cores: TensorCores | None = None
    parallel_loop: Callable[[int, str, str, bool], str] | None = None
    team: Callable[[str], str] | None = None
    team_loop: Callable[[int, str, str, bool], str] | None = None
    team_state: str = ""
    team_alone: str = ""
    team_waits: str = ""
    vector_loop: Callable[[Sequence[tuple[str, str]]], str] | None = None
    accumulation: str = ""
    uncontracted_options: tuple[str, ...] = ()
    unroll: Callable[[int | None], str] = lambda _: "#pragma unroll"
    asks_in_turn: bool = False
    runs_host: bool = False
    has_libraries: bool = False

    @property
    def global_qualifier(self) -> str:
        """The beginning of a declaration of a pointer to the device's memory."""
        return self.qualifiers[AddressSpace.GLOBAL]

    @property
    def complex_helpers(self) -> frozenset[str]:
        """The functions of complex numbers that are spelled out."""
        return frozenset(key.removesuffix(" c") for key in self.helpers if key.endswith(" c"))

    def declaration(self, space: AddressSpace) -> str:
        """Return what the declaration of a variable in an address space begins with."""
        shared = space is AddressSpace.LOCAL and self.shared_declaration
        return shared or self.qualifiers[space]

    def type_name(self, dtype: DType, variable: str | None = None) -> str:
        """Return what the target calls a type.

        Parameters:
            dtype: the type.
            variable: what has it, for the error.

        Raises:
            TypeNotSupported: if it has no such type.
        """
        name = self.type_names.get(dtype_name(dtype))
        if name is None:
            raise TypeNotSupported(
                f"target '{self.name}' has no type '{dtype.name}'"
                + (f", which '{variable}' has" if variable else ""),
                remedy="use one of: " + ", ".join(self.type_names),
            )
        return name

    def image_type(self, image: ImageArg) -> str:
        """Return what the parameter for an image begins with.

        Raises:
            TypeNotSupported: if it has no images, or none of such elements.
        """
        name = self.image_names.get(len(image.shape or ()))
        if name is None:
            raise TypeNotSupported(
                f"target '{self.name}' has no images, as '{image.name}' is one",
                remedy=f"declare '{image.name}' a GlobalArg, or use OpenCL",
            )
        if image.dtype is None or image.dtype.name not in _PIXELS:
            raise TypeNotSupported(
                f"images have no elements of type '{image.dtype}', as '{image.name}' has",
                remedy="use one of " + ", ".join(_PIXELS),
            )
        return name

    def math_name(self, function: str, dtype: DType) -> str:
        """Return what the target calls a mathematical function of operands of a type."""
        name = self.math_names.get(function, function)
        return name + self.math_suffixes.get(dtype.name, "")


UINT8 = np.dtype(np.uint8)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX128 = np.dtype(np.complex128)
BOOL = np.dtype(np.bool_)
