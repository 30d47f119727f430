"""Time of kernels of many nests, as they are written and as `pg.optimize` fuses them, on C.

    PYTHONPATH=$PWD python -m benchmarks.fused_nests [--rounds 30] [--threads 2] [--only NAME]

Run it with the Python of an environment that has Numba; without it, that peer is left out.  All
are given the same arrays, in turns; each time is the least of the rounds, after a first call.
`before` is the kernel with the stages of schedules that do not change statements: orders of loops,
threads.  NumPy and Numba (`njit(parallel=True)`) run the same sources, whole arrays at once.  In
the end, the CPU time that `pg.optimize` takes, of a second kernel alike.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules import processors
from polygen.schedules.recomputed_arrays import arrays_recomputed

F64 = np.float64
LINKS = 10


def temporary(name: str, shape: str) -> pg.TemporaryVariable:
    """Return an array in global memory."""
    return pg.TemporaryVariable(name, F64, shape, address_space=pg.AddressSpace.GLOBAL)


def made(domains: Any, text: str, *data: Any) -> Kernel:
    """Return a kernel of nests one after the other."""
    return pg.make_kernel(domains, text, [*data, "..."], target="c", seq_dependencies=True)


# --- the kernels


def chain() -> Kernel:
    """Return ten element-wise statements, each of which reads the one before."""
    names = ["a", *(f"t{m}" for m in range(LINKS - 1)), "out"]
    inames = [f"i{m}" for m in range(LINKS)]
    text = "\n".join(
        f"{names[m + 1]}[{i}] = {names[m]}[{i}]*1.5 + b[{i}]" for m, i in enumerate(inames)
    )
    data = [temporary(name, "n") for name in names[1:-1]]
    domain = f"{{ [{','.join(inames)}]: 0<={','.join(inames)}<n }}"
    return made(domain, text, pg.GlobalArg("a, b", F64, shape="n"), *data)


def jacobi() -> Kernel:
    """Return `jacobi_1d` as NumPy computes it: a copy of each right side."""
    text = """
    for t
        u[i] = 0.33333*(a[i-1] + a[i] + a[i+1])
        b[j] = u[j]
        v[k] = 0.33333*(b[k-1] + b[k] + b[k+1])
        a[l] = v[l]
    end
    """
    data = temporary("u", "n"), temporary("v", "n"), pg.GlobalArg("a, b", F64, shape="n")
    return made("{ [t,i,j,k,l]: 0<=t<T and 1<=i,j,k,l<n-1 }", text, *data)


def hdiff() -> Kernel:
    """Return horizontal diffusion: three fields, each a stencil of the one before."""
    text = """
    for i,j,k
        lap[i,j,k] = 4.0*x[i+1,j+1,k] - (x[i+2,j+1,k] + x[i,j+1,k] + x[i+1,j+2,k] + x[i+1,j,k])
    end
    for i1,j1,k1
        <> r = lap[i1+1,j1+1,k1] - lap[i1,j1+1,k1]
        flx[i1,j1,k1] = if(r*(x[i1+2,j1+2,k1] - x[i1+1,j1+2,k1]) > 0, 0.0, r)
    end
    for i2,j2,k2
        <> s = lap[i2+1,j2+1,k2] - lap[i2+1,j2,k2]
        fly[i2,j2,k2] = if(s*(x[i2+2,j2+2,k2] - x[i2+2,j2+1,k2]) > 0, 0.0, s)
    end
    for i3,j3,k3
        out[i3,j3,k3] = x[i3+2,j3+2,k3] - c[i3,j3,k3]*(
            flx[i3+1,j3,k3] - flx[i3,j3,k3] + fly[i3,j3+1,k3] - fly[i3,j3,k3])
    end
    """.replace("(\n            flx", "(flx")
    domains = [
        "{ [i,j,k]: 0<=i<I+2 and 0<=j<J+2 and 0<=k<K }",
        "{ [i1,j1,k1]: 0<=i1<=I and 0<=j1<J and 0<=k1<K }",
        "{ [i2,j2,k2]: 0<=i2<I and 0<=j2<=J and 0<=k2<K }",
        "{ [i3,j3,k3]: 0<=i3<I and 0<=j3<J and 0<=k3<K }",
    ]
    return made(
        domains,
        text,
        temporary("lap", "I+2, J+2, K"),
        temporary("flx", "I+1, J, K"),
        temporary("fly", "I, J+1, K"),
        pg.GlobalArg("x", F64, shape="I+4, J+4, K"),
        pg.GlobalArg("c", F64, shape="I, J, K"),
    )


def columns() -> Kernel:
    """Return vertical advection's solver, plane by plane: a nest for each line of NumPy."""
    lines = (
        "gav[@] = -0.25*(w[#,k] + w[@,k])",
        "gcv[@] = 0.25*(w[#,k+1] + w[@,k+1])",
        "as_[@] = gav[@]*0.3",
        "cs[@] = gcv[@]*0.3",
        "acol[@] = gav[@]*0.7",
        "cc[@] = gcv[@]*0.7",
        "bcol[@] = 1.5 - acol[@] - cc[@]",
        "corr[@] = -as_[@]*(u[@,k-1] - u[@,k]) - cs[@]*(u[@,k+1] - u[@,k])",
        "dd[@] = 1.5*u[@,k] + ut[@,k] + corr[@]",
        "div[@] = 1.0/(bcol[@] - ccol[@,k-1]*acol[@])",
        "ccol[@,k] = cc[@]*div[@]",
        "dcol[@,k] = (dd[@] - dcol[@,k-1]*acol[@])*div[@]",
    )
    text, domains = "for k\n", ["{ [k]: 1<=k<K-1 }"]
    for m, line in enumerate(lines):
        i, j = f"i{m}", f"j{m}"
        domains.append(f"{{ [{i},{j}]: 0<={i}<I and 0<={j}<J }}")
        text += f"for {i},{j}\n{line.replace('@', f'{i},{j}').replace('#', f'{i}+1,{j}')}\nend\n"
    planes = ["gav", "gcv", "as_", "cs", "acol", "cc", "bcol", "corr", "dd", "div"]
    return made(
        domains,
        f"{text}end",
        *[temporary(name, "I, J") for name in planes],
        pg.GlobalArg("u, ut, ccol, dcol", F64, shape="I, J, K"),
        pg.GlobalArg("w", F64, shape="I+1, J, K"),
    )


