"""Programs as users write them, with inputs and what NumPy makes of these.

Linear algebra, stencils, dynamic programming, sparse rows: written as text, statement by statement,
without a thought of the hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

import polygen as pg

Data: TypeAlias = dict[str, Any]
GLOBAL = pg.AddressSpace.GLOBAL


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        domains: its loops.
        text: its statements, in order.
        data: its arguments and temporaries.
        inputs: returns what it is called with, for a size.
        expected: returns what arrays have to hold behind it, of copies of the inputs.
        options: of `make_kernel`.
    """

    domains: list[str]
    text: str
    data: list[Any]
    inputs: Callable[[int], Data]
    expected: Callable[..., Data]
    options: Data = field(default_factory=dict[str, Any])

    def kernel(self, name: str, target: str | None) -> pg.Kernel:
        """Return the kernel, without a step."""
        return pg.make_kernel(
            self.domains,
            self.text,
            [*self.data, "..."],
            seq_dependencies=True,
            name=name,
            target=target,
            silenced_warnings=["AmbiguousNesting"],
            **self.options,
        )


def doubles(names: str, shape: str) -> pg.GlobalArg:
    return pg.GlobalArg(names, np.float64, shape)


def own(name: str, shape: str | tuple[()] = (), dtype: Any = np.float64) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, dtype, shape, GLOBAL if shape else pg.auto)


def random(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).random(shape)


def definite(n: int) -> Data:
    a = random(1, n, n)
    return {"A": a @ a.T + n * np.eye(n)}


# --- linear algebra


def cholesky(A: Any) -> Data:
    return {"A": np.tril(np.linalg.cholesky(A)) + np.triu(A, 1)}


def lu(A: Any) -> Data:
    for i in range(len(A)):
        for j in range(i):
            A[i, j] = (A[i, j] - A[i, :j] @ A[:j, j]) / A[j, j]
        for j in range(i, len(A)):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return {"A": A}


def gramschmidt(A: Any, Q: Any, R: Any) -> Data:
    for k in range(len(R)):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, len(R)):
            R[k, j] = Q[:, k] @ A[:, j]
            A[:, j] -= Q[:, k] * R[k, j]
    return {"A": A, "Q": Q, "R": R}


def trmm(A: Any, B: Any) -> Data:
    for i in range(len(B)):
        B[i] += A[i + 1 :, i] @ B[i + 1 :]
    return {"B": 1.5 * B}


def syrk(A: Any, C: Any) -> Data:
    return {"C": np.tril(1.2 * C + 1.5 * A @ A.T) + np.triu(C, 1)}


def syr2k(A: Any, B: Any, C: Any) -> Data:
    return {"C": np.tril(1.2 * C + 1.5 * (A @ B.T + B @ A.T)) + np.triu(C, 1)}


def symm(A: Any, B: Any, C: Any) -> Data:
    return {"C": 0.5 * C + 1.5 * (np.tril(A) + np.tril(A, -1).T) @ B}


def gemver(A: Any, **rows: Any) -> Data:
    A = A + np.outer(rows["u1"], rows["v1"]) + np.outer(rows["u2"], rows["v2"])
    x = rows["x"] + 1.2 * A.T @ rows["y"] + rows["z"]
    return {"A": A, "x": x, "w": rows["w"] + 1.5 * A @ x}


def gemver_inputs(n: int) -> Data:
    names = ("u1", "v1", "u2", "v2", "x", "y", "z", "w")
    return {"A": random(1, n, n)} | {name: random(k, n) for k, name in enumerate(names, 2)}


