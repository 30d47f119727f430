"""Bits packed, shifted and masked in 32-bit integers, and remainders that are never negative."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> low = word[i] & 255
    <> high = (word[i] >> 8) & 255
    swapped[i] = (low << 8) | high
    mixed[i] = word[i] ^ (word[i] >> 3)
    inverse[i] = ~word[i]
    wrapped[i] = (word[i] - 40000) % 17
    halves[i] = (word[i] - 40000) // 4
    """,
    [lp.GlobalArg("word,swapped,mixed,inverse,wrapped,halves", np.int32, shape="n"), "..."],
    options=lp.Options(return_dict=True),
    name="bits",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
word = np.random.default_rng(4).integers(0, 2**16, 59).astype(np.int32)
evt, found = knl(word=word.copy())

names = ("swapped", "mixed", "inverse", "wrapped", "halves")
RESULTS = {name: found[name] for name in names}
EXPECTED = {
    "swapped": ((word & 255) << 8) | (word >> 8),
    "mixed": word ^ (word >> 3),
    "inverse": ~word,
    "wrapped": (word - 40000) % 17,
    "halves": (word - 40000) // 4,
}
