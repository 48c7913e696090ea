"""What the log's bytes give away: nothing of any field of any entity, whatever stands in it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from lite.workshop import file_of
from tessera.library import Tessera
from tessera.testing import temporary_store

_numbers = count(1)


def _drawn(seed: bytes, base: str) -> str:
    """A secret that nothing else could hold by chance: 32 letters of an alphabet, drawn by a seed."""
    digest = hashlib.sha256(seed).digest()
    return "".join(base[byte % len(base)] for byte in digest)


SEED = st.binary(min_size=4, max_size=8)
WORD = SEED.map(lambda seed: _drawn(seed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"))
NAME = SEED.map(lambda seed: _drawn(seed, "ghijklmnopqrstuvwxyz"))  # of a queue or a capability
TEXT = st.tuples(SEED, st.text(max_size=40)).map(
    lambda pair: _drawn(pair[0], 'ab cd"ef\\gh\u00fc\u4e2dklmnopq') + pair[1]
)
SECRETS = st.fixed_dictionaries({
    "workspace": WORD, "workspace_name": TEXT, "role": WORD, "role_name": TEXT, "agent": WORD,
    "capability": NAME, "queue": NAME, "task": WORD, "title": TEXT, "brief": TEXT, "input_key": TEXT,
    "input_value": TEXT, "idempotency_key": WORD, "output": TEXT, "error": TEXT,
})  # fmt: skip
PUBLIC = (b"lite_claim_v1", b"idempotency_sha256", b"fencing_token", b"lease_seconds", b"created_at")


@pytest.fixture(scope="module")
def town() -> Iterator[Tessera]:
    """A store for all examples."""
    with temporary_store() as store:
        yield store


def told_everything(store: Tessera, secret: dict[str, str]) -> str:
    """A workspace in which every field is a secret, and a claim won and handed in there; its topic."""
    number = next(_numbers)
    ws, role, agent = (f"{kind}_x{secret[name]}{number}" for kind, name in
                       (("ws", "workspace"), ("role", "role"), ("agt", "agent")))  # fmt: skip
    queue, task = f"q{secret['queue']}{number}", f"x{secret['task']}{number}"
    store.define_queue(queue)
    store.define_workspace(ws, secret["workspace_name"])
    store.assign_queue(ws, queue)
    topic = store.define_role(ws, role, secret["role_name"]).topic_id
    store.define_agent(ws, agent, [role], [f"c{secret['capability']}"])
    store.define_lite_task(
        workspace_id=ws, queue_id=queue, task_id=task, title=secret["title"], brief=secret["brief"],
        input={secret["input_key"]: secret["input_value"]}, required_role_id=role,
        required_capabilities=[f"c{secret['capability']}"],
    )  # fmt: skip
    won = store.claim_next(queue, agent, secret["idempotency_key"])
    assert won.status == "claimed"
    store.submit(task, won.fencing_token, secret["output"], task, ok=False, error=secret["error"])
    return topic


def forms(word: str) -> set[bytes]:
    """How a word may stand in bytes: plain, escaped, in hex, in base64."""
    plain = word.encode()
    found = {plain, json.dumps(word)[1:-1].encode(), msgspec.json.encode(word)[1:-1], plain.hex().encode()}
    return found | {base64.b64encode(plain[shift:])[:-4] for shift in range(3)}


@given(secret=SECRETS)
@settings(max_examples=8, deadline=None, phases=[Phase.generate])
def test_nothing_of_any_field_is_in_the_log(town: Tessera, secret: dict[str, str]) -> None:
    """Fill every field of every entity with secrets, claim and hand in: no secret is in the log's bytes, in
    any form, nor is any piece of one, eight characters long.
    """
    topic = told_everything(town, secret)
    with closing(file_of(town)) as file:
        stored: list[Any] = file.execute(
            "select message, payer from topic_messages natural join topics where topic_id = ?", (topic,)
        ).fetchall()
    ((message, payer),) = stored
    log = bytes(message) + payer.encode() + topic.encode()
    for public in PUBLIC:
        log = log.replace(public, b"|")

    for word in secret.values():
        assert [form for form in forms(word) if form in log] == []
        pieces = {word[place : place + 8].encode() for place in range(25)}
        assert [piece for piece in pieces if piece in log] == []
