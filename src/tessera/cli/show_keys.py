"""Views of keys and approvals."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout


def grant(answer: models.KeyGrant) -> RenderableType:
    """A table of one."""
    return keys(models.Keys([answer], next=None))


def keys(answer: models.Keys) -> RenderableType:
    """A line for each key."""
    rows = (
        (k.key_id, "revoked" if k.revoked_at else "issued", k.name, ", ".join(k.queues), ", ".join(k.kinds),
         ", ".join(k.effect_classes), ", ".join(k.scopes), k.workspace_id, layout.moment(k.expires_at))
        for k in answer.keys
    )  # fmt: skip
    columns = "key, state, name, queues, kinds, effects, scopes, workspace, expires"
    return layout.table(columns, rows, none="Nothing here. Make a key: tessera keys issue --name NAME")


def issued(answer: models.IssuedKey) -> RenderableType:
    """The bare secret on a line of its own, then what it may do."""
    return Group(Text(answer.key, "bold"), grant(answer.grant))


def approval(answer: models.Approval) -> RenderableType:
    """The bare word on a line of its own, then how long it is good."""
    return Group(Text(answer.approval, "bold"), Text(f"Good for one key until {answer.expires_at}."))
