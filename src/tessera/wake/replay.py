"""Sending captured wakes again: each line's own key makes a second replay find the first one's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tessera.wake.capture import replay_of
from tessera.wake.client import Client
from tessera.wake.errors import NoService, WakeError
from tessera.wake.protocol import parse


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one line."""

    line: int
    outcome: str  # sent, deduplicated, would_send, refused
    says: str


def replay(client: Client, lines: Iterable[bytes], *, dry_run: bool = False) -> Iterator[Replayed]:
    """Send each line, and say of each what came of it. A line that is refused keeps no other from being
    sent; a service that is gone ends it.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            fields = replay_of(parse(line.rstrip(b"\r\n")))
            if dry_run:
                yield Replayed(number, "would_send", str(fields["idempotency_key"]))
                continue
            answer = client.call("send", **fields)
        except NoService:
            raise
        except (KeyError, TypeError) as error:
            yield Replayed(number, "refused", f"no captured wake: {error}")
        except WakeError as refusal:
            yield Replayed(number, "refused", f"{refusal.code}: {refusal.detail}")
        else:
            outcome = "deduplicated" if answer["deduplicated"] else "sent"
            yield Replayed(number, outcome, str(answer["message_id"]))
