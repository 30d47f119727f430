"""The kernels in JAX: jitted, what is overwritten is donated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.cpu.data import Data, Run

jax.config.update("jax_enable_x64", True)


def _pure(function: Callable[..., Any], d: Data, names: str) -> Run:
    given = [jnp.asarray(d[name]) for name in names.split()]
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*given))


def _in_place(function: Callable[..., Any], d: Data, names: str) -> Run:
    """Return what replaces the last argument by the result in each run."""
    *given, last = [jnp.array(d[name]) for name in names.split()]
    compiled = jax.jit(function, donate_argnums=len(given))
    state = [last]

    def run() -> Any:
        state[0] = jax.block_until_ready(compiled(*given, state[0]))
        return state[0]

    return run


def saxpy(d: Data) -> Run:
    return _in_place(lambda a, x, y: a * x + y, d, "a x out")


def triad(d: Data) -> Run:
    return _pure(lambda b, c, s: b + s * c, d, "b c s")


def stencil_5(d: Data) -> Run:
    def kernel(a: Any) -> Any:
        around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[1:-1, 1:-1]
        return jnp.zeros_like(a).at[1:-1, 1:-1].set(0.2 * around)

    return _pure(kernel, d, "a")


def stencil_27(d: Data) -> Run:
    shifts = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]

    def kernel(a: Any, w: Any) -> Any:
        def window(shift: tuple[int, ...]) -> Any:
            return a[tuple(slice(1 + s, n - 1 + s) for s, n in zip(shift, a.shape, strict=True))]

        total: Any = 0.0
        for far in range(4):
            total += w[far] * sum(window(s) for s in shifts if sum(map(abs, s)) == far)
        return jnp.zeros_like(a).at[1:-1, 1:-1, 1:-1].set(total)

    return _pure(kernel, d, "a w")


def softmax(d: Data) -> Run:
    def kernel(x: Any) -> Any:
        powers = jnp.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    return _pure(kernel, d, "x")


def csr_product(d: Data) -> Run:
    rows = len(d["out"])
    lengths = jnp.diff(jnp.asarray(d["rowptr"]))
    row_of = jnp.repeat(jnp.arange(rows), lengths)

    def kernel(columns: Any, values: Any, x: Any) -> Any:
        terms = values * x[columns]
        return jax.ops.segment_sum(terms, row_of, num_segments=rows, indices_are_sorted=True)

    return _pure(kernel, d, "columns values x")


def syrk(d: Data) -> Run:
    def kernel(a: Any, alpha: Any, beta: Any, c: Any) -> Any:
        lower = jnp.tril(jnp.ones(c.shape, dtype=bool))
        return jnp.where(lower, alpha * (a @ a.T) + beta * c, c)

    return _in_place(kernel, d, "a alpha beta out")


def jacobi_2d(d: Data) -> Run:
    def step(now: Any, then: Any) -> Any:
        new = now[1:-1, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] + now[2:, 1:-1] + now[:-2, 1:-1]
        return then.at[1:-1, 1:-1].set(0.2 * new)

    return _stepping(step, d)


def heat_3d(d: Data) -> Run:
    def step(now: Any, then: Any) -> Any:
        middle = now[1:-1, 1:-1, 1:-1]
        new = (
            0.125 * (now[2:, 1:-1, 1:-1] - 2 * middle + now[:-2, 1:-1, 1:-1])
            + 0.125 * (now[1:-1, 2:, 1:-1] - 2 * middle + now[1:-1, :-2, 1:-1])
            + 0.125 * (now[1:-1, 1:-1, 2:] - 2 * middle + now[1:-1, 1:-1, :-2])
            + middle
        )
        return then.at[1:-1, 1:-1, 1:-1].set(new)

    return _stepping(step, d)


def _stepping(step: Callable[[Any, Any], Any], d: Data) -> Run:
    def both(_: Any, pair: Any) -> Any:
        a, b = pair
        b = step(a, b)
        return step(b, a), b

    @partial(jax.jit, donate_argnums=(0, 1))
    def kernel(a: Any, b: Any) -> Any:
        return lax.fori_loop(0, d["steps"], both, (a, b))

    state = [(jnp.array(d["out"]), jnp.array(d["b"]))]

    def run() -> Any:
        state[0] = jax.block_until_ready(kernel(*state[0]))
        return state[0][0]

    return run


def floyd_warshall(d: Data) -> Run:
    def kernel(start: Any) -> Any:
        def through(k: Any, path: Any) -> Any:
            return jnp.minimum(path, path[:, k, None] + path[None, k])

        return lax.fori_loop(0, start.shape[0], through, start)

    return _pure(kernel, d, "start")


def _cumulative(x: Any) -> Any:
    k = 1 / (1 + 0.2316419 * jnp.abs(x))
    powers: Any = 1.330274429
    for factor in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        powers = powers * k + factor
    tail = 0.3989422804014327 * jnp.exp(-0.5 * x * x) * (powers * k)
    return jnp.where(x > 0, 1 - tail, tail)


def black_scholes(d: Data) -> Run:
    def kernel(price: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * jnp.sqrt(years)
        d1 = (jnp.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        now = strike * jnp.exp(-rate * years)
        below1, below2 = _cumulative(d1), _cumulative(d1 - spread)
        return price * below1 - now * below2, now * (1 - below2) - price * (1 - below1)

    return _pure(kernel, d, "price strike years rate volatility")


def mandelbrot(d: Data) -> Run:
    limit = d["limit"]

    def kernel(x: Any, y: Any) -> Any:
        re, im = jnp.broadcast_arrays(x, y[:, None])

        def goes_on(state: Any) -> Any:
            t, _, _, _, some = state
            return (t < limit) & some

        def step(state: Any) -> Any:
            t, a, b, count, _ = state
            inside = a * a + b * b <= 4
            new_a, new_b = a * a - b * b + re, 2 * a * b + im
            a, b = jnp.where(inside, new_a, a), jnp.where(inside, new_b, b)
            return t + 1, a, b, count + inside, inside.any()

        count = jnp.zeros(re.shape, jnp.int32)
        return lax.while_loop(goes_on, step, (0, re, im, count, True))[3]

    return _pure(kernel, d, "x y")


def product_32(d: Data) -> Run:
    return _pure(jnp.matmul, d, "a b")


product_64 = product_32
