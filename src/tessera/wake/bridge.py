"""From a store's log to wakes, by rules: each event wakes once for each rule that fits it.

The bridge reads the log through a callable it is handed and knows nothing else of the store. How far it
has read, and which wakes still wait for an endpoint, is kept in a file; the wakes' idempotency keys make
a crash between the two harmless.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta, Struct

from tessera.wake.client import Client
from tessera.wake.errors import InvalidRequest, WakeError
from tessera.wake.limits import BODY_BYTES_MAX

log = logging.getLogger("tessera.wake")
CLIENT_ID: Final = "tessera-bridge"
READY_EVENTS: Final = (
    "enqueued", "retry_scheduled", "dependencies_met", "parent_ready", "resumed", "park_expired", "released",
    "requeued",
)  # fmt: skip
PAGE: Final = 500
WAITING_MAX: Final = 1_000
TEXT: Final = "Task {task_id} on queue {queue}: {event}."


class Event(Protocol):
    """What the bridge reads of a line of the log."""

    seq: int
    type: str
    queue: str | None
    task_id: str | None


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Which events wake whom, and with which words."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")]
    wake: Annotated[str, Meta(min_length=1, max_length=200)]
    on: str | list[str] = "ready"
    queue: str | None = None
    kind: str | None = None
    text: Annotated[str, Meta(min_length=1, max_length=4_000)] = TEXT

    def types(self) -> frozenset[str]:
        """The event types; `ready` stands for every way in which a task becomes claimable."""
        named = [self.on] if isinstance(self.on, str) else self.on
        return frozenset(one for name in named for one in (READY_EVENTS if name == "ready" else (name,)))


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """The rules file: a list of `[[rule]]`."""

    rule: Annotated[list[Rule], Meta(min_length=1, max_length=100)]


class Waiting(Struct, frozen=True):
    """A wake that no endpoint takes yet."""

    key: str
    repo: str
    body: str
    correlation: str


class Place(Struct):
    """How far the log was read, and what still waits."""

    after: int | None = None
    waiting: list[Waiting] = []


def load_rules(path: Path) -> list[Rule]:
    """The rules of a TOML file. Refuses what does not fit, two rules of one name, and unknown
    placeholders in texts.
    """
    try:
        with path.open("rb") as file:
            rules = msgspec.convert(tomllib.load(file), Rules).rule
        for rule in rules:
            words(rule, "enqueued", "queue", "task", 1)
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, KeyError, ValueError, IndexError) as error:
        raise InvalidRequest(f"{path}: {error}") from error
    if len({rule.name for rule in rules}) != len(rules):
        raise InvalidRequest(f"{path}: two rules have one name")
    return rules


def words(rule: Rule, event: str, queue: str, task_id: str, seq: int) -> str:
    """The text of a wake."""
    text = rule.text.format_map({"event": event, "queue": queue, "task_id": task_id, "seq": seq})
    return text.encode()[:BODY_BYTES_MAX].decode(errors="ignore")


class Bridge:
    """One store, some rules. `read(after, limit)` gives the log's lines, `kind_of(task_id)` a task's kind."""

    def __init__(
        self, client: Client, rules: Sequence[Rule], read: Callable[[int, int], Sequence[Event]],
        kind_of: Callable[[str], str | None], folder: Path,
    ) -> None:  # fmt: skip
        self._client, self._rules, self._read, self._kind_of = client, rules, read, kind_of
        self._store = self._identity()
        self._path = folder / f"bridge-{self._store}.json"
        self._place = self._kept()

    def begin(self, *, at_start: bool) -> None:
        """Where to read from when this store was never followed before: from its first line, or from now."""
        if self._place.after is not None:
            return
        after = 0
        while not at_start and (lines := self._read(after, PAGE)):
            after = lines[-1].seq
        self._place.after = after
        self._keep()

    def step(self) -> int:
        """Read what is new and send what fits; how many lines were read. A wake that is refused for now
        waits.
        """
        waiting = [one for one in self._place.waiting if not self._sent(one)]
        lines = self._read(self._place.after or 0, PAGE)
        for line in lines:
            waiting += [one for one in self._wakes(line) if not self._sent(one)]
        if len(waiting) > WAITING_MAX:
            log.warning("%d wakes are given up: too many wait", len(waiting) - WAITING_MAX)
        before = (self._place.after, self._place.waiting)
        self._place = Place(lines[-1].seq if lines else self._place.after, waiting[-WAITING_MAX:])
        if (self._place.after, self._place.waiting) != before:
            self._keep()
        return len(lines)

    def _wakes(self, line: Event) -> list[Waiting]:
        fitting = [
            rule for rule in self._rules
            if line.type in rule.types() and rule.queue in (None, line.queue)
            and (rule.kind is None or (line.task_id is not None and self._kind_of(line.task_id) == rule.kind))
        ]  # fmt: skip
        return [
            Waiting(
                key=f"{self._store}:{line.seq}:{rule.name}", repo=rule.wake,
                correlation=f"{self._store}:{line.seq}",
                body=words(rule, line.type, line.queue or "", line.task_id or "", line.seq),
            ) for rule in fitting
        ]  # fmt: skip

    def _sent(self, one: Waiting) -> bool:
        """Whether this wake is done with: admitted, or refused for good."""
        try:
            self._client.call(
                "send", client_id=CLIENT_ID, idempotency_key=one.key, correlation_id=one.correlation,
                sender_repo="operator", target_repo=one.repo, body=one.body, provenance="bridge",
            )  # fmt: skip
        except WakeError as refusal:
            if refusal.retryable:
                return False
            log.warning("the wake %s is refused: %s: %s", one.key, refusal.code, refusal.detail)
        return True

    def _identity(self) -> str:
        """Names the store by its first line, which never changes."""
        lines = self._read(0, 1)
        if not lines:
            raise InvalidRequest("the store has no log yet: define a queue first")
        return hashlib.sha256(repr(lines[0]).encode()).hexdigest()[:16]

    def _kept(self) -> Place:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Place)
        except FileNotFoundError:
            return Place()

    def _keep(self) -> None:
        """Durably, in one go."""
        beside = self._path.with_suffix(".next")
        with open(beside, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(msgspec.json.encode(self._place))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
