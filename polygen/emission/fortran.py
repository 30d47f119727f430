"""A kernel for C called from Fortran: a module with interfaces, and a program that runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.ir.dtype import DType, dtype_name, is_integer, is_short_float
from polygen.ir.show import show_tuple

_LONGEST = 63  # names in Fortran
_WIDTH = 100
# Fortran has no unsigned integers: those are signed ones with the same bits, as halves are.
_TYPES = {
    "bool": "logical(c_bool)",
    **{f"{u}int{n}": f"integer(c_int{n}_t)" for u in ("", "u") for n in (8, 16, 32, 64)},
    "float16": "integer(c_int16_t)",
    "bfloat16": "integer(c_int16_t)",
    "float32": "real(c_float)",
    "float64": "real(c_double)",
    "complex64": "complex(c_float_complex)",
    "complex128": "complex(c_double_complex)",
}


class FortranNames:
    """Names of a scope in Fortran: short enough, and different if case does not count.

    Parameters:
        taken: names that the scope has already.
    """

    def __init__(self, *taken: str) -> None:
        self._taken = {name.lower() for name in taken}
        self._names: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            self._names[name] = self._new(name)
        return self._names[name]

    def _new(self, name: str) -> str:
        base = name if name[0].isalpha() and not name.lower().startswith("c_") else f"v{name}"
        found, number = base[:_LONGEST], 1
        while found.lower() in self._taken:
            number += 1
            found = f"{base[: _LONGEST - 1 - len(str(number))]}_{number}"
        self._taken.add(found.lower())
        return found


def element_type(dtype: DType) -> str:
    """Return what Fortran calls the type of an array's elements."""
    return _TYPES[dtype_name(dtype)]


def number_type(dtype: DType) -> str:
    """Return what Fortran calls the type of a number that is passed."""
    return "real(c_float)" if dtype_name(dtype) == "float16" else element_type(dtype)


def procedure_names(kernel: HostKernel) -> FortranNames:
    """Return the names of the module: those of C, as far as they may be."""
    names = FortranNames(f"{kernel.name}_module", f"{kernel.name}_main")
    for what in ("check", "run", "message", "c_message"):
        names[f"{kernel.name}_{what}"]
    for array in kernel.arrays:
        names[f"{kernel.name}_elements_{array.name}"]
    return names


def fortran_module(kernel: HostKernel) -> str:
    """Return the text of ``NAME_module.f90``."""
    name, names = kernel.name, procedure_names(kernel)
    lines = [
        f"! Kernel '{name}', called from Fortran: compiled by polygen for C.",
        "! Arrays are as C has them: the last subscript runs fastest, so a[i, j] of the kernel is",
        "! a(j + 1, i + 1) of a Fortran array with the extents in reverse.",
        f"module {FortranNames()[f'{name}_module']}",
        "    use, intrinsic :: iso_c_binding",
        "    implicit none",
        "    interface",
        "        ! 0 if the kernel can run with these sizes, else the number of what is wrong.",
        *_sized(kernel, names, f"{name}_check", "integer(c_int)"),
    ]
    for array in kernel.arrays:
        lines.append(f"        ! How many elements the memory of {array.name} has.")
        function = f"{name}_elements_{array.name}"
        lines += _sized(kernel, names, function, "integer(c_int64_t)")
    lines += [*_run(kernel, names), *_c_message(kernel, names), "    end interface", "contains"]
    lines += [*_message(kernel, names), f"end module {FortranNames()[f'{name}_module']}"]
    return "\n".join([*lines, ""])


def _sized(kernel: HostKernel, names: FortranNames, function: str, kind: str) -> Iterator[str]:
    """Yield the interface of a function of the sizes."""
    own = FortranNames(names[function])
    given = [own[size.name] for size in kernel.sizes]
    yield from _head(names[function], function, given)
    yield "            import"
    yield f"            {kind} :: {names[function]}"
    yield from (f"            integer(c_int64_t), value :: {name}" for name in given)
    yield "        end function"


def _head(name: str, symbol: str, given: Sequence[str]) -> Iterator[str]:
    short = f'        function {name}({", ".join(given)}) bind(c, name="{symbol}")'
    if len(short) <= _WIDTH:
        yield short
        return
    yield f"        function {name}( &"
    for number, dummy in enumerate(given, 1):
        yield f"            {dummy}{',' if number < len(given) else ''} &"
    yield "            ) &"
    yield f'            bind(c, name="{symbol}")'


