"""Programs as texts for the cache: the same program comes back."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.ir.value_texts import NotText
from polygen.targets.programs.program_text import program_of_text, program_text


@pytest.mark.parametrize("target", ["c", "opencl", "cuda"])
def test_programs_come_back(target: str) -> None:
    knl = pg.make_kernel(
        "{ [t, i, k]: 0<=t<T and 1<=i<n-1 and 0<=k<5 }",
        """
        for t
            for i
                <> s = sum(k, w[k]*x[i - 1, k]) + 1j
                b[i] = s*b[i]
                h[0] = h[0] + 1 {atomic}
            end
        end
        """,
        [
            pg.GlobalArg("b", np.complex128, "n"),
            pg.GlobalArg("h", np.int32, 1),
            pg.GlobalArg("x", np.float32, "n, 5"),
            pg.TemporaryVariable(
                "w", np.float64, shape=(5,), initializer=np.arange(5.0), read_only=True,
                address_space=pg.AddressSpace.GLOBAL,
            ),
            "...",
        ],
        loop_priority="t, i",
        target=target,
    )  # fmt: skip
    if target != "c":
        knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    program = pg.generate_code(knl)
    found = program_of_text(program_text(program))
    assert found == program
    assert found.target is program.target
    assert str(found.loop_program) == str(program.loop_program)
    assert found.compiler_options == program.compiler_options


def test_other_values_are_none() -> None:
    with pytest.raises(NotText, match="no text of a program"):
        program_of_text('{"classes": ["constant"], "values": [[0, 1]]}')