def durbin(r: Any, y: Any) -> Data:
    n = len(r)
    column = np.concatenate([[1.0], r[:-1]])
    matrix = column[np.abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    return {"y": np.linalg.solve(matrix, -r) + 0 * y}


def covariance(data: Any, mean: Any, cov: Any) -> Data:
    found = np.cov(data.T).reshape(cov.shape)
    return {"mean": data.mean(0) + 0 * mean, "data": data - data.mean(0), "cov": found}


LINEAR_ALGEBRA = {
    "cholesky": Program(
        [
            *("{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<i }"),
            *("[j] -> { [k]: 0<=k<j }", "[i] -> { [l]: 0<=l<i }"),
        ],
        """
        for i
            for j
                A[i,j] = (A[i,j] - sum(k, A[i,k]*A[j,k])) / A[j,j]
            end
            A[i,i] = sqrt(A[i,i] - sum(l, A[i,l]*A[i,l]))
        end
        """,
        [doubles("A", "n, n")],
        definite,
        cholesky,
    ),
    "lu": Program(
        [
            *("{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<i }", "[j] -> { [k]: 0<=k<j }"),
            *("[i, n] -> { [p]: i<=p<n }", "[i] -> { [q]: 0<=q<i }"),
        ],
        """
        for i
            for j
                A[i,j] = (A[i,j] - sum(k, A[i,k]*A[k,j])) / A[j,j]
            end
            for p
                A[i,p] = A[i,p] - sum(q, A[i,q]*A[q,p])
            end
        end
        """,
        [doubles("A", "n, n")],
        definite,
        lu,
    ),
    "gramschmidt": Program(
        [
            *("{ [k]: 0<=k<n }", "{ [i, p]: 0<=i,p<m }"),
            *("[k, n] -> { [j]: k<j<n }", "{ [q, r]: 0<=q,r<m }"),
        ],
        """
        for k
            norm = sum(i, A[i,k]*A[i,k])
            R[k,k] = sqrt(norm)
            for p
                Q[p,k] = A[p,k] / R[k,k]
            end
            for j
                R[k,j] = sum(q, Q[q,k]*A[q,j])
                for r
                    A[r,j] = A[r,j] - Q[r,k]*R[k,j]
                end
            end
        end
        """,
        [doubles("A, Q", "m, n"), doubles("R", "n, n"), own("norm")],
        lambda n: {"A": random(1, n + 2, n), "Q": np.zeros((n + 2, n)), "R": np.zeros((n, n))},
        gramschmidt,
        {"assumptions": "m >= 1"},
    ),
    "trisolv": Program(
        ["{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<i }"],
        """
        for i
            x[i] = (b[i] - sum(j, L[i,j]*x[j])) / L[i,i]
        end
        """,
        [doubles("L", "n, n"), doubles("b, x", "n")],
        lambda n: {"L": random(1, n, n) + n * np.eye(n), "b": random(2, n), "x": np.zeros(n)},
        lambda L, b, x: {"x": np.linalg.solve(np.tril(L), b) + 0 * x},
    ),
    "trmm": Program(
        ["{ [i, j, p, q]: 0<=i,p<n and 0<=j,q<m }", "[i, n] -> { [k]: i<k<n }"],
        """
        for i, j
            B[i,j] = B[i,j] + sum(k, A[k,i]*B[k,j])
        end
        for p, q
            B[p,q] = 1.5*B[p,q]
        end
        """,
        [doubles("A", "n, n"), doubles("B", "n, m")],
        lambda n: {"A": random(1, n, n), "B": random(2, n, n + 3)},
        trmm,
        {"loop_priority": ["i, j", "p, q"]},
    ),
    "syrk": Program(
        ["{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<=i }", "{ [k]: 0<=k<m }"],
        "C[i,j] = 1.2*C[i,j] + 1.5*sum(k, A[i,k]*A[j,k])",
        [doubles("A", "n, m"), doubles("C", "n, n")],
        lambda n: {"A": random(1, n, n + 2), "C": random(2, n, n)},
        syrk,
    ),
    "syr2k": Program(
        ["{ [i]: 0<=i<n }", "[i] -> { [j]: 0<=j<=i }", "{ [k]: 0<=k<m }"],
        "C[i,j] = 1.2*C[i,j] + 1.5*sum(k, A[j,k]*B[i,k] + B[j,k]*A[i,k])",
        [doubles("A, B", "n, m"), doubles("C", "n, n")],
        lambda n: {"A": random(1, n, n + 2), "B": random(3, n, n + 2), "C": random(2, n, n)},
        syr2k,
    ),
    "symm": Program(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<n }"],
        "C[i,j] = 0.5*C[i,j] + 1.5*sum(k, if(k <= i, A[i,k], A[k,i])*B[k,j])",
        [doubles("A", "n, n"), doubles("B, C", "n, m")],
        lambda n: {"A": random(1, n, n), "B": random(2, n, n + 1), "C": random(3, n, n + 1)},
        symm,
    ),
    "gemm": Program(
        ["{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }"],
        "C[i,j] = 1.5*sum(k, A[i,k]*B[k,j]) + 1.2*C[i,j]",
        [doubles("A", "n, l"), doubles("B", "l, m"), doubles("C", "n, m")],
        lambda n: {"A": random(1, n, n + 1), "B": random(2, n + 1, n), "C": random(3, n, n)},
        lambda A, B, C: {"C": 1.5 * A @ B + 1.2 * C},
    ),
    "gemver": Program(
        ["{ [i, j, p, q, r, s, t]: 0<=i,j,p,q,r,s,t<n }"],
        """
        A[i,j] = A[i,j] + u1[i]*v1[j] + u2[i]*v2[j]
        x[p] = x[p] + 1.2*sum(q, A[q,p]*y[q])
        x[r] = x[r] + z[r]
        w[s] = w[s] + 1.5*sum(t, A[s,t]*x[t])
        """,
        [doubles("A", "n, n"), doubles("u1, u2, v1, v2, x, y, z, w", "n")],
        gemver_inputs,
        gemver,
    ),
    "gesummv": Program(
        ["{ [i, j, k]: 0<=i,j,k<n }"],
        "y[i] = 1.5*sum(j, A[i,j]*x[j]) + 1.2*sum(k, B[i,k]*x[k])",
        [doubles("A, B", "n, n"), doubles("x, y", "n")],
        lambda n: {
            "A": random(1, n, n),
            "B": random(2, n, n),
            "x": random(3, n),
            "y": random(4, n),
        },
        lambda A, B, x, y: {"y": 1.5 * A @ x + 1.2 * B @ x + 0 * y},
    ),
    "mvt": Program(
        ["{ [i, j, k, l]: 0<=i,j,k,l<n }"],
        """
        x[i] = x[i] + sum(j, A[i,j]*u[j])
        y[k] = y[k] + sum(l, A[l,k]*v[l])
        """,
        [doubles("A", "n, n"), doubles("x, y, u, v", "n")],
        lambda n: {"A": random(1, n, n)} | {name: random(ord(name), n) for name in "xyuv"},
        lambda A, x, y, u, v: {"x": x + A @ u, "y": y + A.T @ v},
    ),
    "atax": Program(
        ["{ [i, j, k, l]: 0<=i,k<m and 0<=j,l<n }"],
        """
        t[i] = sum(j, A[i,j]*x[j])
        y[l] = sum(k, A[k,l]*t[k])
        """,
        [doubles("A", "m, n"), doubles("x, y", "n"), own("t", "m")],
        lambda n: {"A": random(1, n + 3, n), "x": random(2, n), "y": np.zeros(n)},
        lambda A, x, y: {"y": A.T @ (A @ x) + 0 * y},
    ),
    "doitgen": Program(
        ["{ [r, q, p, s, o]: 0<=r,q,p,s,o<n }"],
        """
        for r, q
            for p
                t[p] = sum(s, A[r,q,s]*C[s,p])
            end
            for o
                A[r,q,o] = t[o]
            end
        end
        """,
        [doubles("A", "n, n, n"), doubles("C", "n, n"), own("t", "n")],
        lambda n: {"A": random(1, n, n, n), "C": random(2, n, n)},
        lambda A, C: {"A": A @ C},
    ),
    "durbin": Program(
        ["{ [k]: 1<=k<n }", "[k] -> { [i, p, q]: 0<=i,p,q<k }"],
        """
        y[0] = -r[0]
        alpha = -r[0]
        beta = 1.0
        for k
            beta = beta*(1 - alpha*alpha)
            alpha = -(r[k] + sum(i, r[k-1-i]*y[i])) / beta
            for p
                z[p] = y[p] + alpha*y[k-1-p]
            end
            for q
                y[q] = z[q]
            end
            y[k] = alpha
        end
        """,
        [doubles("r, y", "n"), own("z", "n"), own("alpha"), own("beta")],
        lambda n: {"r": 0.1 * random(1, n), "y": np.zeros(n)},
        durbin,
        {"assumptions": "n >= 1"},
    ),
    "covariance": Program(
        ["{ [j, i, p, q, a, b, k]: 0<=j,q,a,b<m and 0<=i,p,k<n }"],
        """
        mean[j] = sum(i, data[i,j]) / n
        data[p,q] = data[p,q] - mean[q]
        cov[a,b] = sum(k, data[k,a]*data[k,b]) / (n - 1)
        """,
        [doubles("data", "n, m"), doubles("mean", "m"), doubles("cov", "m, m")],
        lambda n: {"data": random(1, n + 3, n), "mean": np.zeros(n), "cov": np.zeros((n, n))},
        covariance,
        {"assumptions": "n >= 2"},
    ),
}