# --- the same, by NumPy and Numba


def np_chain(a: Any, b: Any, out: Any) -> None:
    """Compute `chain`."""
    t0 = a * 1.5 + b
    t1 = t0 * 1.5 + b
    t2 = t1 * 1.5 + b
    t3 = t2 * 1.5 + b
    t4 = t3 * 1.5 + b
    t5 = t4 * 1.5 + b
    t6 = t5 * 1.5 + b
    t7 = t6 * 1.5 + b
    t8 = t7 * 1.5 + b
    out[:] = t8 * 1.5 + b


def np_jacobi(a: Any, b: Any, T: int) -> None:
    """Compute `jacobi`."""
    for _ in range(T):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def np_hdiff(x: Any, c: Any, out: Any) -> None:
    """Compute `hdiff`."""
    lap = 4.0 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    r = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where(r * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0, 0.0, r)
    s = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = np.where(s * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0, 0.0, s)
    out[:] = x[2:-2, 2:-2] - c * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])


def np_columns(u: Any, ut: Any, ccol: Any, dcol: Any, w: Any) -> None:
    """Compute `columns`."""
    for k in range(1, u.shape[2] - 1):
        gav = -0.25 * (w[1:, :, k] + w[:-1, :, k])
        gcv = 0.25 * (w[1:, :, k + 1] + w[:-1, :, k + 1])
        as_ = gav * 0.3
        cs = gcv * 0.3
        acol = gav * 0.7
        cc = gcv * 0.7
        bcol = 1.5 - acol - cc
        corr = -as_ * (u[:, :, k - 1] - u[:, :, k]) - cs * (u[:, :, k + 1] - u[:, :, k])
        dd = 1.5 * u[:, :, k] + ut[:, :, k] + corr
        div = 1.0 / (bcol - ccol[:, :, k - 1] * acol)
        ccol[:, :, k] = cc * div
        dcol[:, :, k] = (dd - dcol[:, :, k - 1] * acol) * div


