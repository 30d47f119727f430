"""Processes that are forked off one that uses OpenCL: calls on it are refused, and never wait."""

from __future__ import annotations

import subprocess
import sys

from tests.few import few

_FORKED = """
import os, signal, traceback
import numpy as np
import polygen as pg
from polygen import errors

knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
a = np.arange(8.0)
right = lambda executor: bool((executor(a=a)[1][0] == 2*a).all())
opencl, c = knl.executor("opencl"), knl.executor("c")

def forked(child):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)  # rather than wait forever
        try:
            child()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

def refused(call):
    try:
        call()
    except errors.NoDevice as error:
        assert "it was forked off one that uses it" in error.what, error
        assert "spawn" in error.remedy
        return
    raise AssertionError("not refused")

def usable():
    assert right(opencl) and right(c)

import pyopencl as cl
import pyopencl.array
forked(usable)  # PoCL is not used yet
usable()
queue = opencl.default_queue()
on_device = cl.array.to_device(queue, a)
event, (out,) = knl(queue, a=on_device)
knl(queue, a=on_device, out=out)

def child():
    refused(lambda: opencl(a=a))
    refused(lambda: knl(queue, a=on_device, out=out))
    refused(lambda: knl(queue, a=on_device, out=out, check_assumptions=True))
    refused(lambda: knl(a=on_device))
    refused(lambda: pg.split_iname(knl, "i", 4).executor(queue)(a=a))
    refused(lambda: c(a=a, wait_for=[event]))
    assert right(c)
    forked(lambda: refused(lambda: opencl(a=a)))

forked(child)
usable()
"""


# The parent uses PoCL, but not through polygen, of which it has called nothing.
_FIRST_USED_IN_THE_CHILD = """
import os, signal, sys
import numpy as np
import polygen as pg
import pyopencl as cl
import pyopencl.array

queue = cl.CommandQueue(cl.create_some_context(interactive=False))
(cl.array.to_device(queue, np.arange(8.0)) + 1).get()
assert "polygen.ir" not in sys.modules
pid = os.fork()
if pid == 0:
    signal.alarm(20)  # rather than wait forever
    try:
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]").executor("opencl")(a=np.arange(8.0))
    except pg.errors.NoDevice as error:
        os._exit("it was forked off one that uses it" not in error.what)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
"""


@few(1, "script", [_FORKED, _FIRST_USED_IN_THE_CHILD])
def test_forked_processes(script: str) -> None:
    """A call that uses the parent's PoCL would wait forever for its threads."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