def _run(kernel: HostKernel, names: FortranNames) -> Iterator[str]:
    function = f"{kernel.name}_run"
    own = FortranNames(names[function])
    yield "        ! Checks the sizes, provides memory for temporaries, and runs the kernel."
    yield "        ! Returns 0, or the number of what is wrong; then, nothing has run."
    yield from _head(names[function], function, [own[arg.name] for arg in kernel.arguments])
    yield "            import"
    yield f"            integer(c_int) :: {names[function]}"
    for arg in kernel.arguments:
        if isinstance(arg, HostScalar):
            yield f"            {number_type(arg.dtype)}, value :: {own[arg.name]}"
            continue
        yield f"            ! {dtype_name(arg.dtype)}, {show_tuple(arg.shape)}"
        intent = {"in": "in", "out": "out" if arg.all_written else "inout"}.get(arg.direction)
        kind = element_type(arg.dtype)
        yield f"            {kind}, intent({intent or 'inout'}) :: {own[arg.name]}(*)"
    yield "        end function"


def _c_message(kernel: HostKernel, names: FortranNames) -> Iterator[str]:
    name = names[f"{kernel.name}_c_message"]
    yield f'        function {name}(status) bind(c, name="{kernel.name}_message")'
    yield "            import"
    yield f"            type(c_ptr) :: {name}"
    yield "            integer(c_int), value :: status"
    yield "        end function"


def _message(kernel: HostKernel, names: FortranNames) -> Iterator[str]:
    name = names[f"{kernel.name}_message"]
    yield "    ! What is wrong, in words."
    yield f"    function {name}(status) result(text)"
    yield "        integer(c_int), intent(in) :: status"
    yield "        character(:), allocatable :: text"
    yield "        character(c_char), pointer :: letters(:)"
    yield "        integer :: n"
    yield f"        call c_f_pointer({names[f'{kernel.name}_c_message']}(status), letters, [1000])"
    yield "        text = ''"
    yield "        do n = 1, 1000"
    yield "            if (letters(n) == c_null_char) exit"
    yield "            text = text // letters(n)"
    yield "        end do"
    yield "    end function"


# --- the program


def fortran_program(kernel: HostKernel) -> str:
    """Return the text of ``NAME_main.f90``."""
    name, names = kernel.name, procedure_names(kernel)
    own = FortranNames()
    lines = [
        f"! Runs kernel '{name}': ./{name}_fortran n=1000 a=a.raw -o out=out.raw",
        "! Files hold the elements as they are in memory.  An array that is not given is filled:",
        "! element k of its memory, counted from 0, becomes v/64, where v is",
        "! mod(pg_mixed(k + 1000003*q), 61), and q the array's number among the arrays;",
        "! an integer mod(v, 8), a logical mod(v, 2) == 1;",
        "! a complex number has mod(v + 5, 61)/64 for its imaginary part; halves are 0, and are",
        "! shown as their bits.  An empty array takes the memory of one element, which is shown.",
        "! Shown are the sum of all elements, their sum with the weights 1 + mod(pg_mixed(k), 61),",
        "! and the first eight.",
        f"program {own[f'{name}_main']}",
        f"    use {FortranNames()[f'{name}_module']}",
        "    implicit none",
        "    integer :: pg_argument, pg_at",
        "    integer(c_int) :: pg_status",
        "    logical :: pg_saves",
        "    character(1000) :: pg_text, pg_name, pg_value",
    ]
    if kernel.arrays:
        lines.append("    integer(c_int64_t) :: pg_count")
    if any(array.reads and _filling(array.dtype) for array in kernel.arrays):
        lines.append("    integer(c_int64_t) :: pg_v")
    if any(_is_mixed(array) for array in kernel.arrays):
        lines.append("    integer(c_int64_t) :: pg_k")
    if any(array.writes for array in kernel.arrays):
        lines.append("    complex(c_double) :: pg_total")
    for scalar in kernel.scalars:
        lines.append(f"    {number_type(scalar.dtype)} :: {own[f'v_{scalar.name}']}")
        lines.append(f"    logical :: {own[f'g_{scalar.name}']} = .false.")
    for array in kernel.arrays:
        lines.append(f"    {element_type(array.dtype)}, allocatable :: {own[f'a_{array.name}']}(:)")
        files = "i" * array.shows_before + "o" * array.writes
        lines += [f"    character(1000) :: {own[f'{f}_{array.name}']} = ''" for f in files]
    lines += [*_arguments(kernel, own), *_missing(kernel, own)]
    sizes = _size_arguments(kernel, own)
    lines.append(f"    pg_status = {names[f'{name}_check']}({sizes})")
    lines += _failing(kernel, names)
    for number, array in enumerate(kernel.arrays):
        lines += _allocated(kernel, array, number, own, names)
    lines += _called(kernel, own, names)
    lines += _failing(kernel, names)
    for array in kernel.arrays:
        lines += _shown(array, own)
    if any(_is_mixed(array) for array in kernel.arrays):
        lines += _MIXED
    return "\n".join([*lines, "end program", ""])


