"""The JSON file: all that a program needs to know that calls a kernel's code by itself."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar
from polygen.ir import walk
from polygen.ir.array import Argument, ValueArg
from polygen.ir.dtype import dtype_name
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.options import Options
from polygen.ir.show_expression import show_expression
from polygen.lower.program import ENDLESS, HostLoop, HostNode
from polygen.targets.programs.program import DeviceFunction

FORMAT = 2  # what docs/emitting.md describes


def description(kernel: HostKernel) -> str:
    """Return the text of ``NAME.json``."""
    return json.dumps(described(kernel), indent=2) + "\n"


def described(kernel: HostKernel) -> dict[str, Any]:
    """Return what the JSON file says, as dictionaries, lists, texts and numbers."""
    program = kernel.program
    version: str = importlib.import_module("polygen").__version__  # it imports this module
    return {
        "format": FORMAT,
        "polygen": version,
        "kernel": kernel.name,
        "target": kernel.target,
        "index_type": program.loop_program.index_dtype.name,
        "arguments": [_argument(a) for a in kernel.arguments],
        "temporaries": [_argument(t) for t in kernel.temporaries],
        "assumptions": "" if kernel.assumed is True else kernel.kernel.assumptions.text,
        "size_limit": kernel.largest,
        "place_limit": kernel.places,
        "launches": [] if program.target.runs_host else _nodes(kernel, program.loop_program.host),
        "stack_bytes": program.launches[0].local_bytes if program.target.runs_host else 0,
        "extensions": sorted(program.extensions),
        "options": _options(kernel.kernel),
        "obligations": [str(obligation) for obligation in kernel.obligations],
        "claims": [str(claim) for claim in kernel.kernel.claims],
    }


def _argument(arg: HostArray | HostScalar) -> dict[str, Any]:
    if isinstance(arg, HostScalar):
        kind = "size" if arg.is_size else "scalar"
        return {"name": arg.name, "kind": kind, "type": dtype_name(arg.dtype)}
    return {
        "name": arg.name,
        "kind": "array",
        "type": dtype_name(arg.dtype),
        "direction": arg.direction,
        "all_written": arg.all_written,
        "shape": _texts(arg.shape),
        "strides": _texts(arg.strides),
        "offset": show_expression(arg.offset),
        "unit": arg.unit,
        "storage": show_expression(arg.storage),
        "alignment": arg.alignment or arg.dtype.itemsize,
        "may_alias": arg.may_alias,
    }


def _texts(nodes: Sequence[Expression]) -> list[str]:
    return [show_expression(node) for node in nodes]


def _nodes(
    kernel: HostKernel, nodes: Sequence[HostNode], loops: frozenset[str] = NO_NAMES
) -> list[dict[str, Any]]:
    functions = {function.name: function for function in kernel.program.launches}
    return [
        _loop(kernel, node, loops)
        if isinstance(node, HostLoop)
        else _launch(functions[node.name], loops)
        for node in nodes
    ]


def _loop(kernel: HostKernel, loop: HostLoop, loops: frozenset[str]) -> dict[str, Any]:
    runs = NO_NAMES if loop.runs is None else walk.free_variables(loop.runs)
    return {
        "loop": loop.iname,
        "from": show_expression(loop.lower),
        "below": None if loop.upper == ENDLESS else show_expression(loop.upper),
        "step": loop.step,
        "while": [flag.name for flag in kernel.flags if flag.name in runs],
        "body": _nodes(kernel, loop.body, loops | {loop.iname}),
    }


def _launch(function: DeviceFunction, loops: frozenset[str]) -> dict[str, Any]:
    return {
        "function": function.name,
        "arguments": [_passed(arg, loops) for arg in function.arguments],
        "groups": _texts(function.group_counts or (1,)),
        "items": list(function.local_size or (1,)),
        "local_bytes": function.local_bytes,
        "shared_bytes": function.shared_bytes,
    }


def _passed(arg: Argument, loops: frozenset[str]) -> dict[str, str]:
    kind = "scalar" if isinstance(arg, ValueArg) else "array"
    kind = "loop" if arg.name in loops else kind
    return {"name": arg.name, "kind": kind, "type": "" if arg.dtype is None else arg.dtype.name}


def _options(kernel: Kernel) -> dict[str, Any]:
    """Return the options that are not what they are by default."""
    usual, found = Options(), kernel.options
    values = {f.name: getattr(found, f.name) for f in fields(Options)}
    return {n: v for n, v in values.items() if v != getattr(usual, n)}
