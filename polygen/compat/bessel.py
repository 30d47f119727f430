"""Bessel functions of the first kind, of order 0 and 1: plain Python that work units call.

Up to 25, Bessel's integral by the trapezoidal rule, which converges like a power series: 32 points
leave 2e-19.  Above, Hankel's expansion: 24 terms leave 1e-17 of the first one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.workunits.decorators import function


@function
def j0(x: Any) -> Any:
    """Return the Bessel function of order 0.

    Parameters:
        x: a number.

    >>> round(float(j0(1.0)), 12)
    0.765197686558
    """
    at = np.abs(x)
    if at < 25.0:
        total = 0.0 * at
        for k in range(16):
            total += np.cos(at * np.sin(np.pi * (k + 0.5) / 32.0))
        return total / 16.0
    even = 0.0 * at
    odd = 0.0 * at
    term = 1.0 + 0.0 * at
    for k in range(12):
        even += term
        term *= -((4.0 * k + 1.0) ** 2) / (8.0 * (2.0 * k + 1.0) * at)
        odd += term
        term *= ((4.0 * k + 3.0) ** 2) / (8.0 * (2.0 * k + 2.0) * at)
    # cos(x - pi/4) and sin(x - pi/4), without the error of a difference.
    turned = (np.cos(at) + np.sin(at)) * np.sqrt(0.5)
    aside = (np.sin(at) - np.cos(at)) * np.sqrt(0.5)
    return np.sqrt(2.0 / (np.pi * at)) * (even * turned - odd * aside)


@function
def j1(x: Any) -> Any:
    """Return the Bessel function of order 1.

    Parameters:
        x: a number.

    >>> round(float(j1(1.0)), 12)
    0.440050585745
    """
    at = np.abs(x)
    if at < 25.0:
        total = 0.0 * at
        for k in range(16):
            point = np.sin(np.pi * (k + 0.5) / 32.0)
            total += point * np.sin(x * point)
        return total / 16.0
    even = 0.0 * at
    odd = 0.0 * at
    term = 1.0 + 0.0 * at
    for k in range(12):
        even += term
        term *= (4.0 - (4.0 * k + 1.0) ** 2) / (8.0 * (2.0 * k + 1.0) * at)
        odd += term
        term *= -(4.0 - (4.0 * k + 3.0) ** 2) / (8.0 * (2.0 * k + 2.0) * at)
    # cos(x - 3*pi/4) and sin(x - 3*pi/4).
    turned = (np.sin(at) - np.cos(at)) * np.sqrt(0.5)
    aside = -(np.sin(at) + np.cos(at)) * np.sqrt(0.5)
    found = np.sqrt(2.0 / (np.pi * at)) * (even * turned - odd * aside)
    return -found if x < 0.0 else found
