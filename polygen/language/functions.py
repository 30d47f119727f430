"""Functions of the user's in a kernel: calls of them know what they call."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace

from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import MalformedText, NameTaken
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import ScalarCallable, Symbol, UserFunction, checked_functions
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES
from polygen.ir.instruction import Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.language.operations import operation_names
from polygen.language.parser import located

_SIGNATURE = re.compile(r"(\w+) = (\w+)\((.*)\) -> (.*)")
_SYMBOL = re.compile(r"(\w+) = symbol -> (\w+)")
_TEXT = re.compile(r"(\w+) is ([\w*]+): (['\"].*)")
_PREAMBLE = re.compile(r"(\w+) in ([\w*]+): (['\"].*)")


def with_functions(kernel: Kernel, functions: Mapping[str, object]) -> Kernel:
    """Return a kernel whose calls of these names are calls of these functions.

    Those in kernels that it calls are, too.

    Raises:
        BuiltInFunction: if one has the name of a function that kernels can call anyway.
        InvalidArgument: if one is no function.
        NameTaken: if one has a name that means something else in the kernel.
        ReservedName: if one has no name that a function may have.
    """
    if not functions:
        return kernel
    known = checked_functions(functions, (*FUNCTIONS, *FETCHES, *operation_names()))
    here = {kernel.name, *kernel.inames, *kernel.variables}
    there = {signature.name for f in known.values() for signature in f.signatures}
    if both := sorted((known.keys() & {*here, *kernel.rules}) | (there & here)):
        raise NameTaken(
            f"'{both[0]}' is a function, and something else in kernel '{kernel.name}'",
            where=kernel.location,
            remedy=f"give one of them another name, such as '{both[0]}_'",
        )

    def rule(node: Expression) -> Expression:
        if isinstance(node, ex.Call) and ex.name_of(node.function) in known:
            name = ex.name_of(node.function)
            return ex.Call(UserFunction(name, known[name]), node.parameters)
        return node

    def changed(node: Expression) -> Expression:
        return walk.rewrite(node, rule)

    def instruction(insn: Instruction) -> Instruction:
        insn = insn.map_expressions(changed)
        if isinstance(insn, KernelCall) and insn.callee is not None:
            return insn.copy(callee=with_functions(insn.callee, functions))
        return insn

    return kernel.copy(
        instructions=tuple(map(instruction, kernel.instructions)),
        substitutions=tuple(
            replace(r, expression=changed(r.expression)) for r in kernel.substitutions
        ),
    )


def with_symbols(kernel: Kernel, symbols: Mapping[str, Symbol]) -> Kernel:
    """Return a kernel in which some scalar arguments are constants of the target's.

    Those of this name in kernels that it calls stay what they are.
    """

    def rule(node: Expression) -> Expression:
        if isinstance(node, ex.Variable) and node.name in symbols:
            return ex.Call(UserFunction(node.name, symbols[node.name]), ())
        return node

    def changed(node: Expression) -> Expression:
        return walk.rewrite(node, rule)

    return kernel.copy(
        instructions=tuple(insn.map_expressions(changed) for insn in kernel.instructions),
        substitutions=tuple(
            replace(r, expression=changed(r.expression)) for r in kernel.substitutions
        ),
        arguments=tuple([a for a in kernel.arguments if a.name not in symbols]),
    )


class FunctionLines:
    """Reads the lines that `print` shows of functions."""

    def __init__(self) -> None:
        self._signatures: dict[str, dict[str, str]] = {}
        self._preambles: dict[str, dict[str, str]] = {}
        self._symbols: dict[str, str] = {}
        self._texts: dict[str, dict[str, str]] = {}

    def add(self, line: str) -> None:
        """Read a line.

        Raises:
            MalformedText: if it says nothing of a function.
        """
        if match := _SIGNATURE.fullmatch(line):
            name, there, arguments, results = match.groups()
            self._signatures.setdefault(name, {})[there] = f"{arguments} -> {results}"
        elif match := _SYMBOL.fullmatch(line):
            self._symbols[match[1]] = match[2]
        elif match := _TEXT.fullmatch(line):
            name, target, text = match.groups()
            self._texts.setdefault(name, {})[target] = read_text(line, text)
        elif match := _PREAMBLE.fullmatch(line):
            name, target, text = match.groups()
            self._preambles.setdefault(name, {})[target] = read_text(line, text)
        else:
            raise located(
                MalformedText,
                "this says nothing of a function",
                line,
                0,
                "a function is printed as 'f = f_in_c(float64) -> float64', and its code as "
                "'f in c: \"...\"'",
            )

    def functions(self) -> dict[str, ScalarCallable]:
        """Return the functions that were read."""
        return {
            name: ScalarCallable(signatures, self._preambles.get(name, ""))
            for name, signatures in self._signatures.items()
        }

    def symbols(self) -> dict[str, Symbol]:
        """Return the constants that were read."""
        return {
            name: Symbol(dtype, self._texts.get(name, {}), self._preambles.get(name, ""))
            for name, dtype in self._symbols.items()
        }


def read_text(line: str, quoted: str) -> str:
    """Return the text that stands in quotes in a line.

    Raises:
        MalformedText: if there is none.
    """
    try:
        return str(ast.literal_eval(quoted))
    except (ValueError, SyntaxError):
        raise located(
            MalformedText, "this is no text in quotes", line, line.find(quoted), None
        ) from None


def read_preamble(line: str) -> tuple[str, str, str]:
    """Return what a line such as ``10_limits in c: '#include <limits.h>'`` says.

    Raises:
        MalformedText: if it says something else.
    """
    match = _PREAMBLE.fullmatch(line)
    if match is None:
        raise located(
            MalformedText,
            "this is no text that a source begins with",
            line,
            0,
            "it is printed as 'key in c: \"...\"'",
        )
    key, target, text = match.groups()
    return target, key, read_text(line, text)
