"""A linear congruential generator on unsigned 32-bit numbers, which wrap around; on the host."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [s, t]: 0<=s<nstreams and 0<=t<nsteps }",
    """
    for s
        <uint32> state = seed[s] {id=start}
        for t
            state = mult*state + inc {id=step, dep=start}
            draws[s, t] = state {id=draw, dep=step}
        end
    end
    """,
    [
        lp.GlobalArg("seed", np.uint32, shape=("nstreams",)),
        lp.GlobalArg("draws", np.uint32, shape=("nstreams", "nsteps")),
        lp.ValueArg("mult, inc", np.uint32),
        lp.ValueArg("nstreams, nsteps", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
seed = np.arange(1, 6, dtype=np.uint32) * np.uint32(12345)
evt, (draws,) = knl(seed=seed, mult=np.uint32(1664525), inc=np.uint32(1013904223), nsteps=9)

expected = np.empty((5, 9), np.uint32)
for s, start in enumerate(seed):
    state = int(start)
    for t in range(9):
        state = (1664525 * state + 1013904223) % 2**32
        expected[s, t] = state
RESULTS = {"draws": draws}
EXPECTED = {"draws": expected}
