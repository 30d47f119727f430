"""Work units, views and policies that do not fit."""

from __future__ import annotations

from polygen.errors.families import UserError


class UnsupportedSpace(UserError):
    """An execution space that polygen has no target for."""


class PolicyMismatch(UserError):
    """A work unit and a policy that do not fit: another number of indices, say."""


class NoWorkUnit(UserError):
    """Something that is dispatched, and is no work unit."""


class WorkUnitRefused(UserError):
    """A work unit that cannot run in the space that it is dispatched in."""


class ThreadsPart(UserError):
    """A barrier, or work that threads of a team share, that not all of them come to."""


class ViewMismatch(UserError):
    """A view, or an argument of a work unit, that is not what its annotation says."""


class RaceFound(UserError):
    """A policy that runs in any order two instances of which one needs the other."""


class SubscriptOutOfBounds(UserError, IndexError):
    """A subscript of a view that it does not have, in an iteration of a work unit."""
