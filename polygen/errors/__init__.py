"""The two error families, and how an error is shown.

Every error that polygen raises on purpose is a `UserError` (something the user can mend) or an
`InternalError` (polygen's own fault, worth a report).  There is one class for each failed
precondition, so that a script can tell them apart.  In which file of this package it stands, no
script needs to know.
"""

from polygen.errors.calling import *
from polygen.errors.cautions import *
from polygen.errors.counting import *
from polygen.errors.families import *
from polygen.errors.families import PolygenError, PolygenWarning
from polygen.errors.generating import *
from polygen.errors.making import *
from polygen.errors.names import *
from polygen.errors.python_functions import *
from polygen.errors.steps import *
from polygen.errors.texts import *
from polygen.errors.work_units import *


def _shown_here(values: tuple[object, ...]) -> None:
    """Let the classes of errors have the name under which they are shown, and pickled."""
    for kind in values:
        if isinstance(kind, type) and issubclass(kind, PolygenError | PolygenWarning):
            kind.__module__ = __name__


_shown_here(tuple(vars().values()))
