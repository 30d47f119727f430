"""A kernel as a Python script that makes it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import numpy as np

from polygen.analysis.integers.proving import without_proofs
from polygen.errors import InvalidArgument, UserError
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.dtype import to_dtype
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel, Step
from polygen.ir.layout import Auto, offset_of, show_tags
from polygen.ir.public import public
from polygen.ir.show import show_instruction, show_rule
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import InameTag
from polygen.language.make_kernel import make_kernel
from polygen.language.programs import TranslationUnit
from polygen.source import caller_location


@public
def kernel_to_python(kernel: Kernel | TranslationUnit) -> str:
    """Return a script that makes a kernel, or a program, under the name ``knl``.

    It makes the kernel that the history starts from, by `make_kernel`, and takes all steps again.
    A history with steps that are not polygen's, or with arguments that cannot be written down,
    is left out.  What `make_kernel` would make otherwise (tags, claims, a domain that is a product)
    is given as the kernel's text, to `parse_kernel`; so is what calls kernels or functions of the
    user's, and a program to `parse_program`.

    Parameters:
        kernel: any kernel, or a program that `merge` made.

    Raises:
        InvalidArgument: if it is neither.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="twice")
    >>> print(pg.kernel_to_python(pg.split_iname(knl, "i", 16, inner_tag="unr")))
    import polygen as pg
    <BLANKLINE>
    knl = pg.make_kernel(
        [
            '[n] -> { [i] : 0 <= i < n }',
        ],
        '''
        [i] out[i] = 2*a[i]  {id=insn, dep=*}
        ''',
        [
            pg.GlobalArg('a', None, 'n'),
            pg.ValueArg('n', None),
            pg.GlobalArg('out', None, 'n'),
        ],
        name='twice',
    )
    knl = pg.split_iname(knl, 'i', 16, inner_tag='unr')
    """
    if isinstance(kernel, TranslationUnit):
        return "\n".join(["import polygen as pg", "", *_parsed(kernel, "parse_program")])
    _check_kernel(kernel)
    steps = _steps(kernel)
    first = kernel if steps is None else kernel.original or kernel
    made = _made(first) or _parsed(first, "parse_kernel")
    return "\n".join(["import polygen as pg", "", *made, *(steps or ())])


def _check_kernel(kernel: object) -> None:
    if not isinstance(kernel, Kernel):
        raise InvalidArgument(
            f"kernel_to_python was given {kernel!r}, which is no kernel",
            where=caller_location(),
            remedy="pass what make_kernel, a transformation or merge returns",
        )


# --- steps


def _steps(kernel: Kernel) -> list[str] | None:
    """Return the lines that take the steps of the history; None if they cannot be written."""
    lines = [step_line(step) for step in kernel.history]
    written = [line for line in lines if line is not None]
    return written if len(written) == len(lines) else None


def step_line(step: Step) -> str | None:
    """Return the line of a script that takes a step; None if it cannot be written down."""
    home = str(getattr(step.apply, "__module__", ""))
    known = getattr(sys.modules.get(home), step.name, None)
    if not home.startswith("polygen.transforms.") or step.apply is not known:
        return None
    parameters = inspect.signature(step.apply).parameters
    given = ["knl"]
    for name, value in step.arguments:
        parameter = parameters.get(name)
        if parameter is not None and parameter.default is value:
            continue
        text = _written(value)
        if text is None:
            return None
        by_position = (
            parameter is not None
            and parameter.default is parameter.empty
            and parameter.kind is not parameter.KEYWORD_ONLY
        )
        given.append(text if by_position else f"{name}={text}")
    return f"knl = pg.{step.name}({', '.join(given)})"


def _written(value: object) -> str | None:
    """Return an expression of Python's for the argument of a step, if there is one."""
    if isinstance(value, get_args(InameTag)):
        return repr(str(value))
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return repr(to_dtype(cast("object", value)).name)
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, list | tuple):
        parts = [_written(part) for part in cast("tuple[object, ...]", value)]
        if None in parts:
            return None
        inside = ", ".join(filter(None, parts))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    if isinstance(value, Mapping):
        pairs = [
            (_written(k), _written(v)) for k, v in cast("Mapping[object, object]", value).items()
        ]
        whole = all(k is not None and v is not None for k, v in pairs)
        return f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}" if whole else None
    return None