def _arguments(kernel: HostKernel, own: FortranNames) -> Iterator[str]:
    yield "    pg_saves = .false."
    yield "    do pg_argument = 1, command_argument_count()"
    yield "        call get_command_argument(pg_argument, pg_text)"
    yield "        if (pg_text == '-o') then"
    yield "            pg_saves = .true."
    yield "            cycle"
    yield "        end if"
    yield "        pg_at = index(pg_text, '=')"
    yield "        pg_name = pg_text(:max(pg_at - 1, 0))"
    yield "        pg_value = pg_text(pg_at + 1:)"
    yield "        select case (merge('-o ', '   ', pg_saves) // pg_name)"
    for scalar in kernel.scalars:
        yield f"        case ('   {scalar.name}')"
        yield f"            read (pg_value, *) {own[f'v_{scalar.name}']}"
        yield f"            {own[f'g_{scalar.name}']} = .true."
    for array in kernel.arrays:
        if array.shows_before:
            yield f"        case ('   {array.name}')"
            yield f"            {own[f'i_{array.name}']} = pg_value"
        if array.writes:
            yield f"        case ('-o {array.name}')"
            yield f"            {own[f'o_{array.name}']} = pg_value"
    yield "        case default"
    yield "            print '(2a)', 'the kernel has no ', trim(pg_name)"
    yield "            stop 2"
    yield "        end select"
    yield "        pg_saves = .false."
    yield "    end do"


def _missing(kernel: HostKernel, own: FortranNames) -> Iterator[str]:
    for scalar in kernel.scalars:
        yield f"    if (.not. {own[f'g_{scalar.name}']}) then"
        yield f"        print '(a)', '{scalar.name} has no value'"
        yield "        stop 2"
        yield "    end if"
    for array in kernel.arrays:
        if array.reads and array.is_place:
            yield f"    if ({own[f'i_{array.name}']} == '') then"
            yield f"        print '(a)', '{array.name} has to be given: it is taken for places'"
            yield "        stop 2"
            yield "    end if"


def _size_arguments(kernel: HostKernel, own: FortranNames) -> str:
    return ", ".join(f"&\n        int({own[f'v_{s.name}']}, c_int64_t)" for s in kernel.sizes)


def _failing(kernel: HostKernel, names: FortranNames) -> Iterator[str]:
    yield "    if (pg_status /= 0) then"
    yield f"        print '(2a)', '{kernel.name}: ', {names[f'{kernel.name}_message']}(pg_status)"
    yield "        stop 2"
    yield "    end if"


