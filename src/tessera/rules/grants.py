"""What a key may do. Pure: a caller and a thing in, nothing or a refusal out.

Which refusal (contract §4.1): `forbidden` for a queue or kind outside the grant, or a key that would resume
its own park; `scope_denied` for an effect class, the admin scope or somebody else's lease. Admin alone grants
neither effect classes nor queues.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tessera.errors import Forbidden, ScopeDenied, Unauthorized
from tessera.models import ApprovalBody, Claim
from tessera.names import ADMIN_EFFECTS, ALL, EFFECT_CLASSES, EFFECT_RANK, SCOPES


class Caller(Struct, frozen=True):
    """Who asks, and what the key covers; None means all. Without a key it is the store's owner."""

    key_id: str | None = None
    queues: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    effects: frozenset[int] | None = None
    scopes: frozenset[str] = frozenset()
    workspace_id: str | None = None

    @property
    def admin(self) -> bool:
        """Whether the caller may do what operators do."""
        return "admin" in self.scopes


OWNER = Caller(scopes=frozenset(SCOPES))


def caller_of(key_id: str, grant: ApprovalBody) -> Caller:
    """Who holds a key with this grant."""
    return Caller(
        key_id=key_id,
        queues=None if ALL in grant.queues else frozenset(grant.queues),
        kinds=None if ALL in grant.kinds else frozenset(grant.kinds),
        effects=frozenset(EFFECT_RANK[name] for name in grant.effect_classes),
        scopes=frozenset(grant.scopes),
        workspace_id=grant.workspace_id,
    )


def sees_workspace(caller: Caller, workspace_id: str | None) -> bool:
    """Whether what belongs to a workspace, or to none, exists for a caller. A workspace's key knows nothing
    outside it; to every other key but an admin's there are no workspaces.
    """
    return caller.admin or caller.workspace_id == workspace_id


def workspace_in_sight(caller: Caller) -> str | None:
    """The same for a statement that picks rows: the workspace whose things exist for the caller, empty for
    what belongs to none, None where everything does.
    """
    return None if caller.admin else caller.workspace_id or ""


def covers_queue(caller: Caller, queue: str) -> None:
    """Refuse a queue outside the grant."""
    if not sees_queue(caller, queue):
        raise Forbidden("the key does not cover this queue")


def sees_queue(caller: Caller, queue: str) -> bool:
    """Whether the grant covers a queue."""
    return caller.queues is None or queue in caller.queues


def covers_task(caller: Caller, queue: str, kind: str) -> None:
    """Refuse a queue or kind outside the grant."""
    covers_queue(caller, queue)
    if caller.kinds is not None and kind not in caller.kinds:
        raise Forbidden("the key does not cover this kind")


def holds_effect(caller: Caller, effect: int) -> None:
    """Refuse an effect class outside the grant."""
    if caller.effects is not None and effect not in caller.effects:
        raise ScopeDenied(f"the key lacks effect class {EFFECT_CLASSES[effect]}")


def may_start(caller: Caller, effect: int) -> None:
    """Starting work that may change something, by enqueuing or resuming it, needs its effect class, and
    admin for the broad ones.
    """
    holds_effect(caller, effect)
    if effect in ADMIN_EFFECTS and not caller.admin:
        raise ScopeDenied(f"effect class {EFFECT_CLASSES[effect]} needs an admin key")


def is_admin(caller: Caller) -> None:
    """Refuse whoever lacks the admin scope."""
    if not caller.admin:
        raise ScopeDenied("this needs an admin key")


def holds_store(caller: Caller) -> None:
    """Refuse whoever lacks the store scope."""
    if "store" not in caller.scopes:
        raise Forbidden("this needs a key with the store scope")


def claims_directly(workspace_id: str | None) -> None:
    """Refuse a workspace's queue: who gets its tasks is for the ordered log to say."""
    if workspace_id is not None:
        raise Forbidden("the tasks of a workspace's queue are won by claim-next, not claimed")


def is_owner(caller: Caller) -> None:
    """Refuse whoever came with a key: this is done on the store's machine only."""
    if caller.key_id is not None:
        raise ScopeDenied("only the store's owner may do this, on the store's machine")


def stands(expires_at: int, revoked_at: int | None, now: int) -> None:
    """Refuse a key that has expired or was revoked."""
    if revoked_at is not None or expires_at <= now:
        raise Unauthorized


def may_claim(caller: Caller, ask: Claim) -> tuple[Sequence[str] | None, Sequence[int] | None]:
    """The kinds and effect classes this claim may draw from; None means any. Asking for more than granted
    refuses.
    """
    kinds = caller.kinds
    if ask.kinds is not None:
        kinds = frozenset(ask.kinds)
        if caller.kinds is not None and not caller.kinds >= kinds:
            raise Forbidden("the key does not cover every kind asked for")
    effects = caller.effects
    if ask.effect_classes is not None:
        effects = frozenset(EFFECT_RANK[name] for name in ask.effect_classes)
        if caller.effects is not None and not caller.effects >= effects:
            raise ScopeDenied("the key lacks an effect class asked for")
    return None if kinds is None else sorted(kinds), None if effects is None else sorted(effects)


def may_resume(caller: Caller, parked_by: str | None) -> None:
    """Refuse the key that parked the task: outside input comes from someone else."""
    if caller.key_id is not None and caller.key_id == parked_by and not caller.admin:
        raise Forbidden("the key that parked a task may not resume it")


def owns_lease(caller: Caller, key_id: str | None) -> None:
    """Refuse a key other than the one that claimed. The owner stands above."""
    if caller.key_id is not None and caller.key_id != key_id:
        raise ScopeDenied("another key claimed this lease")
