"""A service that many tests share, and one that a test may ill-treat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service.running import Running, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for a module. Nothing unforeseen may be in its log at the end."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running
        assert running.process.poll() is None
        assert "Traceback" not in running.log.read_text()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Running]:
    """A service for one test."""
    with serving(tmp_path) as running:
        yield running
