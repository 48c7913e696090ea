"""A model of the queue, and the machine that plays it against a store."""

import pytest

pytest.register_assert_rewrite("model.checks", "model.stage")
