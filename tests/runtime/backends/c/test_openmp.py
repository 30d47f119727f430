"""OpenMP's threads soon sleep between calls, and forked processes run kernels, too."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.few import few

_PARALLEL = """
import os
import numpy as np
import polygen as pg

knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", target="c")
knl = pg.split_iname(knl, "i", 1024, outer_tag="g.0")
a = np.arange(2.0**18)

def right():
    return bool((knl(a=a)[1][0] == 2*a).all())

assert right()
"""
_FORKED = """
child = os.fork()
if child == 0:
    os._exit(0 if right() else 1)
assert os.waitpid(child, 0)[1] == 0 and right()
"""
_IDLE = """
import time
before_idle = time.process_time()
time.sleep(0.1)
assert time.process_time() - before_idle < 0.02
"""
_LOAD = "import ctypes; ctypes.CDLL('libgomp.so.1')"
_SAME_ENVIRONMENT = "assert dict(os.environ) == before"
_DECIDING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def _reports(*code: str, **environment: str) -> list[str]:
    """Run code and return how long threads spin in each OpenMP library that it has loaded."""
    kept = {name: text for name, text in os.environ.items() if name not in _DECIDING}
    shown = {"OMP_DISPLAY_ENV": "verbose", "OMP_NUM_THREADS": "2"}
    finished = subprocess.run(
        (sys.executable, "-c", "\n".join(code)),
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**kept, **shown, **environment},
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
    found = (line.partition("GOMP_SPINCOUNT = ") for line in finished.stderr.splitlines())
    return [count for _, named, count in found if named]


@few(1, "already", [(), ("'300000'",)])
def test_threads_sleep(already: tuple[str, ...]) -> None:
    begin = [_LOAD] * bool(already)
    remember = "import os; before = dict(os.environ)"
    found = _reports(*begin, remember, _PARALLEL, _IDLE, _SAME_ENVIRONMENT, _FORKED)
    assert found == [*already, "'1000'"]


def test_users_decide() -> None:
    assert _reports(_LOAD, _PARALLEL, GOMP_SPINCOUNT="7") == ["'7'"]
