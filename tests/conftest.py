"""What holds for the whole test session: private caches, few threads, repeatable examples."""

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests import needs

# Set before anything reads them: neither polygen nor OpenCL may find what an earlier run, or
# another one at the same time, left behind. XDG_CACHE_HOME is where PyOpenCL's cache lives.
_CACHES = tempfile.TemporaryDirectory(prefix="polygen-tests-", ignore_cleanup_errors=True)
for _variable in ("POLYGEN_CACHE_DIR", "POCL_CACHE_DIR", "XDG_CACHE_HOME"):
    _folder = Path(_CACHES.name, _variable.lower())
    _folder.mkdir()
    os.environ[_variable] = str(_folder)
os.environ["OMP_NUM_THREADS"] = "2"
# The OpenCL device that tests see, and processes that they start, whatever else the machine has:
# the one that comes with them, unless another one is asked for.  On a GPU: tests/gpu/conftest.py.
if "PYOPENCL_CTX" not in os.environ:
    from tests.pocl_device import usable_pocl  # loads pyopencl, which reads the caches' places

    os.environ["PYOPENCL_CTX"] = usable_pocl()
# PoCL compiles without optimizations, and with few declarations, unless these flags are given:
# most of the time that it takes would be for that.  So does the C compiler.
_FEW = "-cl-opt-disable"  # what workers of pytest's inherit is no choice of the user's
_OPTIMIZED = os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", _FEW) != _FEW
# Where no bytecode is kept, each process that a test starts would compile all modules.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(_CACHES.name, "bytecode"))

# A first call compiles, so examples take as long as they take. In continuous integration
# every run tries the same ones.
hypothesis.settings.register_profile("polygen", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("polygen")


def pytest_configure(config: pytest.Config) -> None:
    """Say at the end what was left out."""
    config.pluginmanager.register(needs)


def pytest_report_header() -> str:
    """Say on which OpenCL device tests run."""
    return f"OpenCL device: PYOPENCL_CTX={os.environ['PYOPENCL_CTX']}"


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything under tests/gpu."""
    for item in items:
        if config.rootpath / "tests" / "gpu" in item.path.parents:
            item.add_marker(pytest.mark.gpu)


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make, not at all that there is."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5000, 10, 10)


def pytest_unconfigure() -> None:
    """Remove the session's caches."""
    _CACHES.cleanup()


@pytest.fixture(scope="session")
def waiting_cuda() -> Iterator[Any]:
    """CUDA C++ of several tests, compiled at once: if it fails, the text says whose it is."""
    from tests.nvidia.every_source import Waiting  # noqa: PLC0415  (see above)

    waiting = Waiting()
    yield waiting
    waiting.compile()


@pytest.fixture(autouse=True)
def cuda_is_compiled(request: pytest.FixtureRequest, waiting_cuda: Any) -> Iterator[None]:
    """Compile the CUDA C++ that a test makes for two generations of devices."""
    from tests.nvidia.every_source import noted  # noqa: PLC0415  (see above)

    with noted() as sources:
        yield
    if request.node.get_closest_marker("gpu") is None:  # there, it runs
        waiting_cuda.add(sources, request.node.nodeid)


@pytest.fixture(autouse=True)
def text_is_read_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare all code that a test makes with its loop program."""
    from tests.read_back.every_text import compare, read_back  # noqa: PLC0415  (see above)

    with read_back() as programs:
        yield
    compare(programs)


@pytest.fixture(autouse=True)
def short_header(request: pytest.FixtureRequest) -> None:
    """Have PoCL read less, from the first test on that finds it loaded."""
    from tests.pocl_header import use_short_header  # noqa: PLC0415  (see above)

    if not _OPTIMIZED and request.node.get_closest_marker("gpu") is None:
        use_short_header()


@pytest.fixture(autouse=True)
def few_optimizations_of_c(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have C compiled quickly, but where a test asks for more, and in `make test-more`."""
    from tests.quick_c import compile_quickly  # noqa: PLC0415  (see above)

    larger = any(map(request.node.get_closest_marker, ("more", "deep", "gpu")))
    if not _OPTIMIZED and not larger and "optimized" not in request.fixturenames:
        compile_quickly(monkeypatch)


@pytest.fixture
def optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let PoCL and the C compiler optimize what a test runs."""
    if not _OPTIMIZED:
        monkeypatch.delenv("POCL_EXTRA_BUILD_FLAGS")
