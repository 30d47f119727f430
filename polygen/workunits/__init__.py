"""Work units, views and policies: the programming model of Kokkos in Python.

import polygen.workunits as pk

@pk.workunit
def scaled(i: int, x: pk.View1D[pk.double], factor: float):
    x[i] = factor*x[i]

pk.parallel_for(1000, scaled, x=x, factor=2.0)
"""

from typing import Any

from polygen.lazy.recording import lazy
from polygen.lazy.report import lazy_report
from polygen.python.array_libraries import HOLDERS
from polygen.python.print_formats import printf
from polygen.workunits.accumulators import Acc
from polygen.workunits.atomics import (
    atomic_add,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_fetch_add,
    atomic_fetch_and,
    atomic_fetch_div,
    atomic_fetch_lshift,
    atomic_fetch_max,
    atomic_fetch_min,
    atomic_fetch_mod,
    atomic_fetch_mul,
    atomic_fetch_or,
    atomic_fetch_rshift,
    atomic_fetch_sub,
    atomic_fetch_xor,
    atomic_increment,
)
from polygen.workunits.bin_sort import BinOp1D, BinOp3D, BinSort
from polygen.workunits.c_modules import compile_into_module
from polygen.workunits.decorators import (
    ViewTypeInfo,
    WorkUnit,
    callback,
    classtype,
    function,
    functor,
    main,
    workload,
    workunit,
)
from polygen.workunits.dispatch import (
    execute,
    fence,
    parallel_for,
    parallel_reduce,
    parallel_scan,
    single,
)
from polygen.workunits.element_types import (
    complex64,
    complex128,
    double,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    real,
    set_default_precision,
    uint8,
    uint16,
    uint32,
    uint64,
)
from polygen.workunits.layouts import Layout, Trait
from polygen.workunits.numpy_names import by_name, names
from polygen.workunits.policies import (
    AUTO,
    Iterate,
    MDRangePolicy,
    PerTeam,
    PerThread,
    RangePolicy,
    Rank,
    TeamPolicy,
    TeamThreadMDRange,
    TeamThreadRange,
    TeamVectorRange,
    ThreadVectorRange,
)
from polygen.workunits.race_search import find_race
from polygen.workunits.random_pools import (
    Random_XorShift64_Pool,
    Random_XorShift1024_Pool,
    RandomPool,
    rand,
    random_uint64,
)
from polygen.workunits.scratch_views import (
    ScratchView1D,
    ScratchView2D,
    ScratchView3D,
    ScratchView4D,
    ScratchView5D,
    ScratchView6D,
    ScratchView7D,
    ScratchView8D,
)
from polygen.workunits.spaces import (
    ExecutionSpace,
    ExecutionSpaceInstance,
    MemorySpace,
    get_default_space,
    set_default_space,
)
from polygen.workunits.team_members import TeamMember
from polygen.workunits.timers import Timer
from polygen.workunits.views import (
    Subview,
    View,
    View1D,
    View2D,
    View3D,
    View4D,
    View5D,
    View6D,
    View7D,
    View8D,
    from_array,
    from_numpy,
)

Cuda, OpenCL, HIP = ExecutionSpace.Cuda, ExecutionSpace.OpenCL, ExecutionSpace.HIP
OpenMP, Threads, Serial = ExecutionSpace.OpenMP, ExecutionSpace.Threads, ExecutionSpace.Serial
Debug, Default = ExecutionSpace.Debug, ExecutionSpace.Default
HostSpace, CudaSpace = MemorySpace.HostSpace, MemorySpace.CudaSpace
CudaUVMSpace, HIPSpace = MemorySpace.CudaUVMSpace, MemorySpace.HIPSpace
LayoutLeft, LayoutRight = Layout.LayoutLeft, Layout.LayoutRight
LayoutDefault = Layout.LayoutDefault
Atomic, RandomAccess = Trait.Atomic, Trait.RandomAccess
Restrict, Unmanaged = Trait.Restrict, Trait.Unmanaged

# Objects that work units use may have views as attributes.
HOLDERS.update({View: "traced_array", Subview: "traced_array", RandomPool: "_keys"})


def __getattr__(name: str) -> Any:
    found = by_name(name)
    if found is None:
        raise AttributeError(f"module 'polygen.workunits' has no attribute '{name}'")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *names()})


__all__ = [
    "AUTO",
    "HIP",
    "Acc",
    "Atomic",
    "BinOp1D",
    "BinOp3D",
    "BinSort",
    "Cuda",
    "CudaSpace",
    "CudaUVMSpace",
    "Debug",
    "Default",
    "ExecutionSpace",
    "ExecutionSpaceInstance",
    "HIPSpace",
    "HostSpace",
    "Iterate",
    "Layout",
    "LayoutDefault",
    "LayoutLeft",
    "LayoutRight",
    "MDRangePolicy",
    "MemorySpace",
    "OpenCL",
    "OpenMP",
    "PerTeam",
    "PerThread",
    "RandomAccess",
    "RandomPool",
    "Random_XorShift64_Pool",
    "Random_XorShift1024_Pool",
    "RangePolicy",
    "Rank",
    "Restrict",
    "ScratchView1D",
    "ScratchView2D",
    "ScratchView3D",
    "ScratchView4D",
    "ScratchView5D",
    "ScratchView6D",
    "ScratchView7D",
    "ScratchView8D",
    "Serial",
    "Subview",
    "TeamMember",
    "TeamPolicy",
    "TeamThreadMDRange",
    "TeamThreadRange",
    "TeamVectorRange",
    "ThreadVectorRange",
    "Threads",
    "Timer",
    "Trait",
    "Unmanaged",
    "View",
    "View1D",
    "View2D",
    "View3D",
    "View4D",
    "View5D",
    "View6D",
    "View7D",
    "View8D",
    "ViewTypeInfo",
    "WorkUnit",
    "atomic_add",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_div",
    "atomic_fetch_lshift",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_mod",
    "atomic_fetch_mul",
    "atomic_fetch_or",
    "atomic_fetch_rshift",
    "atomic_fetch_sub",
    "atomic_fetch_xor",
    "atomic_increment",
    "callback",
    "classtype",
    "compile_into_module",
    "complex64",
    "complex128",
    "double",
    "execute",
    "fence",
    "find_race",
    "float32",
    "float64",
    "from_array",
    "from_numpy",
    "function",
    "functor",
    "get_default_space",
    "int8",
    "int16",
    "int32",
    "int64",
    "lazy",
    "lazy_report",
    "main",
    "parallel_for",
    "parallel_reduce",
    "parallel_scan",
    "printf",
    "rand",
    "random_uint64",
    "real",
    "set_default_precision",
    "set_default_space",
    "single",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "workload",
    "workunit",
]