# --- stencils, and systems along one axis


def jacobi_2d(A: Any, B: Any, T: int) -> Data:
    def swept(a: Any) -> Any:
        return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    for _ in range(1, T):
        B[1:-1, 1:-1] = swept(A)
        A[1:-1, 1:-1] = swept(B)
    return {"A": A, "B": B}


def seidel_2d(A: Any, T: int) -> Data:
    for _ in range(T):
        for i in range(1, len(A) - 1):
            for j in range(1, len(A) - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].sum() / 9
    return {"A": A}


def fdtd_2d(ex: Any, ey: Any, hz: Any, f: Any) -> Data:
    for value in f:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def hdiff(data: Any, coefficient: Any, out: Any) -> Data:
    near = data[2:, 1:-1] + data[:-2, 1:-1] + data[1:-1, 2:] + data[1:-1, :-2]
    lap = 4 * data[1:-1, 1:-1] - near
    x, y = lap[1:, 1:-1] - lap[:-1, 1:-1], lap[1:-1, 1:] - lap[1:-1, :-1]
    fx = np.where(x * (data[2:-1, 2:-2] - data[1:-2, 2:-2]) > 0, 0, x)
    fy = np.where(y * (data[2:-2, 2:-1] - data[2:-2, 1:-2]) > 0, 0, y)
    flux = fx[1:] - fx[:-1] + fy[:, 1:] - fy[:, :-1]
    return {"out": data[2:-2, 2:-2] - coefficient * flux + 0 * out}


