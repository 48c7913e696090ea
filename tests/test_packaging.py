"""What is installed has what runs from a clone."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "src" / "tessera"


def test_every_file_of_the_house_is_packaged() -> None:
    """Each file beside the modules (statements, schemas, pages, styles) is named by the package's data, so
    that it is there once installed.
    """
    with (ROOT / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]["tessera"]
    packaged = {path for pattern in patterns for path in HOUSE.glob(pattern)}
    files = {path for path in HOUSE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    beside = {path for path in files if path.suffix not in (".py", ".md")}

    assert beside
    assert sorted(str(path.relative_to(HOUSE)) for path in beside - packaged) == []
