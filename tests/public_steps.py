"""The public steps: what has a file of its own in a room of transforms/."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def public_steps() -> list[str]:
    """Return the names of files that define a function of their own name; helpers do not."""
    return sorted(
        path.stem
        for path in (ROOT / "transforms").glob("*/*.py")
        if re.search(rf"^def {path.stem}\(", path.read_text(), re.MULTILINE)
    )