def tridiagonal(a: Any, b: Any, x: Any) -> Data:
    n = len(x)
    for i in range(1, n):
        x[i] = b[i] - a[i] * x[i - 1]
    for i in range(n - 2, -1, -1):
        x[i] -= a[i] * x[i + 1]
    return {"x": x}


_AROUND = "{0}[{1},{2}] + {0}[{1},{2}-1] + {0}[{1},{2}+1] + {0}[{1}+1,{2}] + {0}[{1}-1,{2}]"
STENCILS = {
    "jacobi_2d": Program(
        ["{ [t]: 1<=t<T }", "{ [i, j, p, q]: 1<=i,j,p,q<n-1 }"],
        f"""
        for t
            for i, j
                B[i,j] = 0.2*({_AROUND.format("A", "i", "j")})
            end
            for p, q
                A[p,q] = 0.2*({_AROUND.format("B", "p", "q")})
            end
        end
        """,
        [doubles("A, B", "n, n")],
        lambda n: {"A": random(1, n, n), "B": random(2, n, n), "T": 4},
        jacobi_2d,
        {"assumptions": "n >= 3"},
    ),
    "seidel_2d": Program(
        ["{ [t]: 0<=t<T }", "{ [i, j]: 1<=i,j<n-1 }"],
        """
        for t, i, j
            A[i,j] = (A[i-1,j-1] + A[i-1,j] + A[i-1,j+1] + A[i,j-1] + A[i,j] + A[i,j+1]
                + A[i+1,j-1] + A[i+1,j] + A[i+1,j+1]) / 9
        end
        """.replace("\n                +", " +"),
        [doubles("A", "n, n")],
        lambda n: {"A": random(1, n, n), "T": 3},
        seidel_2d,
        {"assumptions": "n >= 3", "loop_priority": "t, i, j"},
    ),
    "fdtd_2d": Program(
        [
            "{ [t]: 0<=t<T }",
            "{ [a, i, p, r]: 0<=a<m and 1<=i<n and 0<=p<n and 0<=r<n-1 }",
            "{ [j, q, s]: 0<=j<m and 1<=q<m and 0<=s<m-1 }",
        ],
        """
        for t
            for a
                ey[0,a] = f[t]
            end
            for i, j
                ey[i,j] = ey[i,j] - 0.5*(hz[i,j] - hz[i-1,j])
            end
            for p, q
                ex[p,q] = ex[p,q] - 0.5*(hz[p,q] - hz[p,q-1])
            end
            for r, s
                hz[r,s] = hz[r,s] - 0.7*(ex[r,s+1] - ex[r,s] + ey[r+1,s] - ey[r,s])
            end
        end
        """,
        [doubles("ex, ey, hz", "n, m"), doubles("f", "T")],
        lambda n: (
            {name: random(k, n, n + 1) for k, name in enumerate(("ex", "ey", "hz"))}
            | {"f": random(4, 3)}
        ),
        fdtd_2d,
        {"assumptions": "n >= 2 and m >= 2"},
    ),
    "hdiff": Program(
        [
            "{ [i, j, k]: 0<=i<n+2 and 0<=j<m+2 and 0<=k<l }",
            "{ [a, b, c]: 0<=a<n+1 and 0<=b<m and 0<=c<l }",
            "{ [p, q, r]: 0<=p<n and 0<=q<m+1 and 0<=r<l }",
            "{ [x, y, z]: 0<=x<n and 0<=y<m and 0<=z<l }",
        ],
        """
        <> near = data[i+2,j+1,k] + data[i,j+1,k] + data[i+1,j+2,k] + data[i+1,j,k]
        lap[i,j,k] = 4*data[i+1,j+1,k] - near
        gx[a,b,c] = lap[a+1,b+1,c] - lap[a,b+1,c]
        fx[a,b,c] = if(gx[a,b,c]*(data[a+2,b+2,c] - data[a+1,b+2,c]) > 0, 0, gx[a,b,c])
        gy[p,q,r] = lap[p+1,q+1,r] - lap[p+1,q,r]
        fy[p,q,r] = if(gy[p,q,r]*(data[p+2,q+2,r] - data[p+2,q+1,r]) > 0, 0, gy[p,q,r])
        <> flux = fx[x+1,y,z] - fx[x,y,z] + fy[x,y+1,z] - fy[x,y,z]
        out[x,y,z] = data[x+2,y+2,z] - coefficient[x,y,z]*flux
        """,
        [
            *(doubles("data", "n+4, m+4, l"), doubles("coefficient, out", "n, m, l")),
            own("lap", "n+2, m+2, l"),
            *(own(name, "n+1, m, l") for name in ("gx", "fx")),
            *(own(name, "n, m+1, l") for name in ("gy", "fy")),
        ],
        lambda n: {
            "data": random(1, n + 4, n + 5, n),
            "coefficient": random(2, n, n + 1, n),
            "out": np.zeros((n, n + 1, n)),
        },
        hdiff,
    ),
    "tridiagonal": Program(
        ["{ [i, j]: 1<=i<n and 0<=j<m }", "{ [k, l]: 0<=k<n-1 and 0<=l<m }"],
        """
        for i, j
            x[i,j] = b[i,j] - a[i,j]*x[i-1,j]
        end
        for k, l
            x[n-2-k,l] = x[n-2-k,l] - a[n-2-k,l]*x[n-1-k,l]
        end
        """,
        [doubles("a, b, x", "n, m")],
        lambda n: {name: random(k, n, n + 1) for k, name in enumerate("abx")},
        tridiagonal,
        {"assumptions": "n >= 2", "loop_priority": ["i, j", "k, l"]},
    ),
}


