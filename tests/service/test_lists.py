"""Lists over HTTP, whatever they list."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from service.running import Running
from service.stage import ROWS, Stage, place


@pytest.mark.parametrize(
    "name", [name for name, row in ROWS.items() if row.reads and "after" in row.ask.__struct_fields__]
)
def test_an_empty_after_is_the_start(service: Running, name: str) -> None:
    """Every list begins at its start when `after` is empty, as when it is left out."""
    row = ROWS[name]
    path, fields = place(Stage(service), row)
    if row.flag is not None:
        fields[row.flag] = "true"
    whole, again = (service.get(f"{path}?{urlencode({**fields, **more})}") for more in ({}, {"after": ""}))
    assert (whole.status, again.status) == (200, 200)
    assert again.json == whole.json
