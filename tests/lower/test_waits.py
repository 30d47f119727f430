"""Instructions between which nobody has to wait (`nosync=`): whether that is true."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import WaitNeeded

LOCAL = pg.AddressSpace.LOCAL


def staged(index: str, option: str, reader: str = "j") -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<16 }",
        f"t[i] = a[i]  {{id=w}}\nout[{reader}] = t[{index}]  {{id=r{option}}}",
        [
            pg.TemporaryVariable("t", np.float32, 16, LOCAL),
            pg.GlobalArg("a", np.float32, 16),
            *([pg.GlobalArg("p", np.int32, 16)] if "p" in index else []),
            "...",
        ],
        name="staged",
        silenced_warnings="UnusedIname",  # with reader="i"
    )
    return pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})


def test_what_is_true_is_accepted() -> None:
    code = str(pg.generate_code(staged("i", ", nosync=w@local", reader="i"), "opencl"))
    assert "barrier" not in code


@pytest.mark.parametrize("scope", ["", "@local", "@any"])
def test_what_is_wrong_is_refused(scope: str) -> None:
    with pytest.raises(WaitNeeded, match="both touch one element of 't'") as caught:
        pg.generate_code(staged("15 - j", f", nosync=w{scope}"), "opencl")
    assert "-> [j] out[j]" in str(caught.value.excerpt)


def test_another_memory_is_not_meant() -> None:
    code = str(pg.generate_code(staged("15 - j", ", nosync=w@global"), "opencl"))
    assert code.count("barrier(") == 1


def test_data_needs_a_claim() -> None:
    with pytest.raises(WaitNeeded, match="of 't', unless data says otherwise") as caught:
        pg.generate_code(staged("p[j]", ", nosync=w"), "opencl")
    assert "assume_independent" in str(caught.value.remedy)
