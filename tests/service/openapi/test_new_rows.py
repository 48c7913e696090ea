"""Rows that nobody has told the description of: it is made from the row, its models and its verb's code."""

from __future__ import annotations

from typing import Annotated, Any

import jsonschema
import msgspec

from tessera import models
from tessera.acts.act import Act, Take
from tessera.errors import InvalidState, NotFound
from tessera.models import Model
from tessera.service.openapi.operations import Operations
from tessera.service.openapi.responses import Responses
from tessera.service.openapi.schemas import Schemas
from tessera.surface import Row


def test_a_new_row_is_described_by_itself() -> None:
    """A verb that nobody has told the description of is described from its row and its code alone."""

    def paint(tx: Any, runtime: Any, caller: Any, ask: Any) -> Any:
        """Paint it. Twice is once."""
        raise NotFound if ask.door is None else InvalidState

    class Paint(Model, frozen=True):
        """What to paint."""

        wall: str
        door: Annotated[int, msgspec.Meta(ge=3)] | None = None
        stain: bytes = b""

    paint.__module__ = "tessera.verbs.paint"
    row = Row(paint, Paint, models.Written, "/v1/walls/{wall}", "admin", "paint", status=201)
    schemas = Schemas()
    described = Operations(schemas, Responses(schemas)).of([row])

    assert (described["operationId"], described["summary"]) == ("paint", "Paint it")
    assert {"201", "404", "409"} <= described["responses"].keys()
    assert schemas.written["PaintBody"]["properties"] == {
        "door": {"type": ["integer", "null"], "minimum": 3},
        "stain": {"type": "string", "contentEncoding": "base64"},
    }
    assert "RecordVersion" in schemas.written


class Won(Model, frozen=True, tag_field="status", tag="won"):
    """It is yours."""

    prize: int


class Lost(Model, frozen=True, tag_field="status", tag="lost"):
    """It is not."""


def bet(ask: models.QueueRef) -> Act[Won | Lost]:
    """Try one's luck."""
    yield Take()
    return Lost()


def test_an_answer_of_several_models_is_described() -> None:
    """Where a verb answers one of several models, each is described, with the tag that tells which it is."""
    schemas = Schemas()
    described = Operations(schemas, Responses(schemas)).of(
        [Row(bet, models.QueueRef, Won, "/v1/bets", "admin", "bet")]
    )
    content = described["responses"]["200"]["content"]["application/json"]

    assert content["example"]["status"] == "won"
    told = jsonschema.Draft202012Validator({**content["schema"], "components": {"schemas": schemas.written}})
    told.validate({"status": "lost"})
    told.validate({"status": "won", "prize": 1})
    assert not told.is_valid({"status": "lost", "prize": 1})
    assert not told.is_valid({"prize": 1})
