"""Checks the names that domains, assumptions and separations mention."""

from __future__ import annotations

from polygen.errors import MalformedKernel, UnknownName, UserError, did_you_mean
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable, ValueArg
from polygen.ir.bounding import bounding
from polygen.ir.domain import Domain
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_in_domain
from polygen.ir.show_expression import show_expression


def check_domain_parameters(kernel: Kernel) -> None:
    """Check what domains and assumptions mention.

    Raises:
        UnknownName: if they mention a name that nothing has.
        MalformedKernel: if they mention what cannot be in a bound.
    """
    for domain in kernel.domains:
        for name in domain.inames:
            check_in_domain(name)
        for name in domain.parameters:
            check_in_domain(name)
            variable = kernel.variables.get(name)
            scalar = isinstance(variable, TemporaryVariable) and not variable.shape
            if not (scalar or isinstance(variable, ValueArg) or name in kernel.home_domains):
                raise _wrong_parameter(
                    kernel, domain, name, "scalar argument, scalar temporary or iname"
                )
    for name in kernel.assumptions.parameters:
        if not isinstance(kernel.variables.get(name), ValueArg):
            raise _wrong_parameter(kernel, kernel.assumptions, name, "scalar argument")


def _wrong_parameter(kernel: Kernel, domain: Domain, name: str, allowed: str) -> UserError:
    known = {*kernel.variables, *kernel.inames}
    kind, remedy = (
        (MalformedKernel, "compute the value into a temporary, and use that")
        if name in known
        else (UnknownName, did_you_mean(name, known))
    )
    return kind(
        f"{domain} mentions '{name}', which is no {allowed}",
        where=kernel.location,
        remedy=remedy,
    )


def check_separations(kernel: Kernel) -> None:
    """Check what separations mention.

    Raises:
        UnknownName: if one mentions something that is no iname or scalar argument.
    """
    if not kernel.separations:
        return
    known = {*kernel.inames, *kernel.parameters, *bounding(kernel, kernel.inames)}
    for condition in kernel.separations:
        names = walk.free_variables(condition)
        for name in () if names <= known else sorted(names - known):
            raise UnknownName(
                f"the separation '{show_expression(condition)}' mentions '{name}', which is no "
                "iname or scalar argument",
                where=kernel.location,
                remedy=did_you_mean(name, known),
            )