# --- rows of any length, private values, other types


def spmv_inputs(n: int) -> Data:
    generator = np.random.default_rng(1)
    ptr = np.concatenate([[0], np.cumsum(generator.integers(0, 5, n))]).astype(np.int32)
    col = generator.integers(0, n, ptr[-1]).astype(np.int32)
    return {"ptr": ptr, "col": col, "val": random(2, ptr[-1]), "x": random(3, n), "y": np.zeros(n)}


def spmv(ptr: Any, col: Any, val: Any, x: Any, y: Any) -> Data:
    for i in range(len(y)):
        row = slice(ptr[i], ptr[i + 1])
        y[i] = val[row] @ x[col[row]]
    return {"y": y}


def means(data: Any, radius: Any, edges: Any, mean: Any) -> Data:
    for i in range(len(mean)):
        mean[i] = data[(edges[i] <= radius) & (radius < edges[i + 1])].mean()
    return {"mean": mean}


def mandelbrot(c: Any, count: Any) -> Data:
    for where in np.ndindex(c.shape):
        z, k = 0j, 0
        while abs(z * z + c[where]) <= 2 and k < 30:
            z, k = z * z + c[where], k + 1
        count[where] = k
    return {"count": count}


def softmax(x: Any, y: Any) -> Data:
    e = np.exp(x - x.max(-1, keepdims=True))
    return {"y": e / e.sum(-1, keepdims=True) + 0 * y}


