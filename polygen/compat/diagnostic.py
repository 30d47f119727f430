"""Loo.py's families of errors and warnings, and single ones of which polygen has the like."""

from polygen.compat._modules import imported as __getattr__
from polygen.compat._table import MeansOtherwise
from polygen.errors import AutomaticTestFailure
from polygen.errors import DependencyCycle as DependencyCycleFound
from polygen.errors import PolygenError as LoopyError
from polygen.errors import PolygenWarning as LoopyWarning
from polygen.errors import TypeNotFound as TypeInferenceFailure
from polygen.errors import UninitializedRead as MissingDefinitionError
from polygen.errors import UnorderedAccess as VariableAccessNotOrdered

DependencyTypeInferenceFailure = TypeInferenceFailure

__all__ = [
    "AutomaticTestFailure",
    "DependencyCycleFound",
    "DependencyTypeInferenceFailure",
    "DirectCallUncachedWarning",
    "LoopyAdvisory",
    "LoopyError",
    "LoopyWarning",
    "MeansOtherwise",
    "MissingDefinitionError",
    "ParameterFinderWarning",
    "TypeInferenceFailure",
    "VariableAccessNotOrdered",
    "WriteRaceConditionWarning",
    "__getattr__",
]


class LoopyAdvisory(LoopyWarning):
    """Never issued here."""


class DirectCallUncachedWarning(LoopyWarning):
    """Never issued here: calls of kernels keep what was compiled."""


class ParameterFinderWarning(LoopyWarning):
    """Never issued here: a size that nothing tells is an error of the call."""


class WriteRaceConditionWarning(LoopyWarning):
    """Never issued here: races are errors."""
