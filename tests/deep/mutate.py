"""Mutation testing: small seeded changes of polygen, each of which the tests should notice.

    .venv/bin/python -m tests.deep.mutate [how many] [seed]

Works on a copy of the checkout, in analysis/ and lower/.  A mutant that no test notices survives:
it is printed, to be looked at.  Either it changes nothing (a faster way to the same result, the
text of an error) or a test is missing.
"""

from __future__ import annotations

import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("polygen/analysis", "polygen/lower")
TESTS = ("tests/lower", "tests/transforms", "tests/analysis", "tests/proof")
LIMIT = 300  # seconds

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield what can be changed: a node, and what is done to it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
            yield node, "swap the comparison"
        elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _SWAPPED:
            yield node, "swap the operator"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
            yield node, "change the constant"
        elif isinstance(node, ast.If | ast.IfExp):
            yield node, "negate the condition"


def _change(node: ast.AST) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _SWAPPED[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.BoolOp | ast.BinOp):
        node.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Constant):
        value = node.value
        node.value = not value if isinstance(value, bool) else int(str(value)) + 1
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)


def mutant(source: str, chooser: random.Random) -> tuple[str, str] | None:
    """Return a changed source, and what was changed; None if nothing can be."""
    tree = ast.parse(source)
    places = list(_places(tree))
    if not places:
        return None
    node, what = chooser.choice(places)
    line = getattr(node, "lineno", 0)
    _change(node)
    text = source.splitlines()[line - 1].strip()
    return ast.unparse(ast.fix_missing_locations(tree)), f"{line}: {what}: {text}"


def survives(copy: Path) -> bool:
    """Tell whether the tests notice nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    chooser = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "polygen")
        ignored = shutil.ignore_patterns(".*", "demo-output", "__pycache__")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
        if not survives(copy):
            raise SystemExit("the tests fail without any change")
        files = sorted(f for name in FOLDERS for f in (copy / name).glob("*.py"))
        killed = 0
        for _ in range(count):
            file = chooser.choice([f for f in files if f.name != "__init__.py"])
            source = file.read_text()
            changed = mutant(source, chooser)
            if changed is None:
                continue
            file.write_text(changed[0])
            alive = survives(copy)
            file.write_text(source)
            killed += not alive
            verdict = "SURVIVES" if alive else "killed  "
            sys.stdout.write(f"{verdict} {file.relative_to(copy)}:{changed[1]}\n")
        sys.stdout.write(f"{killed} of {count} killed\n")


if __name__ == "__main__":
    main()