# --- the kernel itself


def _made(kernel: Kernel) -> list[str] | None:
    """Return the lines that make a kernel by `make_kernel`, if that makes the same."""
    domains = [domain.text for domain in kernel.domains]
    instructions = [
        *map(show_rule, kernel.substitutions),
        *(show_instruction(i, kernel.inames, exhaustive=True) for i in kernel.instructions),
    ]
    known = kernel.assumptions
    others: dict[str, Any] = {
        "name": kernel.name,
        "assumptions": "" if known.set.plain_is_universe() else known.text,
        "target": kernel.target,
        "loop_priority": [", ".join(names) for names in kernel.priorities],
        "silenced_warnings": list(kernel.options.silenced_warnings),
    }
    if kernel.later is not None:
        others["well_formed"] = "later"
    data = [*kernel.arguments, *kernel.temporaries]
    if any(t.read_only for t in kernel.temporaries):  # an array: its text is longer
        return None
    try:
        with without_proofs():
            if make_kernel(domains, instructions, data, **others) != kernel:
                return None
    except UserError:  # one that no call of make_kernel makes
        return None
    return [
        "knl = pg.make_kernel(",
        "    [",
        *(f"        {text!r}," for text in domains),
        "    ],",
        "    '''",
        *(f"    {_quoted(line)}" for line in instructions),
        "    ''',",
        "    [",
        *(f"        {_variable(variable)}," for variable in data),
        "    ],",
        *(f"    {name}={value!r}," for name, value in others.items() if value),
        ")",
    ]


def _parsed(kernel: Kernel | TranslationUnit, reader: str) -> list[str]:
    return [f"knl = pg.{reader}('''", *_quoted(str(kernel)).split("\n"), "''')"]


def _quoted(text: str) -> str:
    """Return a text as it stands between three quotes."""
    return text.replace("\\", "\\\\").replace("'''", r"\'\'\'")


def _extents(extents: Iterable[Expression]) -> str:
    return ", ".join(map(show_expression, extents))


def _layout(array: GlobalArg | TemporaryVariable) -> list[str]:
    """Return the arguments that say where elements lie."""
    parts: list[str] = []
    if array.dim_tags is not None:
        parts.append(f"dim_tags={show_tags(array.dim_tags)!r}")
    offset = offset_of(array)
    if isinstance(offset, Auto):
        parts.append("offset=pg.auto")
    elif offset != 0:
        parts.append(f"offset={show_expression(offset)!r}")
    if array.dim_names is not None:
        parts.append(f"dim_names={', '.join(array.dim_names)!r}")
    if array.alignment is not None:
        parts.append(f"alignment={array.alignment}")
    return parts


def _variable(variable: Argument | TemporaryVariable) -> str:
    dtype = None if variable.dtype is None else to_dtype(variable.dtype).name
    parts = [repr(variable.name), repr(dtype)]
    if isinstance(variable, ValueArg):
        return f"pg.ValueArg({', '.join(parts)})"
    parts.append("None" if variable.shape is None else repr(_extents(variable.shape)))
    if isinstance(variable, GlobalArg):
        parts += _layout(variable)
        if variable.may_alias:
            parts.append("may_alias=True")
        return f"pg.{type(variable).__name__}({', '.join(parts)})"
    if variable.address_space is not AddressSpace.PRIVATE:
        parts.append(f"address_space=pg.{variable.address_space}")
    parts += _layout(variable)
    if variable.shuffled:
        parts.append("shuffled=True")
    if variable.base_storage is not None:
        parts.append(f"base_storage={variable.base_storage!r}")
    return f"pg.TemporaryVariable({', '.join(parts)})"
