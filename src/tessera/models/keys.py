"""Keys: grants, secrets, approvals."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from tessera import limits, names
from tessera.models.base import Answer, EffectClass, KnownId, Model, NameOrAll, Scope, WorkspaceId

Covered = Annotated[list[NameOrAll], Meta(min_length=1, max_length=limits.NAMES_PER_GRANT_MAX)]
Effects = Annotated[list[EffectClass], Meta(min_length=1, max_length=len(names.EFFECT_CLASSES))]


class ApprovalBody(Model, frozen=True):
    """The grant that an approval is for, as `issue_key` will be asked for it."""

    queues: Covered = field(default_factory=lambda: [names.ALL])
    kinds: Covered = field(default_factory=lambda: [names.ALL])
    effect_classes: Effects = field(default_factory=lambda: ["read"])
    scopes: Annotated[list[Scope], Meta(max_length=len(names.SCOPES))] = []
    days: Annotated[int, Meta(ge=1, le=limits.KEY_DAYS_MAX)] = limits.KEY_DAYS_MAX
    workspace_id: WorkspaceId | None = None  # of the scope agent:runtime, and of no other


class IssueKeyBody(ApprovalBody, frozen=True):
    """A key to make: its label, its grant, and the approval that `public` needs."""

    name: Annotated[str, Meta(max_length=limits.LABEL_CHARS_MAX)] | None = None
    approval: Annotated[str, Meta(min_length=1, max_length=limits.LABEL_CHARS_MAX)] | None = None


class KeyRef(Model, frozen=True):
    """Names a key."""

    key_id: KnownId


class KeyGrant(Answer, frozen=True):
    """A key without its secret."""

    key_id: str
    name: str | None
    queues: list[str]
    kinds: list[str]
    effect_classes: list[str]
    scopes: list[str]
    workspace_id: str | None
    created_at: str
    expires_at: str
    revoked_at: str | None


class IssuedKey(Answer, frozen=True):
    """A new key: the only answer that ever holds a secret."""

    key: str
    grant: KeyGrant


class Approval(Answer, frozen=True):
    """The owner's single-use word for one `public` key, shown once."""

    approval: str
    expires_at: str


class Keys(Answer, frozen=True):
    """A page of the keys, oldest first; `next` is the cursor of the page that follows, null at the end."""

    keys: list[KeyGrant]
    next: str | None