def _allocated(
    kernel: HostKernel, array: HostArray, number: int, own: FortranNames, names: FortranNames
) -> Iterator[str]:
    name, elements = own[f"a_{array.name}"], names[f"{kernel.name}_elements_{array.name}"]
    yield f"    pg_count = {elements}({_size_arguments(kernel, own)})"
    yield "    if (pg_count < 0) then"
    yield f"        print '(a)', 'elements of {array.name} would lie before its memory'"
    yield "        stop 2"
    yield "    end if"
    yield f"    allocate ({name}(pg_count))"
    yield f"    {name} = {'.false.' if array.dtype.kind == 'b' else '0'}"
    filling = _filling(array.dtype)
    if array.reads and filling:
        yield f"    do pg_k = 0, size({name}, kind=c_int64_t) - 1"
        yield f"        pg_v = mod(pg_mixed(pg_k + {1000003 * number}), 61_c_int64_t)"
        yield f"        {name}(pg_k + 1) = {filling}"
        yield "    end do"
    if not array.shows_before:
        return
    file = own[f"i_{array.name}"]
    yield f"    if ({file} /= '') then"
    yield f"        open (10, file={file}, access='stream', form='unformatted', status='old')"
    yield f"        read (10) {name}"
    yield "        close (10)"
    yield "    end if"


_MIXED = """
contains

    ! 32 bits that all depend on all bits of a number: differences of neighbours do not cancel.
    pure integer(c_int64_t) function pg_mixed(pg_number)
        integer(c_int64_t), intent(in) :: pg_number
        integer(c_int64_t), parameter :: pg_all = 4294967295_c_int64_t
        pg_mixed = iand(pg_number, pg_all)
        pg_mixed = iand(ieor(shiftr(pg_mixed, 16), pg_mixed)*73244475_c_int64_t, pg_all)
        pg_mixed = iand(ieor(shiftr(pg_mixed, 16), pg_mixed)*73244475_c_int64_t, pg_all)
        pg_mixed = ieor(shiftr(pg_mixed, 16), pg_mixed)
    end function pg_mixed
""".splitlines()


def _is_mixed(array: HostArray) -> bool:
    """Tell whether the program fills an array, or adds up its elements."""
    return array.writes or (array.reads and bool(_filling(array.dtype)))


def _filling(dtype: DType) -> str:
    """Return what element k is filled with; nothing for types that Fortran knows as bits."""
    if is_short_float(dtype):
        return ""
    kind = element_type(dtype).partition("(")[2].rstrip(")")
    if dtype.kind == "b":
        return "mod(pg_v, 2_c_int64_t) == 1"
    if dtype.kind == "c":
        return f"cmplx(pg_v/64d0, mod(pg_v + 5, 61_c_int64_t)/64d0, {kind})"
    if is_integer(dtype):
        return f"int(mod(pg_v, 8_c_int64_t), {kind})"
    return f"real(pg_v/64d0, {kind})"


def _called(kernel: HostKernel, own: FortranNames, names: FortranNames) -> Iterator[str]:
    yield f"    pg_status = {names[f'{kernel.name}_run']}( &"
    for number, arg in enumerate(kernel.arguments, 1):
        name = own[f"{'a' if isinstance(arg, HostArray) else 'v'}_{arg.name}"]
        yield f"        {name}{',' if number < len(kernel.arguments) else ''} &"
    yield "        )"


def _shown(array: HostArray, own: FortranNames) -> Iterator[str]:
    """Yield what shows an array that is written: its type, elements, sums, the first eight."""
    if not array.writes:
        return
    name, file = own[f"a_{array.name}"], own[f"o_{array.name}"]
    what, element = (
        {"b": f"merge(1d0, 0d0, {text})", "c": f"cmplx({text}, kind=c_double)"}.get(
            array.dtype.kind, f"real({text}, c_double)"
        )
        for text in (name, f"{name}(pg_k)")
    )
    total = f"sum({what})"
    weighted = "pg_total" if array.dtype.kind == "c" else "real(pg_total)"
    yield "    pg_total = 0"
    yield f"    do pg_k = 1, size({name}, kind=c_int64_t)"
    yield "        pg_total = pg_total &"
    yield f"            + real(1 + mod(pg_mixed(pg_k - 1), 61_c_int64_t), c_double)*{element}"
    yield "    end do"
    head = f"'{array.name} {dtype_name(array.dtype)}'"
    yield f"    print '(*(g0, :, 1x))', {head}, size({name}), 'sum', &"
    yield f"        {total}, 'mixed', &"
    yield f"        {weighted}, 'first', &"
    yield f"        {name}(:min(8, size({name})))"
    yield f"    if ({file} /= '') then"
    yield f"        open (10, file={file}, access='stream', form='unformatted', status='replace')"
    yield f"        write (10) {name}"
    yield "        close (10)"
    yield "    end if"
