"""A target "hip" whose rows are CUDA's, under another name: it gets CUDA's code, whatever is asked.

`tests/test_target_rows.py` runs this as a program: tables are copied when modules are imported, so
that the first row has to be there before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import polygen as pg  # loads nothing
from polygen.errors import SubGroupTooLarge
from polygen.ir.target_facts import TARGET_FACTS


def add_rows() -> None:
    facts = replace(TARGET_FACTS["cuda"], title="HIP C++")
    cast("dict[str, Any]", TARGET_FACTS)["hip"] = facts
    from polygen.targets.languages import registry  # noqa: PLC0415  (now all see the row above)

    for table in (registry.TARGETS, registry.IN_CLUSTERS):
        cast("dict[str, Any]", table)["hip"] = replace(table["cuda"], name="hip")


def whole_sum(target: str, **how: Any) -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "s[0] = sum(i, a[i]**2)", name="squares", target=target)
    knl = pg.add_dtypes(knl, {"a": "float32"})
    return pg.parallelize_reduction(knl, "insn", threads=64, **how) if how else knl


def preamble(info: pg.PreambleInfo) -> Iterator[tuple[str, str]]:
    yield "10_where", "// elsewhere" if info.target in ("c", "opencl") else "// on a GPU"


def variants(target: str) -> Iterator[pg.Kernel]:
    yield whole_sum(target)
    yield pg.register_preamble_generators(whole_sum(target), [preamble])
    yield whole_sum(target, blocks=8, finish="two_pass")
    yield whole_sum(target, blocks=8, finish="atomic")
    yield whole_sum(target, blocks=4, finish="cluster")
    yield pg.set_options(whole_sum(target, blocks=1), sub_group_size=16)
    limits = pg.Limits.named("H100")
    yield pg.optimize_reductions(whole_sum(target), limits, sizes={"n": 1 << 16})


def main() -> None:
    add_rows()
    texts: list[str] = []
    for hip, cuda in zip(variants("hip"), variants("cuda"), strict=True):
        texts.append(pg.generate_code(hip).source)
        assert texts[-1] == pg.generate_code(cuda).source
        assert str(pg.parse_kernel(str(hip))) == str(hip)
        assert "TARGET: hip" in str(hip)
    for what in ("__shfl_down_sync", "__cluster_dims__", "// on a GPU", "atomicAdd"):
        assert any(what in text for text in texts), what
    assert pg.generate_code(whole_sum("c").copy(target=None), "hip").source == texts[0]
    assert all("Source: HIP C++" in whole_sum(t)._repr_html_() for t in ("hip", "c"))
    try:
        pg.generate_code(pg.set_options(whole_sum("hip", blocks=1), sub_group_size=64))
    except SubGroupTooLarge as error:
        assert "with target 'hip', 32 work items" in error.what
    else:
        raise AssertionError("sub-groups of 64")


if __name__ == "__main__":
    main()
