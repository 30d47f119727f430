"""Checks that claims are about parts of the kernel."""

from __future__ import annotations

from polygen.errors import MalformedKernel
from polygen.ir.array import GlobalArg
from polygen.ir.claims import Independent, Injective
from polygen.ir.kernel import Kernel


def check_claims(kernel: Kernel) -> None:
    """Check what claims mention.

    Raises:
        UnknownArgument: if a claim is about an array that the kernel does not have.
        UnknownInstruction: if one is about an instruction that it does not have.
        MalformedKernel: if one calls injective what is no array argument, or is written.
    """
    for claim in kernel.claims:
        if isinstance(claim, Independent):
            kernel.instruction(claim.first)
            kernel.instruction(claim.second)
        elif isinstance(claim, Injective):
            _check_injective(kernel, claim.array)


def _check_injective(kernel: Kernel, name: str) -> None:
    if not isinstance(kernel.variable(name), GlobalArg):
        raise MalformedKernel(
            f"'{name}' cannot be claimed to be injective: it is no array argument",
            where=kernel.location,
            remedy="name an array that a call passes",
        )
    if name in kernel.writers:
        writer = kernel.writers[name][0]
        raise MalformedKernel(
            f"'{name}' cannot be claimed to be injective: instruction '{writer.id}' writes it",
            where=kernel.location,
            remedy=f"claim that the instructions are independent which use '{name}': "
            "assume_independent",
        )
