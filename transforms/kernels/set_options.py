"""`polygen.set_options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, cast

from polygen import errors
from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.ir.options import CONTRACTIONS, Options, is_sub_group_size
from polygen.source import caller_location
from polygen.transformation import transformation

_NAMES = {f.name: f.default for f in fields(Options)}
_NUMBERS = {
    "resident_groups": "work groups",
    "serial_below": "executions",
    "check_every": "iterations",
}

# What tells the values of an option from others, and how they are written.
_FEW: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "sub_group_size": (is_sub_group_size, "0, a power of two up to 128, or None"),
    "contract": (CONTRACTIONS.__contains__, "'fast', 'sums' or 'off'"),
}


@transformation(declared=True, says_more=True)
def set_options(kernel: Kernel, /, **options: object) -> Kernel:
    """Change how the kernel is compiled, called and transformed.

    Kind: change of interface.

    Parameters:
        options: any of

            ``write_code``: print the generated device source when the kernel is first run;
            ``write_wrapper``: print the generated Python wrapper when it is first run;
            ``return_dict``: a call returns its outputs by name instead of in order;
            ``skip_arg_checks``: do not check shapes, types and overlap at a call;
            ``build_options``: a sequence of texts, passed on to the device's compiler;
            ``contract``: ``"off"`` if a product and the sum it goes into are each to be rounded, as
            in NumPy; ``"sums"`` as ``"off"``, but tensor cores may add up products; ``"fast"``,
            which is the default, if compilers may make a fused multiply-add of them;
            ``resident_groups``: how many work groups a multiprocessor is to run at once, for which
            the compiler leaves registers (CUDA: ``__launch_bounds__``; NVIDIA's OpenCL: the most
            registers of a work item); 0 if it decides;
            ``allow_reassociation``: whether steps may change the order in which a floating-point
            sum or product is computed, and so how it is rounded; they may unless it is False;
            ``vectorize_sums``: C: whether innermost loops may add up and multiply floating-point
            numbers in several parts at once, which rounds otherwise; they may not unless it is
            True, nor where ``allow_reassociation`` is False;
            ``serial_below``: C: a parallel loop in which less often than that something is executed
            runs on one thread: starting others takes longer.  It is 32768; 0 for always several;
            ``force_scan``: no code is generated for a reduction that is no scan: that is computed
            anew in each iteration of the loops around it;
            ``trust_data``: a step that cannot be proved because data decides is taken all the same,
            on your word: it warns (`TakenOnTrust`), and ``knl.claims`` has it, as with
            ``unsafe=True``;
            ``convert_stores``: what an instruction writes is converted to the type of its variable,
            as C does it, where that is an error else: floating-point numbers lose what is behind
            the point, what is not 0 is true;
            ``clusters``: CUDA, from compute capability 9.0 on: work items along ``l.2`` are in
            blocks of their own, at most 8, which are a cluster: a group then has up to 8192;
            ``deterministic``: no code is generated for atomic updates whose result depends on which
            work item comes first (`NotDeterministic`): each run gives the same bits;
            ``fix_sizes``: a call runs code in which the sizes that it has are numbers; code is
            generated and compiled for each combination of sizes, of which the latest 64 are kept;
            ``fix_group_sizes``: a call does so where sizes decide how many work items a group has:
            ``l.0`` of a loop to ``n``;
            ``sub_group_size``: how many work items of a group are taken to read each other's
            registers: a power of two up to 128, or 0 for local memory alone; None, which is the
            default, stands for 32 with CUDA, and 0 with OpenCL, where devices differ;
            ``allow_tf32``: CUDA: tensor cores may round factors of type float32 to TF32, which has
            10 bits behind the binary point (see `use_tensor_cores`);
            ``check_every``: OpenCL and CUDA: before every so many iterations, a loop on the host
            that a condition ends (``for t while c``) reads whether it goes on, which waits for the
            device; results do not depend on it.  It is 1;
            ``silenced_warnings``: a sequence of names of warnings that are not issued, such as
            ``"AmbiguousNesting"``.

    Before -> After:

        >>> import numpy as np, polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
        >>> knl = pg.set_options(knl, return_dict=True)
        >>> evt, outputs = knl(a=np.arange(3, dtype=np.float32))
        >>> outputs["out"]
        array([0., 2., 4.], dtype=float32)

    Raises:
        InvalidArgument: if there is no such option, or if its value is of the wrong kind.

    Source: Loo.py, section 2.2.
    """
    return kernel.copy(
        options=replace(kernel.options, **{n: _value(n, v) for n, v in options.items()})
    )


def _value(name: str, value: object) -> Any:
    if name not in _NAMES:
        raise InvalidArgument(
            f"there is no option '{name}'",
            where=caller_location(),
            remedy=did_you_mean(name, _NAMES),
        )
    if name in _NUMBERS:
        least = 1 if name == "check_every" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            also = "" if least else ", or 0"
            raise InvalidArgument(
                f"the option '{name}' is a number of {_NUMBERS[name]}{also}, not {value!r}",
                where=caller_location(),
            )
        return value
    if isinstance(_NAMES[name], bool):
        if not isinstance(value, bool):
            raise InvalidArgument(
                f"the option '{name}' is True or False, not {value!r}", where=caller_location()
            )
        return value
    if name in _FEW:
        is_one, shown = _FEW[name]
        if not is_one(value):
            raise InvalidArgument(
                f"the option '{name}' is {shown}, not {value!r}", where=caller_location()
            )
        return value
    texts = _texts(value)
    if texts is None:
        raise InvalidArgument(
            f"the option '{name}' is a sequence of texts, not {value!r}", where=caller_location()
        )
    if name == "silenced_warnings":
        _check_warnings(texts)
    else:
        _check_build_options(texts)
    return texts


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple):
        return None
    items = cast("Sequence[object]", value)
    return tuple(str(item) for item in items) if all(isinstance(i, str) for i in items) else None


def _check_build_options(options: Sequence[str]) -> None:
    for option in options:
        if not option.isprintable():
            raise InvalidArgument(
                f"the build option {option!r} has a character that no command line can hold",
                where=caller_location(),
                remedy="write one text for each option: ['-DX=1', '-w']",
            )


def _check_warnings(names: Sequence[str]) -> None:
    known = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.PolygenWarning)
    ]
    for name in names:
        if name not in known:
            raise InvalidArgument(
                f"there is no warning '{name}'",
                where=caller_location(),
                remedy=did_you_mean(name, known),
            )