def arrays_of(name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the arguments of a kernel: random numbers."""
    rng = np.random.default_rng(0)
    if name == "chain":
        n = sizes["n"]
        return {"a": rng.random(n), "b": rng.random(n), "out": np.empty(n)}
    if name == "jacobi":
        return {"a": rng.random(sizes["n"]), "b": rng.random(sizes["n"]), "T": sizes["T"]}
    shape = sizes["I"], sizes["J"], sizes["K"]
    if name == "hdiff":
        wide = shape[0] + 4, shape[1] + 4, shape[2]
        return {"x": rng.random(wide), "c": rng.random(shape), "out": np.empty(shape)}
    names = ("u", "ut", "ccol", "dcol")
    large = shape[0] + 1, shape[1], shape[2]
    return {**{each: rng.random(shape) for each in names}, "w": rng.random(large)}


CASES: dict[str, tuple[Callable[[], Kernel], Callable[..., None], Sequence[dict[str, int]]]] = {
    "chain": (chain, np_chain, [{"n": 10**4}, {"n": 10**6}, {"n": 10**7}]),
    "jacobi": (jacobi, np_jacobi, [{"n": 10**4, "T": 100}, {"n": 10**6, "T": 5}]),
    "hdiff": (hdiff, np_hdiff, [{"I": 64, "J": 64, "K": 60}, {"I": 128, "J": 128, "K": 160}]),
    "columns": (columns, np_columns, [{"I": 64, "J": 64, "K": 60}, {"I": 256, "J": 256, "K": 80}]),
}


# --- measuring


def scheduled(knl: Kernel, sizes: Mapping[str, int], *, is_fused: bool) -> Kernel:
    """Return a kernel with its schedule, with or without the stages that change statements."""
    stages = processors.STAGES
    if not is_fused:
        processors.STAGES = stages[stages.index(arrays_recomputed) + 1 :]
    try:
        return pg.optimize(knl, sizes=sizes)
    finally:
        processors.STAGES = stages


def numba_of(function: Callable[..., None]) -> Callable[..., None] | None:
    """Return a function as Numba compiles it; None without Numba."""
    try:
        import numba  # noqa: PLC0415
    except ImportError:
        return None
    compiled: Callable[..., None] = numba.njit(parallel=True)(function)
    return compiled


def least(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least time of each call, in milliseconds, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            found[name] = min(found[name], (time.perf_counter() - start) * 1e3)
    return found


def compare(name: str, sizes: Mapping[str, int], rounds: int) -> None:
    """Check that all compute the same, and print a line of times."""
    make, numpy_function, _ = CASES[name]
    functions: dict[str, Callable[..., Any]] = {
        "before": scheduled(make(), sizes, is_fused=False),
        "fused": scheduled(make(), sizes, is_fused=True),
        "NumPy": numpy_function,
    }
    if (compiled := numba_of(numpy_function)) is not None:
        functions["Numba"] = compiled
    given = {each: arrays_of(name, sizes) for each in functions}
    for each, function in functions.items():
        function(**given[each])
    for each in functions:
        for argument, value in given[each].items():
            np.testing.assert_allclose(value, given["NumPy"][argument], rtol=1e-9)
    calls = {
        each: (lambda function=function, each=each: function(**given[each]))
        for each, function in functions.items()
    }
    times = least(calls, rounds)
    shown = "  ".join(f"{each} {spent:9.4f}" for each, spent in times.items())
    size = " ".join(f"{key}={value}" for key, value in sizes.items())
    print(f"{name:8} {size:22} ms: {shown}  x {times['before'] / times['fused']:.2f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    os.environ["NUMBA_NUM_THREADS"] = str(chosen.threads)
    warnings.simplefilter("ignore")
    for name, (_, _, all_sizes) in CASES.items():
        for sizes in all_sizes if chosen.only in name else ():
            compare(name, sizes, chosen.rounds)
    for name, (make, _, _) in CASES.items():
        knl = make()
        start = time.process_time()
        pg.optimize(knl)
        print(f"{name:8} chosen in {time.process_time() - start:.3f} s", flush=True)


if __name__ == "__main__":
    main()
