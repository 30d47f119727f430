"""Other tests compile texts and read them back: here, they are compared with what they were."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def cuda_is_compiled() -> None:
    """Compile nothing."""


@pytest.fixture(autouse=True)
def text_is_read_back() -> None:
    """Read nothing back."""
