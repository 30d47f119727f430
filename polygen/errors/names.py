"""Names that are not there, or cannot be."""

from __future__ import annotations

from polygen.errors.families import UserError


class UnknownName(UserError):
    """A name that the kernel does not have: what is close to it is suggested."""


class UnknownIname(UnknownName):
    """An iname that no domain of the kernel has."""


class UnknownInstruction(UnknownName):
    """An instruction id that the kernel does not have."""


class UnknownArgument(UnknownName):
    """An argument or variable that the kernel does not have."""


class UnknownFunction(UnknownName):
    """A function that polygen has no rule for."""


class UnknownRule(UnknownName):
    """A substitution rule that the kernel does not have."""


class UnknownTarget(UnknownName):
    """A target that polygen does not generate code for."""


class WrongArity(UserError):
    """A function with more or fewer arguments than it takes."""


class NameTaken(UserError):
    """A new name that the kernel already uses for something else."""


class BuiltInFunction(UserError):
    """A function of one's own that has the name of one that kernels can call anyway."""


class ReservedName(UserError):
    """A name that is a keyword of a target language, or not an identifier at all."""
