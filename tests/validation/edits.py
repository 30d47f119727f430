"""Changing a loop program here and there, and what is said of it then."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polygen.errors import WrongLoopProgram
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.program import (
    Assign,
    Block,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    Verbatim,
)
from polygen.validation.validate import check

Rule = Callable[[Any], tuple[Node, ...]]
Edit = Callable[[LoopProgram], LoopProgram]


def var(name: str) -> Any:
    return ex.Variable(name)


def at(name: str, index: Any) -> Any:
    return ex.Subscript(var(name), index)


def said(knl: Kernel, program: LoopProgram, kind: type[WrongLoopProgram]) -> str:
    """Return what is said of a program that is wrong."""
    with pytest.raises(kind) as caught:
        check(knl, program)
    assert type(caught.value) is kind
    text = str(caught.value)
    assert text.startswith(f"the loop program of kernel '{knl.name}' is wrong: ")
    assert "\n  at " in text
    assert "Please report it, with the kernel" in text
    return text


def shows(text: str, words: str) -> bool:
    """Tell whether a text has words in it, where ``...`` stands for any others."""
    return re.search(".*".join(map(re.escape, words.split("..."))), text) is not None


def edited(program: LoopProgram, rule: Rule) -> LoopProgram:
    """Return a program with each node replaced by what a rule makes of it, innermost first.

    The rule has to change something.
    """
    changed = replace(program, host=tuple(_host(node, rule) for node in program.host))
    assert changed != program
    return changed


def _host(node: HostNode, rule: Rule) -> HostNode:
    if isinstance(node, Launch):
        return replace(node, body=_block(node.body, rule))
    assert isinstance(node, HostLoop)
    return replace(node, body=tuple(_host(child, rule) for child in node.body))


def _block(block: Block, rule: Rule) -> Block:
    result: list[Node] = []
    for node in block:
        if isinstance(node, Loop | If):
            result += rule(replace(node, body=_block(node.body, rule)))
        else:
            result += rule(node)
    return tuple(result)


def where(kind: type[Node], change: Rule, name: str = "") -> Edit:
    """Return what changes all nodes of a kind; those with a name if one is given."""
    own = {Loop: "iname", Declare: "name"}
    named = dict[type[Node], str]({Assign: "insn_id", Call: "insn_id", Verbatim: "insn_id", **own})

    def rule(node: Node) -> tuple[Node, ...]:
        if isinstance(node, kind) and (not name or getattr(node, named[kind]) == name):
            return change(node)
        return (node,)

    return lambda program: edited(program, rule)


def guarded(condition: Any) -> Rule:
    """Return what puts a node under a condition."""
    return lambda node: (If(condition, (node,)),)


def with_launch(program: LoopProgram, change: Callable[[Launch], Launch]) -> LoopProgram:
    """Return a program with its first launch changed."""
    first = program.host[0]
    assert isinstance(first, Launch)
    return replace(program, host=(change(first), *program.host[1:]))


def joined(program: LoopProgram) -> LoopProgram:
    """Return a program with its two launches as one."""
    first, second = program.host
    assert isinstance(first, Launch)
    assert isinstance(second, Launch)
    axes = tuple(
        replace(a, inames=(*a.inames, *b.inames))
        for a, b in zip(first.axes, second.axes, strict=True)
    )
    arguments = tuple(dict.fromkeys((*first.arguments, *second.arguments)))
    body = (*first.body, *second.body)
    return replace(program, host=(Launch(first.name, arguments, axes, body),))


def without(program: LoopProgram, name: str) -> tuple[LoopProgram, Node]:
    """Return a program without the declaration of a variable, and that."""
    found: list[Node] = []

    def removed(node: Declare) -> tuple[Node, ...]:
        found.append(node)
        return ()

    return where(Declare, removed, name)(program), found[0]


def moved_into(name: str, loop: str) -> Edit:
    """Return what declares a variable in a loop instead of outside."""

    def apply(program: LoopProgram) -> LoopProgram:
        rest, declaration = without(program, name)
        inside = where(Loop, lambda n: (replace(n, body=(declaration, *n.body)),), loop)
        return inside(rest)

    return apply
