"""What a work item tells its group through global memory, and a barrier, on a GPU."""

from __future__ import annotations

import numpy as np

from tests.targets.programs.test_exchanged import exchanging


def test_a_group_hears_what_its_first_work_item_tells() -> None:
    a = np.arange(4000, dtype=np.float32)
    wanted = 2 * a[:, None] + np.arange(64, dtype=np.float32)
    for _ in range(3):
        (b,) = exchanging().executor("cuda")(a=a)[1]
        np.testing.assert_array_equal(b, wanted)
