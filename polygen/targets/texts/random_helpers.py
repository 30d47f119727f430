"""The text of counter-based generators of random numbers.

See `polygen.analysis.typing.random_numbers`.

Philox has 10 rounds, Threefry 20; with these numbers the paper's tests find nothing wrong.
"""

from __future__ import annotations

from polygen.analysis.typing.random_numbers import Generator

_MULTIPLIERS = {
    (2, 32): (0xD256D193,),
    (4, 32): (0xD2511F53, 0xCD9E8D57),
    (2, 64): (0xD2B74407B1CE6E93,),
    (4, 64): (0xD2E7470EE14C6C93, 0xCA5A826395121157),
}
_STEPS = {  # the golden ratio, and the square root of 3 less 1
    32: (0x9E3779B9, 0xBB67AE85),
    64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}
_ROTATIONS = {
    (2, 32): ((13, 15, 26, 6, 17, 29, 16, 24),),
    (4, 32): ((10, 11, 13, 23, 6, 17, 25, 18), (26, 21, 27, 5, 20, 11, 10, 20)),
    (2, 64): ((16, 42, 12, 31, 16, 32, 24, 21),),
    (4, 64): ((14, 52, 23, 5, 25, 46, 58, 32), (16, 57, 40, 37, 33, 12, 22, 32)),
}
_PARITIES = {32: 0x1BD11BDA, 64: 0x1BD11BDAA9FC1A22}
FIELDS = "xyzw"


def random_template(generator: Generator) -> str:
    """Return the function: ``$T`` is the type of a word, ``$V`` that of all results.

    ``$unsigned`` follows a literal; ``$begin`` and ``$end`` surround the results.
    """
    lines = _philox(generator) if generator.family == "philox" else _threefry(generator)
    words = [f"c{k}" for k in range(generator.count)] + [f"k{k}" for k in range(generator.keys)]
    bits = 8 * generator.word.itemsize
    shift, scale = (8, "0x1p-24f") if bits == 32 else (11, "0x1p-53")
    results = [f"c{k}" for k in range(generator.count)]
    if generator.dtype.kind == "f":
        results = [f"($R)(c{k} >> {shift}) * {scale}" for k in range(generator.count)]
    return "\n".join(
        [
            f"$V $name({', '.join(f'$T {word}' for word in words)})",
            "{",
            *(f"    {line}" for line in lines),
            f"    return ${{begin}}{', '.join(results)}${{end}};",
            "}",
        ]
    )


def _philox(generator: Generator) -> list[str]:
    bits, pairs = 8 * generator.word.itemsize, generator.count // 2
    lines = ["for (int round = 0; round < 10; ++round) {"]
    for pair, factor in enumerate(_MULTIPLIERS[generator.count, bits]):
        lines += [f"    {line}" for line in _product(pair, factor, bits)]
    if pairs == 1:
        lines += ["    c0 = high0 ^ k0 ^ c1;", "    c1 = low0;"]
    else:
        lines += ["    c0 = high1 ^ c1 ^ k0;", "    c1 = low1;"]
        lines += ["    c2 = high0 ^ c3 ^ k1;", "    c3 = low0;"]
    for key in range(generator.keys):
        lines.append(f"    k{key} += {_STEPS[bits][key]:#x}$unsigned;")
    return [*lines, "}"]


def _product(pair: int, factor: int, bits: int) -> list[str]:
    """Return the declarations of the upper and the lower half of a product of words."""
    word = f"c{2 * pair}"
    if bits == 32:
        return [
            f"$D const product{pair} = ($D) {factor:#x}$unsigned * {word};",
            f"$T const high{pair} = ($T)(product{pair} >> 32), low{pair} = ($T) product{pair};",
        ]
    low, high = factor & 0xFFFFFFFF, factor >> 32
    return [
        f"$T const a{pair} = {word} & 0xffffffff$unsigned, b{pair} = {word} >> 32;",
        f"$T const middle{pair} = {high:#x}$unsigned * a{pair} + "
        f"({low:#x}$unsigned * a{pair} >> 32);",
        f"$T const carry{pair} = {low:#x}$unsigned * b{pair} + "
        f"(middle{pair} & 0xffffffff$unsigned);",
        f"$T const high{pair} = {high:#x}$unsigned * b{pair} + (middle{pair} >> 32) + "
        f"(carry{pair} >> 32);",
        f"$T const low{pair} = {factor:#x}$unsigned * {word};",
    ]


def _threefry(generator: Generator) -> list[str]:
    bits, count = 8 * generator.word.itemsize, generator.count
    keys = " ^ ".join(f"k{k}" for k in range(count))
    lines = [f"$T const k{count} = {_PARITIES[bits]:#x}$unsigned ^ {keys};"]
    lines += [f"c{k} += k{k};" for k in range(count)]
    for block in range(5):
        for position in range(4):
            lines += _mix(generator, 4 * block + position)
        for k in range(count):
            last = f" + {block + 1}" if k == count - 1 else ""
            lines.append(f"c{k} += k{(block + 1 + k) % (count + 1)}{last};")
    return lines


def _mix(generator: Generator, number: int) -> list[str]:
    bits = 8 * generator.word.itemsize
    # Of four words, the second and the fourth change places from round to round.
    others = (1,) if generator.count == 2 else ((1, 3) if number % 2 == 0 else (3, 1))
    lines: list[str] = []
    for pair, other in enumerate(others):
        by = _ROTATIONS[generator.count, bits][pair][number % 8]
        lines.append(f"c{2 * pair} += c{other};")
        turned = f"(c{other} << {by} | c{other} >> {bits - by})"
        lines.append(f"c{other} = {turned} ^ c{2 * pair};")
    return lines
