"""The Makefile beside a kernel: what compiles it, and a program that runs it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from math import prod

import islpy as isl

from polygen.emission.host_kernel import HostKernel
from polygen.ir.domain import flat_names
from polygen.runtime.c_compiler import FLAGS
from polygen.runtime.evaluate import value_of

_PARAM = isl.dim_type.param
_NOT_HERE = ("-std=c11", "-fPIC", "-shared", "-fopenmp")
_TRIED = (256, 1024, 100, 64, 32, 16, 8, 4, 2, 1)
_MANY = 2**24  # elements, for a program that is run to see that it does
_WARNINGS = "-Wall -Wextra"


def makefile_for_c(kernel: HostKernel) -> str:
    """Return the Makefile for target C."""
    name = kernel.name
    flags = " ".join([f for f in FLAGS if f not in _NOT_HERE])
    options = _build_options(kernel)
    return f"""\
# Runs kernel '{name}': make run ARGS="..."; the kernel alone is {name}.o and {name}_run.o.
CC ?= cc
FC = gfortran
CFLAGS ?= {flags}
OPENMP ?= -fopenmp
ARGS ?= {_arguments(kernel)}

.PHONY: all run fortran clean

all: {name}_host

run: {name}_host
	./{name}_host $(ARGS)

fortran: {name}_fortran

{name}_host: {name}_main.o {name}_run.o {name}.o
	$(CC) $(CFLAGS) $(OPENMP) -o $@ $^ -lm

{name}_fortran: {name}_module.f90 {name}_main.f90 {name}_run.o {name}.o
	$(FC) -std=f2008 {_WARNINGS} -O2 $(OPENMP) -o $@ $^ -lm

{name}.o: {name}.c
	$(CC) -std=c11 $(CFLAGS) $(OPENMP){options} -c -o $@ $<

%.o: %.c {name}.h polygen_geometry.h polygen_host.h
	$(CC) -std=c11 {_WARNINGS} $(CFLAGS) -c -o $@ $<

clean:
	rm -f {name}_host {name}_fortran *.o *.mod
"""


def makefile_for_opencl(kernel: HostKernel) -> str:
    """Return the Makefile for target OpenCL."""
    name = kernel.name
    return f"""\
# Runs kernel '{name}': make run ARGS="..."
# Where OpenCL is elsewhere: make CL_CFLAGS=-I... CL_LIBS=...
CC ?= cc
CFLAGS ?= -O2
CL_CFLAGS ?=
CL_LIBS ?= -lOpenCL
ARGS ?= {_arguments(kernel)}

.PHONY: all run clean

all: {name}_host

run: {name}_host
	./{name}_host $(ARGS)

{name}_host: {name}_main.c {name}.h {name}_opencl.h $(wildcard polygen_*.h)
	$(CC) -std=c11 {_WARNINGS} $(CFLAGS) $(CL_CFLAGS) -o $@ $< $(CL_LIBS) -lm

clean:
	rm -f {name}_host
"""


def makefile_for_cuda(kernel: HostKernel) -> str:
    """Return the Makefile for target CUDA."""
    name = kernel.name
    options = _build_options(kernel)
    return f"""\
# Runs kernel '{name}': make run ARGS="..."
# For another GPU than this machine's: make ARCH=sm_90
CC ?= cc
CFLAGS ?= -O2
NVCC ?= nvcc
ARCH ?= native
CUDA_PATH ?= /usr/local/cuda
CUDA_CFLAGS ?= -I$(CUDA_PATH)/include
CUDA_LIBS ?= -L$(CUDA_PATH)/lib64/stubs -lcuda
ARGS ?= {_arguments(kernel)}

.PHONY: all run clean

all: {name}_host {name}.fatbin

run: all
	./{name}_host $(ARGS)

{name}_host: {name}_main.c {name}.h {name}_cuda.h $(wildcard polygen_*.h)
	$(CC) -std=c11 {_WARNINGS} $(CFLAGS) $(CUDA_CFLAGS) -o $@ $< $(CUDA_LIBS) -lm

{name}.fatbin: {name}.cu
	$(NVCC) -arch=$(ARCH){options} -fatbin -o $@ $<

clean:
	rm -f {name}_host {name}.fatbin
"""


def _build_options(kernel: HostKernel) -> str:
    """Return the kernel's build options, each one word of a shell's, as make passes it on."""
    options = kernel.program.loop_program.options.build_options
    return "".join(f" {shlex.quote(option).replace('$', '$$')}" for option in options)


def _arguments(kernel: HostKernel) -> str:
    """Return numbers for all that has to be passed, with which the kernel can run."""
    sizes = _sizes(kernel)
    words = [f"{s.name}={sizes[s.name] if s.is_size else 2}" for s in kernel.scalars]
    return " ".join(words)


def _sizes(kernel: HostKernel) -> dict[str, int]:
    """Return sizes that the kernel's assumptions allow: all the same, if that can be."""
    allowed = kernel.kernel.assumptions.flat
    names = flat_names(allowed)
    for value in _TRIED:
        sizes = dict.fromkeys([size.name for size in kernel.sizes], value)
        if _with_values(allowed, {name: sizes[name] for name in names}).is_empty():
            continue
        shapes = [array.shape for array in (*kernel.arrays, *kernel.temporaries)]
        if all(prod(value_of(e, sizes) for e in shape) <= _MANY for shape in shapes):
            return sizes
    found = {size.name: _TRIED[0] for size in kernel.sizes}
    for name in names:  # a point of the set, one coordinate after the other
        place = allowed.find_dim_by_name(_PARAM, name)
        found[name] = allowed.sample_point().get_coordinate_val(_PARAM, place).to_python()
        allowed = _with_values(allowed, {name: found[name]})
    return found


def _with_values(allowed: isl.Set, values: Mapping[str, int]) -> isl.Set:
    for name, value in values.items():
        place = allowed.find_dim_by_name(_PARAM, name)
        allowed = allowed.fix_val(_PARAM, place, isl.Val(value))
    return allowed