def floyd_warshall(p: Any) -> Data:
    for k in range(len(p)):
        p = np.minimum(p, p[:, k, None] + p[k])
    return {"p": p}


def subsequence(a: Any, b: Any, L: Any) -> Data:
    for i, j in np.ndindex(len(a), len(b)):
        same, longer = L[i, j] + 1, max(L[i, j + 1], L[i + 1, j])
        L[i + 1, j + 1] = same if a[i] == b[j] else longer
    return {"L": L}


def n_body(x: Any, m: Any, a: Any) -> Data:
    d = x[None] - x[:, None]
    return {"a": a + (m * d / (d * d + 0.01) ** 1.5).sum(1)}


def conv2d(x: Any, w: Any, out: Any) -> Data:
    n = out.shape[1]
    pairs = [(p, q) for p in range(3) for q in range(3)]
    return {"out": sum(x[:, p : p + n, q : q + n] @ w[p, q] for p, q in pairs) + 0 * out}


def letters(seed: int, n: int) -> Any:
    return np.random.default_rng(seed).integers(0, 3, n).astype(np.uint8)


OTHERS = {
    "spmv": Program(
        ["{ [i]: 0<=i<n }", "[first, last] -> { [j]: first<=j<last }"],
        """
        <> first = ptr[i]
        <> last = ptr[i+1]
        y[i] = sum(j, val[j]*x[col[j]])
        """,
        [
            *(pg.GlobalArg("ptr", np.int32, "n+1"), pg.GlobalArg("col", np.int32)),
            *(pg.GlobalArg("val", np.float64), pg.GlobalArg("x", np.float64), doubles("y", "n")),
        ],
        spmv_inputs,
        spmv,
    ),
    "means": Program(
        ["{ [i]: 0<=i<bins }", "{ [j, k]: 0<=j,k<n }"],
        """
        <> s = sum(j, if(radius[j] >= edges[i] and radius[j] < edges[i+1], data[j], 0))
        <> c = sum(k, if(radius[k] >= edges[i] and radius[k] < edges[i+1], 1.0, 0))
        mean[i] = s/c
        """,
        [doubles("data, radius", "n"), doubles("mean", "bins"), doubles("edges", "bins+1")],
        lambda n: {
            "data": random(1, 40 * n),
            "radius": random(2, 40 * n),
            "edges": np.linspace(0, 1.01, 5),
            "mean": np.zeros(4),
        },
        means,
    ),
    "mandelbrot": Program(
        ["{ [i, j]: 0<=i,j<n }", "{ [t]: 0<=t<30 }"],
        """
        for i, j
            <> z = complex128(0)
            <> k = 0
            <> alive = 1
            for t
                z = if(alive > 0, z*z + c[i,j], z)
                alive = if(real(z)*real(z) + imag(z)*imag(z) <= 4, alive, 0)
                k = k + alive
            end
            count[i,j] = k
        end
        """,
        [pg.GlobalArg("c", np.complex128, "n, n"), pg.GlobalArg("count", np.int32, "n, n")],
        lambda n: {
            "c": np.linspace(-2, 0.5, n)[:, None] + 1j * np.linspace(-1, 1, n),
            "count": np.zeros((n, n), np.int32),
        },
        mandelbrot,
    ),
    "softmax": Program(
        ["{ [a, b, i, j, k, l, q]: 0<=a,b,i<n and 0<=j,k,l,q<m }"],
        """
        <> most = max(j, x[a,b,i,j])
        e[a,b,i,k] = exp(x[a,b,i,k] - most)
        <> s = sum(l, e[a,b,i,l])
        y[a,b,i,q] = e[a,b,i,q]/s
        """,
        [pg.GlobalArg("x, y", np.float32, "n, n, n, m"), own("e", "n, n, n, m", np.float32)],
        lambda n: {name: random(k, n, n, n, n + 1).astype("f4") for k, name in enumerate("xy")},
        softmax,
        {"assumptions": "m >= 1"},
    ),
    "go_fast": Program(
        ["{ [i, j, k]: 0<=i,j,k<n }"],
        """
        <> trace = sum(k, tanh(a[k,k]))
        out[i,j] = a[i,j] + trace
        """,
        [doubles("a, out", "n, n")],
        lambda n: {"a": random(1, n, n), "out": np.zeros((n, n))},
        lambda a, out: {"out": a + np.tanh(np.diag(a)).sum() + out},
    ),
    "floyd_warshall": Program(
        ["{ [k, i, j]: 0<=k,i,j<n }"],
        """
        for k, i, j
            p[i,j] = min(p[i,j], p[i,k] + p[k,j])
        end
        """,
        [pg.GlobalArg("p", np.int32, "n, n")],
        lambda n: {"p": np.random.default_rng(1).integers(1, 100, (n, n)).astype(np.int32)},
        floyd_warshall,
        {"loop_priority": "k, i, j"},
    ),
    "subsequence": Program(
        ["{ [i, j]: 0<=i<n and 0<=j<m }"],
        "L[i+1,j+1] = if(a[i] == b[j], L[i,j] + 1, max(L[i,j+1], L[i+1,j]))",
        [
            *(pg.GlobalArg("a", np.uint8, "n"), pg.GlobalArg("b", np.uint8, "m")),
            pg.GlobalArg("L", np.int32, "n+1, m+1"),
        ],
        lambda n: {
            "a": letters(1, n + 2),
            "b": letters(2, n),
            "L": np.zeros((n + 3, n + 1), np.int32),
        },
        subsequence,
        {"loop_priority": "i, j"},
    ),
    "n_body": Program(
        ["{ [i, j]: 0<=i,j<n }"],
        """
        <> d = x[j] - x[i]  {inames=i:j}
        a[i] = a[i] + m[j]*d/(sqrt(d*d + 0.01)*(d*d + 0.01))  {inames=i:j}
        """,
        [doubles("x, m, a", "n")],
        lambda n: {name: random(k, n) for k, name in enumerate("xma")},
        n_body,
        {"loop_priority": "i, j"},
    ),
    "conv2d": Program(
        [
            "{ [b, i, j, o]: 0<=b<2 and 0<=i<n and 0<=j<n and 0<=o<4 }",
            "{ [p, q, c]: 0<=p,q<3 and 0<=c<3 }",
        ],
        "out[b,i,j,o] = sum((p,q,c), x[b,i+p,j+q,c]*w[p,q,c,o])",
        [
            pg.GlobalArg("x", np.float32, "2, n+2, n+2, 3"),
            *(pg.GlobalArg("w", np.float32, "3, 3, 3, 4"), pg.GlobalArg("out", np.float32)),
        ],
        lambda n: {
            "x": random(1, 2, n + 2, n + 2, 3).astype("f4"),
            "w": random(2, 3, 3, 3, 4).astype("f4"),
            "out": np.zeros((2, n, n, 4), "f4"),
        },
        conv2d,
    ),
    "prefix": Program(
        ["{ [i]: 0<=i<n }"],
        "x[i+1] = x[i] + a[i]",
        [doubles("x", "n+1"), doubles("a", "n")],
        lambda n: {"x": np.zeros(50 * n + 1), "a": random(1, 50 * n)},
        lambda x, a: {"x": np.concatenate([x[:1], np.cumsum(a)])},
    ),
    "histogram": Program(
        ["{ [i]: 0<=i<n }"],
        "h[b[i]] = h[b[i]] + w[i]",
        [doubles("h", "16"), pg.GlobalArg("b", np.uint8, "n"), doubles("w", "n")],
        lambda n: {"h": np.zeros(16), "b": letters(1, 50 * n), "w": random(2, 50 * n)},
        lambda h, b, w: {"h": h + np.bincount(b, w, 16)},
    ),
}

PROGRAMS = LINEAR_ALGEBRA | STENCILS | OTHERS
