"""Fixtures of the suite: the backend that `BACKEND` names, and each test's bench on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import backends, lock
from conformance.backend import Backend
from conformance.bench import Bench


def pytest_configure() -> None:
    """Refuse to judge anything by a suite that is not the locked one."""
    found = lock.drift()
    if found.refused:
        pytest.exit(lock.refusal(found), returncode=1)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """What only a service can pass is asked of services alone."""
    only_services = collection_path.name == "service" and collection_path.parent == Path(__file__).parent
    return True if only_services and backends.name() not in backends.SERVICES else None


def pytest_report_header() -> list[str]:
    """Say which files the lock does not know; they run, but nothing vouches for them."""
    return [f"conformance, not locked: {path}" for path in lock.drift().added]


@pytest.fixture(scope="session")
def backend() -> Iterator[Backend]:
    """One backend for the whole session: a test may not rely on an empty store."""
    opened = backends.chosen()
    yield opened
    opened.close()


@pytest.fixture
def bench(backend: Backend, request: pytest.FixtureRequest) -> Bench:
    """This test's own queues on the backend."""
    return Bench(backend, label=request.path.name.split("_")[1])
