"""Kernels for processors as a user writes them first: no steps, no tags, no loops for a recipe."""

from __future__ import annotations

import numpy as np

import polygen as pg


def saxpy() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a*x[i] + out[i]", name="saxpy")


def triad() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = b[i] + s*c[i]", name="triad")


def black_scholes() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        cumulative(x) := if(x > 0, 1 - tail(x), tail(x))
        tail(x) := 0.3989422804014327*exp(-0.5*x*x)*sum_of_powers(1/(1 + 0.2316419*fabs(x)))
        sum_of_powers(k) := (((quadratic(k))*k - 0.356563782)*k + 0.319381530)*k
        quadratic(k) := (1.330274429*k - 1.821255978)*k + 1.781477937
        <> spread = volatility*sqrt(years[i])
        <> d1 = (log(price[i]/strike[i]) + (rate + 0.5*volatility*volatility)*years[i])/spread
        <> d2 = d1 - spread
        <> now = strike[i]*exp(-rate*years[i])
        <> below1 = cumulative(d1)
        <> below2 = cumulative(d2)
        out[i] = price[i]*below1 - now*below2
        put[i] = now*(1 - below2) - price[i]*(1 - below1)
        """,
        name="black_scholes",
    )


def stencil_5() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 1<=i<n-1 and 1<=j<m-1 }",
        "out[i, j] = 0.2*(a[i-1, j] + a[i+1, j] + a[i, j-1] + a[i, j+1] + a[i, j])",
        [pg.GlobalArg("a, out", np.float64, shape="n, m"), "..."],
        name="stencil_5",
        loop_priority="i, j",
    )


def stencil_27() -> pg.Kernel:
    near = (-1, 0, 1)
    shifts = [(x, y, z) for x in near for y in near for z in near]
    sums = [
        " + ".join(f"a[i+{x}, j+{y}, k+{z}]" for x, y, z in shifts if x * x + y * y + z * z == far)
        for far in range(4)
    ]
    value = " + ".join(f"w[{far}]*({one})" for far, one in enumerate(sums)).replace("+-", "-")
    return pg.make_kernel(
        "{ [i, j, k]: 1<=i<n-1 and 1<=j<m-1 and 1<=k<l-1 }",
        f"out[i, j, k] = {value}",
        [
            pg.GlobalArg("a, out", np.float64, shape="n, m, l"),
            pg.GlobalArg("w", np.float64, shape=(4,)),
            "...",
        ],
        name="stencil_27",
        loop_priority="i, j, k",
    )


def jacobi_2d() -> pg.Kernel:
    def value(a: str, i: str, j: str) -> str:
        return (
            f"0.2*({a}[{i}, {j}] + {a}[{i}, {j}-1] + {a}[{i}, {j}+1]"
            f" + {a}[{i}+1, {j}] + {a}[{i}-1, {j}])"
        )

    return pg.make_kernel(
        "{ [t, i, j, p, q]: 0<=t<steps and 1<=i,p<n-1 and 1<=j,q<m-1 }",
        f"""
        b[i, j] = {value("out", "i", "j")} {{id=b, dep=*, inames=t:i:j}}
        out[p, q] = {value("b", "p", "q")} {{id=a, dep=b, inames=t:p:q}}
        """,
        [pg.GlobalArg("out, b", np.float64, shape="n, m"), "..."],
        name="jacobi_2d",
        loop_priority=["t, i, j", "t, p, q"],
    )


def heat_3d() -> pg.Kernel:
    def value(a: str, i: str, j: str, k: str) -> str:
        at = f"{a}[{i}, {j}, {k}]"
        return (
            f"0.125*({a}[{i}+1, {j}, {k}] - 2.0*{at} + {a}[{i}-1, {j}, {k}])"
            f" + 0.125*({a}[{i}, {j}+1, {k}] - 2.0*{at} + {a}[{i}, {j}-1, {k}])"
            f" + 0.125*({a}[{i}, {j}, {k}+1] - 2.0*{at} + {a}[{i}, {j}, {k}-1]) + {at}"
        )

    return pg.make_kernel(
        "{ [t, i, j, k, p, q, r]: 0<=t<steps and 1<=i,p<n-1 and 1<=j,q<m-1 and 1<=k,r<l-1 }",
        f"""
        b[i, j, k] = {value("out", "i", "j", "k")} {{id=b, dep=*, inames=t:i:j:k}}
        out[p, q, r] = {value("b", "p", "q", "r")} {{id=a, dep=b, inames=t:p:q:r}}
        """,
        [pg.GlobalArg("out, b", np.float64, shape="n, m, l"), "..."],
        name="heat_3d",
        loop_priority=["t, i, j, k", "t, p, q, r"],
    )


def softmax() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j, k, l, p]: 0<=i<n and 0<=j,k,l,p<m }",
        """
        <> most = max(j, x[i, j])
        out[i, k] = exp(x[i, k] - most)  {id=power}
        <> total = sum(l, out[i, l])  {id=total, dep=power}
        out[i, p] = out[i, p] / total  {id=divide, dep=total}
        """,
        [pg.GlobalArg("x, out", np.float32, shape="n, m"), "..."],
        name="softmax",
        assumptions="m >= 1",
    )


def csr_product() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: row_start<=j<row_end }"],
        """
        <> row_start = rowptr[i]
        <> row_end = rowptr[i + 1]
        out[i] = sum(j, values[j] * x[columns[j]])
        """,
        [
            pg.GlobalArg("values", shape="nonzeros"),
            pg.GlobalArg("columns", shape="nonzeros"),
            pg.GlobalArg("x", shape="width"),
            "...",
        ],
        name="csr_product",
    )


def product_32() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        "out[i, j] = sum(k, a[i, k]*b[k, j])",
        name="product",
    )


product_64 = product_32


def syrk() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j, k]: 0<=j<=i<n and 0<=k<m }",
        "out[i, j] = beta*out[i, j] + alpha*sum(k, a[i, k]*a[j, k])",
        [pg.GlobalArg("out", np.float64, shape="n, n"), "..."],
        name="syrk",
        loop_priority="i, j",
    )


def floyd_warshall() -> pg.Kernel:
    """Return the kernel that reads a row and a column before it writes: others have an order."""
    return pg.make_kernel(
        "{ [i, j, k, p, q, r]: 0<=i,j,k,p,q,r<n }",
        """
        out[p, q] = start[p, q]  {id=copy, dep=*}
        for k
            to[r] = out[k, r]  {id=to, dep=copy}
            <> through = out[i, k]  {id=through, dep=copy}
            out[i, j] = min(out[i, j], through + to[j])  {id=step, dep=to:through:copy}
        end
        """,
        [
            pg.GlobalArg("out, start", np.int32, shape="n, n"),
            pg.TemporaryVariable("to", np.int32, ("n",), pg.AddressSpace.GLOBAL),
            "...",
        ],
        name="floyd_warshall",
        loop_priority=["k, i, j", "k, r", "p, q"],
    )


def mandelbrot() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [t]: 0<=t<limit }"],
        """
        for i, j
            <> re = x[j]
            <> a = re  {id=a}
            <> b = y[i]  {id=b}
            <> count = 0.0  {id=count}
            for t
                <> aa = a*a  {id=aa, dep=a}
                <> bb = b*b  {id=bb, dep=b}
                # What has gone away does not come back, and no number is not near.
                count = count + if(aa + bb <= 4, 1.0, 0.0)  {id=next_count, dep=count:aa:bb}
                b = 2*a*b + y[i]  {id=next_b, dep=aa:bb:next_count}
                a = aa - bb + re  {id=next_a, dep=next_b}
            end
            out[i, j] = int32(count)  {dep=next_count}
        end
        """,
        [pg.GlobalArg("out", np.int32), "..."],
        name="mandelbrot",
    )
