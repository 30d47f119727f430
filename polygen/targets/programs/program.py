"""A device program: its source, and how to call it."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir.array import Argument
from polygen.ir.expression import Expression
from polygen.lower.program import LoopProgram
from polygen.targets.languages.target import Target


@dataclass(frozen=True, slots=True)
class DeviceFunction:
    """A function of the source that the host calls.

    Attributes:
        name: its name.
        arguments: what is passed, in order.
        group_counts: how many work groups there are along each axis, in terms of the arguments
            and of the variables of the loops on the host around the launch.
        local_size: how many work items a group has along each axis.  The launch's size, where
            it is counted in work items, is the product of the two.
        shared_bytes: how much memory of the work group's the launch has to ask for: what is not
            declared with a size.
        waits: whether it begins by waiting until the launches before it are over, so that it may
            be started while they are at work.
        local_bytes: how much memory of the work group's it uses in all; for C, of the stack.
        calls_library: whether the source has no such function: the host calls a library.
    """

    name: str
    arguments: tuple[Argument, ...]
    group_counts: tuple[Expression, ...] = ()
    local_size: tuple[int, ...] = ()
    shared_bytes: int = 0
    waits: bool = False
    local_bytes: int = 0
    calls_library: bool = False


@dataclass(frozen=True)
class Program:
    """A device program; ``str()`` of it is its source, to be printed.

    Attributes:
        target: the language.
        source: the text, as a file holds it.
        launches: the functions that the host calls.  For C it is one, without a grid, which
            runs all there is; otherwise one for each launch of the loop program, in the order in
            which they stand there.
        arguments: what a call passes, in order, with types: the kernel's arguments, then the
            global temporaries, which the runtime allocates.
        extensions: what of the language it uses that not all devices have.
        loop_program: what the text was printed from: the loops around the launches are there.
    """

    target: Target
    source: str
    launches: tuple[DeviceFunction, ...]
    arguments: tuple[Argument, ...]
    loop_program: LoopProgram
    extensions: frozenset[str] = frozenset()

    @property
    def compiler_options(self) -> tuple[str, ...]:
        """The options for the compiler: the kernel's, and those that `contract` asks for."""
        options = self.loop_program.options
        uncontracted = self.target.uncontracted_options if options.contract != "fast" else ()
        return (*uncontracted, *options.build_options)

    def __str__(self) -> str:
        return self.source.rstrip("\n")
