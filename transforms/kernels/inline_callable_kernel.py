"""`inline_callable_kernel`: instructions in place of calls of a kernel."""

from __future__ import annotations

from polygen.analysis.expansion.inlining import inlined
from polygen.errors import UnknownFunction, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import transformation


@transformation
def inline_callable_kernel(kernel: Kernel, function_name: str) -> Kernel:
    r"""Put the instructions of a kernel in the place of all calls of it.

    Without this step, generated code has a function for it.  Loops and temporaries get the id of
    the call in front of their names; steps can then change them like all others.  Substitution
    rules are expanded.

    Kind: expression rewrite.

    Requires:
        1. the kernel calls one of this name, and knows it.

    Before -> After:
        >>> import polygen as pg
        >>> scale = pg.make_function("{ [k]: 0<=k<m }", "y[k] = 2*x[k]", name="scale")
        >>> text = "[j]: out[i, j] = scale(4, [j]: a[j, i])"
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", text, functions={"scale": scale})
        >>> knl = pg.inline_callable_kernel(knl, "scale")
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i, scale_k] out[i, scale_k] = 2*a[scale_k, i]  {id=scale_insn}

    Parameters:
        kernel: the kernel.
        function_name: the name of the kernel that is called.

    Raises:
        UnknownFunction: if the kernel calls none of this name, or if nothing says what it is.
    """
    known = {call.function: call for call in kernel.calls if call.callee is not None}
    if function_name not in known:
        unknown = any(call.function == function_name for call in kernel.calls)
        raise UnknownFunction(
            f"kernel '{kernel.name}' calls no kernel '{function_name}'"
            + (" that is known" if unknown else ""),
            where=caller_location(),
            remedy="merge it with that" if unknown else did_you_mean(function_name, known),
        )
    return inlined(kernel.without_rules, (function_name,))
