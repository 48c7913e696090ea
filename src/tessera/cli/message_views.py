"""Mail as text: one line a message, the words that the format's other tools print too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tessera.messages import agents, threads, verify, wire
from tessera.messages.abandon import Lost
from tessera.messages.errors import IncompleteCoverage

NO_SUBJECT = "(no subject)"


def certain_count(answer: wire.SentMessages) -> int:
    """How many there are. Raises `IncompleteCoverage` where the ledger cannot vouch for the number."""
    if isinstance(answer.coverage, wire.Unavailable):
        raise IncompleteCoverage("sent-message coverage is unavailable")
    if isinstance(answer.coverage, wire.Partial):
        raise IncompleteCoverage(f"sent-message coverage is partial ({answer.coverage.pending} pending)")
    return len(answer.messages)


def coverage(of: wire.Coverage | None) -> str:
    """How far a ledger goes."""
    if isinstance(of, wire.Since):
        return f"since {of.since}"
    if isinstance(of, wire.Partial):
        return f"partial since {of.since}; {of.pending} pending"
    return "unavailable"


def sent(agent: str, answer: wire.SentMessages) -> str:
    """What an agent has sent."""
    head = f"# {len(answer.messages)} sent message(s) for {agent} ({coverage(answer.coverage)})"
    lines = [f"{row.filename}  to {_line(_recipient(row))}  {_subject(row.subject)}"
             for row in answer.messages]  # fmt: skip
    return "\n".join([head, *lines])


def _recipient(row: wire.SentMessageRow) -> str:
    """The address that the recipient had, where the record has one; else what the ledger knows it by."""
    if isinstance(row.to_kind, str) and isinstance(row.to_address, str):
        return row.to_address
    return row.to  # of the first version of records, or a mailbox's own name


def listing(agent: str, box: str, rows: Sequence[wire.MessageRow]) -> str:
    """What is in a box."""
    lines = [f"{row.filename}  from {_line(row.from_ or '<unknown>')}  {_subject(row.subject)}"
             for row in rows]  # fmt: skip
    return "\n".join([f"# {len(rows)} message(s) in {agent} {box}", *lines])


def message(row: wire.MessageRow) -> str:
    """One message, without the newline that ends it."""
    facts = {
        "from": row.from_,
        "subject": row.subject,
        "in-reply-to": row.in_reply_to,
        "tags": ", ".join(row.tags) or None,
    }
    head = [f"{name + ':':<13}{_line(fact)}" for name, fact in facts.items() if fact is not None]
    body = row.body if isinstance(row.body, str) else ""
    return "\n".join([*head, "", body.removesuffix("\n")])


def thread(posts: Sequence[threads.Post], *, indent: bool) -> str:
    """A conversation."""
    return "\n".join(
        f"{'  ' * post.depth if indent else ''}{post.filename}  from {_line(post.from_ or '<unknown>')}  "
        f"{_subject(post.subject)}"
        for post in posts
    )


def thread_rows(posts: Sequence[threads.Post]) -> list[dict[str, Any]]:
    """The same as JSON."""
    return [
        {"filename": post.filename, "from": post.from_, "subject": post.subject,
         "inReplyTo": post.in_reply_to, "depth": post.depth}
        for post in posts
    ]  # fmt: skip


def lost(of: Lost) -> str:
    """What giving up a message means."""
    copy = {True: "its recipient has it", False: "its recipient does not have it", None: "nobody can say"}
    return (
        f"message {of.filename} to {of.to}: {_subject(of.subject)}, {len(of.body.encode()):,} bytes; "
        f"delivered: {copy[of.delivered]}"
    )


def report(found: verify.Report) -> str:
    """What verification found: a line for each agent, and the sum."""
    lines = [
        f"{'ok ' if one.ok else 'BAD'}  {one.address or one.id}  "
        + (f"{one.messages} message(s), {coverage(one.coverage)}" if one.ok else _line(one.error or ""))
        for one in found.agents
    ]
    lines += [f"BAD  {_line(fault)}" for fault in found.faults]
    bad = len(found.faults) + sum(not one.ok for one in found.agents)
    return "\n".join([*lines, f"# {len(found.agents)} agent(s), {bad} not whole"])


def agent_line(agent: agents.Agent) -> str:
    """One agent."""
    named = f"  {_line(agent.name)}" if agent.name else ""
    return f"{agent.known_id}  {agent.bus_address or '(retired)'}{named}"


def agent_facts(one: agents.Subject) -> str:
    """All that is known of one agent."""
    agent = one.agent
    facts = {
        "id": agent.id or "(none yet: run tessera message migrate-ids)",
        "address": agent.bus_address or "(retired)",
        "name": agent.name,
        "identity": agent.legacy_identity,
        "folder": one.place,
    }
    return "\n".join(f"{name + ':':<10}{_line(fact)}" for name, fact in facts.items() if fact)


def _subject(subject: str | None) -> str:
    return NO_SUBJECT if subject is None else _line(subject)


def _line(text: str) -> str:
    """Nothing of a foreign text may look like a line of ours."""
    return text.replace("\n", "\\n")
