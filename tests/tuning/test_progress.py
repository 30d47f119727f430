"""The bar: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from polygen.tuning.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("tuning 'sums'", 10.0) as tell:
        tell("7 candidates, best 1.2 ms")
    return stream.getvalue()


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(Terminal(), monkeypatch)
    assert "tuning 'sums'" in text
    assert "7 candidates, best 1.2 ms" in text


def test_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shown(io.StringIO(), monkeypatch)


def test_nothing_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    assert not shown(Terminal(), monkeypatch)
