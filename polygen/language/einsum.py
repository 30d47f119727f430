"""`make_einsum`: kernels from NumPy's notation for sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygen.errors import MalformedText, NameTaken, WrongArity
from polygen.ir.array import Argument, GlobalArg, ValueArg
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_name
from polygen.ir.public import public
from polygen.language.make_kernel import make_kernel
from polygen.language.parser import located
from polygen.source import caller_location


@public
def make_einsum(spec: str, arg_names: Sequence[str], **knl_creation_kwargs: Any) -> Kernel:
    r"""Return a kernel that sums products of arrays, as `numpy.einsum` does.

    The loop over a letter ``i`` runs from 0 to ``Ni``; letters that the result lacks are summed
    over, all in one loop nest: which order of products is cheapest is not looked for.  The result
    is ``out``; one without letters has no axes.  Sums have the type of ``sum`` in instructions, so
    that sums of narrow integers are wider than they are.

    Parameters:
        spec: as in ``"ij,jk->ik"``: a letter for each axis of each array, then those of the result.
            The arrow has to be there.
        arg_names: the names of the arrays; what has no letters is a scalar.
        knl_creation_kwargs: other arguments of `make_kernel`.  With ``kernel_data``, what it
            declares; what it does not is found as if there were none.

    Raises:
        MalformedText: if `spec` is not of that form.
        WrongArity: if there are more or fewer names than arrays.
        NameTaken: if an array has the name of another one, of a letter, or of the result.
        ReservedName: if a name cannot be that of an array, or a letter that of a loop.
        UserError: as `make_kernel` does.

    >>> import polygen as pg
    >>> knl = pg.make_einsum("ij,jk->ik", ["a", "b"])
    >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i, k] out[i, k] = sum(j, a[i, j]*b[j, k])  {id=insn}
    """
    operands, result = _read(spec)
    names = list(arg_names)
    letters = list(dict.fromkeys("".join(operands)))
    _check_names(spec, operands, names, letters)
    factors = [_subscripted(n, axes) for n, axes in zip(names, operands, strict=True)]
    summed = [letter for letter in letters if letter not in result]
    value = "*".join(factors)
    if summed:
        value = f"sum(({', '.join(summed)}), {value})"
    arrays: list[Argument] = [
        GlobalArg(n, shape=_shape(axes)) if axes else ValueArg(n)
        for n, axes in zip(names, operands, strict=True)
    ]
    arrays.append(GlobalArg("out", shape=_shape(result)))
    options: dict[str, Any] = {
        "name": f"einsum{len(operands)}to{len(result)}_kernel",
        **knl_creation_kwargs,
    }
    declared = [*(options.pop("kernel_data", None) or ())]
    known = {getattr(data, "name", data) for data in declared}
    return make_kernel(
        [f"{{ [{letter}]: 0 <= {letter} < N{letter} }}" for letter in letters] or "{ : }",
        f"{_subscripted('out', result)} = {value}",
        [*declared, *(array for array in arrays if array.name not in known), "..."],
        **options,
    )


def _read(spec: str) -> tuple[list[str], str]:
    """Return the letters of each array, and those of the result."""
    text = spec.replace(" ", "")
    before, arrow, result = text.partition("->")
    if not arrow:
        raise located(
            MalformedText,
            "an arrow is missing, behind which the result's letters stand",
            spec,
            len(spec),
            "write 'ij,jk->ik', or 'i,i->' for a result without axes",
        )
    for place, letter in enumerate(spec.replace("->", "  ")):
        if not (letter in ", " or (letter.isascii() and letter.isalpha())):
            raise located(
                MalformedText,
                "the dots of numpy.einsum are not supported"
                if letter == "."
                else f"{letter!r} is no letter",
                spec,
                place,
                "name each axis by a letter, A to Z or a to z",
            )
    if "->" in result:
        what, place = "there are two arrows", spec.rfind("->")
        raise located(MalformedText, what, spec, place, None)
    operands = before.split(",")
    for place, letter in enumerate(result):
        wrong = (
            "stands in the result twice"
            if letter in result[:place]
            else "is no axis of any array"
            if letter not in before
            else ""
        )
        if wrong or letter == ",":
            what = f"'{letter}' {wrong}" if letter != "," else "there is one result"
            raise located(MalformedText, what, spec, spec.rfind(letter), None)
    return operands, result


def _check_names(
    spec: str, operands: Sequence[str], names: Sequence[str], letters: Sequence[str]
) -> None:
    if len(names) != len(operands):
        raise located(
            WrongArity,
            f"operands: {len(operands)}; names: {len(names)} ({', '.join(names)})",
            spec,
            0,
            "give a name for each list of letters",
        )
    taken = {"out": "the result", **{f"N{letter}": "a size" for letter in letters}}
    taken |= dict.fromkeys(letters, "a loop")
    for name in (*names, *letters):
        check_name(name)
    for name in names:
        if name in taken:
            raise NameTaken(
                f"'{name}' cannot be an array: it is the name of {taken[name]}",
                where=caller_location(),
                excerpt=spec,
                remedy="give the array another name, or the axis another letter",
            )
        taken[name] = "another array"


def _subscripted(name: str, axes: str) -> str:
    return f"{name}[{', '.join(axes)}]" if axes else name


def _shape(axes: str) -> tuple[str, ...]:
    return tuple([f"N{letter}" for letter in axes])
