"""Counter-based random numbers, from the paper, with Python's integers.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from collections.abc import Sequence

_FACTORS = {
    (2, 32): [0xD256D193],
    (4, 32): [0xD2511F53, 0xCD9E8D57],
    (2, 64): [0xD2B74407B1CE6E93],
    (4, 64): [0xD2E7470EE14C6C93, 0xCA5A826395121157],
}
_GOLDEN = {
    32: [int(0.5 * (5**0.5 - 1) * 2**32), int((3**0.5 - 1) * 2**32)],
    64: [0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B],
}
_ROTATIONS: dict[tuple[int, int], list[tuple[int, ...]]] = {
    (2, 32): [(13,), (15,), (26,), (6,), (17,), (29,), (16,), (24,)],
    (4, 32): [(10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)],
    (2, 64): [(16,), (42,), (12,), (31,), (16,), (32,), (24,), (21,)],
    (4, 64): [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)],
}


def philox(counter: Sequence[int], key: Sequence[int], bits: int) -> list[int]:
    """Return random words of so many bits, as many as the counter has."""
    mask, count = 2**bits - 1, len(counter)
    words, keys = list(counter), list(key)
    for _ in range(10):
        products = [f * words[2 * k] for k, f in enumerate(_FACTORS[count, bits])]
        high, low = [p >> bits for p in products], [p & mask for p in products]
        if count == 2:
            words = [high[0] ^ keys[0] ^ words[1], low[0]]
        else:
            words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
        keys = [(k + step) & mask for k, step in zip(keys, _GOLDEN[bits], strict=False)]
    return words


def threefry(counter: Sequence[int], key: Sequence[int], bits: int) -> list[int]:
    """Return random words of so many bits, as many as the counter has."""
    mask, count = 2**bits - 1, len(counter)
    extended = [*key, 0x1BD11BDA if bits == 32 else 0x1BD11BDAA9FC1A22]
    for k in key:
        extended[-1] ^= k
    words = [(c + k) & mask for c, k in zip(counter, key, strict=True)]
    for step in range(20):
        for pair, by in enumerate(_ROTATIONS[count, bits][step % 8]):
            left, right = words[2 * pair], words[2 * pair + 1]
            left = (left + right) & mask
            right = ((right << by) & mask | right >> (bits - by)) ^ left
            words[2 * pair], words[2 * pair + 1] = left, right
        if count == 4:
            words[1], words[3] = words[3], words[1]
        if step % 4 == 3:
            block = step // 4 + 1
            words = [(w + extended[(block + k) % (count + 1)]) & mask for k, w in enumerate(words)]
            words[-1] = (words[-1] + block) & mask
    return words
