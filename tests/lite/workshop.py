"""What the tests of lite claims stand on: workspaces in a store, a word for each common step, and acts whose
steps are taken one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import apsw

from tessera.acts.act import Act, Look, Rest, Run
from tessera.library import Tessera
from tessera.lite.claiming import claim_next, claim_task
from tessera.lite.local import LocalLog
from tessera.lite.message import Commitments, LiteClaim, decode
from tessera.lite.winner import winners
from tessera.models import Claimed, ClaimNext, ClaimTask, TopicMessage
from tessera.rules.grants import OWNER

ROLE = "role_writer"
SECRETS = ("the title", "the brief of it", "what it starts from")
_numbers = count(1)


def furnish(
    store: Tessera, workspace_id: str = "ws_a", queue: str = "drafts", *agents: str, **role: Any
) -> None:
    """A workspace with a queue, a role and its agents, `agt_ann` and `agt_bob` unless others are named."""
    store.define_queue(queue, backoff_base_seconds=0)
    store.define_workspace(workspace_id, workspace_id)
    store.assign_queue(workspace_id, queue)
    store.define_role(workspace_id, ROLE, "Writer", **role)
    for agent in agents or ("agt_ann", "agt_bob"):
        store.define_agent(workspace_id, agent, [ROLE], ["english"])


def put(store: Tessera, workspace_id: str = "ws_a", queue: str = "drafts", **fields: Any) -> str:
    """A task on the workspace's queue."""
    title, brief, given = SECRETS
    spec = dict(
        workspace_id=workspace_id, queue_id=queue, title=title, brief=brief, input={"x": given},
        required_role_id=ROLE,
    )  # fmt: skip
    return store.define_lite_task({**spec, **fields})


def agents_key(store: Tessera, workspace_id: str = "ws_a", **grant: Any) -> Tessera:
    """The store as the holder of a new key of a workspace sees it."""
    body = {"scopes": ["agent:runtime"], "workspace_id": workspace_id, **grant}
    return store.as_key(store.issue_key(**body).key)


def fresh(word: str = "once") -> str:
    """An idempotency key that nobody has used."""
    return f"{word}-{next(_numbers)}"


def won(store: Tessera, queue: str = "drafts", agent: str = "agt_ann", **more: Any) -> Claimed:
    """A claim that must win."""
    answer = store.claim_next(queue, agent, fresh(), **more)
    assert isinstance(answer, Claimed), answer
    return answer


def file_of(store: Tessera) -> apsw.Connection:
    """A connection of our own to the store's file."""
    return apsw.Connection(store._door._engine._writer.connection.filename)


def messages(store: Tessera) -> list[LiteClaim]:
    """What the store's log holds, in order."""
    with closing(file_of(store)) as file:
        rows = file.execute("select message from topic_messages order by consensus_ns").fetchall()
    found = [decode(bytes(message)) for (message,) in rows]
    assert None not in found
    return [one for one in found if one is not None]


def log_rows(store: Tessera, topic_id: str) -> list[TopicMessage]:
    """A topic's rows."""
    rows: list[TopicMessage] = []
    while page := finish(store, LocalLog().read(topic_id, rows[-1].sequence_number if rows else 0)):
        rows += page
    return rows


def commitment(store: Tessera, kind: Any, name: str, workspace_id: str = "ws_a") -> str:
    """What a workspace calls an id in the log."""
    with closing(file_of(store)) as file:
        secret = file.execute("select secret from workspaces where workspace_id = ?", (workspace_id,)).get
    return Commitments(bytes.fromhex(secret)).of(kind, name)


def next_of(agent: str = "agt_ann", queue: str = "drafts", key: str = "", **more: Any) -> Act[Any]:
    """A claim-next as an act, not begun."""
    return claim_next(ClaimNext(queue_id=queue, agent_id=agent, idempotency_key=key or fresh(), **more))


def one_of(task_id: str, agent: str = "agt_bob", key: str = "", **more: Any) -> Act[Any]:
    """A direct claim as an act, not begun."""
    return claim_task(ClaimTask(task_id=task_id, agent_id=agent, idempotency_key=key or fresh(), **more))


class Steps:
    """An act whose steps are taken when told, so that others can come between any two."""

    def __init__(self, store: Tessera, act: Act[Any], caller: Any = OWNER) -> None:
        self._engine, self._act, self._caller = store._door._engine, act, caller
        self.answer: Any = None
        self.over = False
        self.taken: list[str] = []
        self._step: Any = None
        self._advance(lambda: next(act))

    def take(self) -> None:
        """Take one step."""
        step = self._step
        self.taken.append(getattr(getattr(step, "verb", None), "__name__", type(step).__name__))
        try:
            came = self._outcome(step)
        except Exception as error:  # what a step is refused with is the act's to see
            refusal = error
            self._advance(lambda: self._act.throw(refusal))
        else:
            self._advance(lambda: self._act.send(came))

    def until(self, verb: str) -> Steps:
        """Take steps until that one comes next."""
        while not self.over and getattr(getattr(self._step, "verb", None), "__name__", "") != verb:
            self.take()
        assert not self.over, f"the act ended with {self.answer} before {verb}"
        return self

    def finish(self) -> Any:
        """Take all the rest; the answer."""
        while not self.over:
            self.take()
        return self.answer

    def die(self) -> None:
        """Take no further step, as a process that died would not."""
        self._act.close()
        self.over = True

    def _outcome(self, step: Any) -> Any:
        if isinstance(step, Run):
            return self._engine.submit(step.verb, self._caller, step.ask).result()
        if isinstance(step, Look):
            return self._engine.read(step.verb, self._caller, step.ask)
        return None if isinstance(step, Rest) else step.compute()

    def _advance(self, go: Any) -> None:
        try:
            self._step = go()
        except StopIteration as end:
            self.answer, self.over = end.value, True


def finish(store: Tessera, act: Act[Any]) -> Any:
    """What an act comes to, without pause."""
    return Steps(store, act).finish()


def claims(store: Tessera) -> Iterator[Any]:
    """Every claim of the store."""
    yield from store.claims(limit=1_000).claims


def assert_sound(store: Tessera) -> None:
    """Counts agree, the store verifies, and the log and the claims tell one story: each lease that was won
    was won in the log, nobody else's claim of that contest has one, and no contest is open that the log has
    decided for somebody who will never settle.
    """
    assert store.counts(recount=True).agree
    assert store.verify().ok
    assert store.verify_topics().ok
    known = list(claims(store))
    contests = [(one.task_id, one.fencing_token) for one in known if one.state == "claimed"]
    assert len(set(contests)) == len(contests)
    names = {one.claim_id: one.state for one in known}
    for topic_id in {one.topic_id for one in known}:
        rows = log_rows(store, topic_id)
        payers = {row.payer_account_id for row in rows}
        decided = {found.claim.claim_id for found in winners(rows, payers).values()}
        ours = {one.claim_id for one in known if one.topic_id == topic_id and one.state == "claimed"}
        assert ours <= decided
        assert not {name for name in decided if names[name] == "missed"}
