"""The same random verbs, clock steps, damage and restarts on a PostgreSQL database that two handles share."""

from __future__ import annotations

import os
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from model.test_model import Machine
from tessera.limits import CLOCK_STEP_US
from tessera.testing_postgres import database

LONG = os.environ.get("TESSERA_LONG") == "1"


class OnPostgres(Machine):
    """Two processes, each with its own connections."""

    server: ClassVar[str]
    clock_step_us = CLOCK_STEP_US

    def new_store(self) -> str:
        return self.cleaned_up.enter_context(database(self.server))


@pytest.fixture(scope="module", autouse=True)
def _server(postgres: str) -> None:
    OnPostgres.server = postgres


OnPostgres.TestCase.settings = settings(
    max_examples=300 if LONG else 6,
    stateful_step_count=40 if LONG else 20,
    deadline=None,
    derandomize=not LONG,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestPostgresModel = OnPostgres.TestCase
TestPostgresModel.__doc__ = "Nor does a store on PostgreSQL."
