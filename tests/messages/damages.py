"""How a ledger can be damaged, and the words of the refusal that this must give.

Every document here is written in the format's own order of keys and under its own true digest, unless the
digest is what is wrong: a refusal for another reason would prove nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from messages.ground import Sent, canonical, load, sha

Damage = Callable[[Sent], object]
OTHER = "1800000009999-zzzzzz.md"


def row(sent: Sent, place: int = 1) -> Path:
    return sent.folder("messages") / sent.names("messages")[place]


def node(sent: Sent, place: int = 1) -> Path:
    """The file of a node: 0 is the newest."""
    return sent.folder("commits") / f"{sent.chain()[place][0]}.json"


def relinked(sent: Sent, place: int, **changes: object) -> None:
    """Change one node, and write it and all newer ones anew under their true digests, up to the head."""
    chain = sent.chain()
    for name, _ in chain[: place + 1]:
        (sent.folder("commits") / f"{name}.json").unlink()
    tip = sent.put_node({**chain[place][1], **changes})
    for _, newer in reversed(chain[:place]):
        tip = sent.put_node({**newer, "previous": tip})
    sent.put_head(tip=tip)


def same_row(sent: Sent) -> dict[str, object]:
    """What the newest node says of its row."""
    return {key: sent.chain()[0][1][key] for key in ("filename", "rowDigest")}


def instead(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in a file's place."""
    path.unlink()
    make(path)


def edited(path: Path, **changes: object) -> None:
    path.write_bytes(canonical({**load(path), **changes}))


def receipt(sent: Sent) -> Path:
    return sent.folder("keys") / sent.names("keys")[0]


def foreign_receipt(sent: Sent, **changes: object) -> None:
    """A receipt of another key, whole and under its true name."""
    value = {**load(receipt(sent)), "key": "other", **changes}
    sent.put(f"keys/{sha(canonical([value['to'], value['key']]))}.json", value)


def repeated_key(sent: Sent) -> None:
    """A row more under a key that another row has already, tied in by a whole node."""
    record = {**load(row(sent, 1)), "filename": OTHER, "ts": 1800000009999}
    sent.put(f"messages/{OTHER}.json", record)
    head = sent.head()
    node = {"version": 1, "ordinal": head["count"] + 1, "previous": head["tip"], "filename": OTHER,
            "rowDigest": sha(canonical(record))}  # fmt: skip
    sent.put_head(count=head["count"] + 1, tip=sent.put_node(node))


def pend(sent: Sent, place: int, active: bool = False, **changes: object) -> None:
    """A pending record made of a row, under its true digest, with its pointer or without."""
    record = {**load(row(sent, place)), **changes}
    sent.put_pending(record)
    if active:
        sent.put_active(record)


def in_flight(sent: Sent, *, upto: str) -> dict[str, object]:
    """A fourth message, as a sender would leave it after a step; its node."""
    record = {**load(row(sent, 2)), "filename": OTHER, "ts": 1800000009999, "body": "four\n"}
    sent.put_pending(record)
    sent.put_active(record)
    if upto in ("row", "node"):
        sent.put(f"messages/{OTHER}.json", record)
    head = sent.head()
    following = {"version": 1, "ordinal": head["count"] + 1, "previous": head["tip"], "filename": OTHER,
                 "rowDigest": sha(canonical(record))}  # fmt: skip
    if upto == "node":
        sent.put_node(following)
    return following


HEADS: dict[str, tuple[Damage, str]] = {
    "missing": (lambda s: s.index.unlink(), "sender state exists without a sent head"),
    "rolled back": (lambda s: s.put_head(count=2, tip=s.chain()[1][0]), "unexplained sent record"),
    "of another version": (lambda s: s.put_head(version=2), "unsupported sent head version 2"),
    "without tip": (lambda s: s.put_head(tip=None), "sent head count/tip mismatch"),
    "without count": (lambda s: s.put_head(count=0), "sent head count/tip mismatch"),
    "with a path for a tip": (lambda s: s.put_head(tip="../../x"), "invalid sent head tip"),
    "with an upper-case tip": (lambda s: s.put_head(tip=s.head()["tip"].upper()), "invalid sent head tip"),
    "to a lost node": (lambda s: s.put_head(tip="0" * 64), "missing sent commit node 000"),
    "with one too many": (lambda s: s.put_head(count=4), "sent commit ordinal mismatch"),
    "with one too few": (lambda s: s.put_head(count=2), "sent commit ordinal mismatch"),
    "corrupt": (lambda s: s.index.write_bytes(b"{"), "reading sent head"),
    "empty": (lambda s: s.index.write_bytes(b""), "reading sent head"),
    "a directory": (lambda s: instead(s.index, Path.mkdir), "index.json is no regular file"),
    "a pipe": (lambda s: instead(s.index, os.mkfifo), "index.json is no regular file"),
    "a link": (lambda s: instead(s.index, lambda p: p.symlink_to("x")), "unreadable: index.json Too many"),
}
ROWS: dict[str, tuple[Damage, str]] = {
    "missing": (lambda s: row(s).unlink(), "missing committed sent record 1800000001000"),
    "the newest missing": (lambda s: row(s, 2).unlink(), "missing committed sent record 1800000002000"),
    "the first missing": (lambda s: row(s, 0).unlink(), "missing committed sent record 1800000000000"),
    "extra": (lambda s: s.put(f"messages/{OTHER}.json", {**load(row(s)), "filename": OTHER}),
              f"unexplained sent record {OTHER}"),
    "substituted": (lambda s: edited(row(s), body="another\n"), "sent row digest mismatch: 1800000001000"),
    "swapped": (lambda s: row(s, 0).write_bytes(row(s, 1).read_bytes()), "does not match its payload"),
    "corrupt": (lambda s: row(s).write_bytes(row(s).read_bytes()[:-2]), "reading sent record"),
    "of another version": (lambda s: edited(row(s), version=3), "unsupported sent record version 3"),
    "with an unknown field": (lambda s: edited(row(s), more=1), "unknown field `more`"),
    "not named .json": (lambda s: s.put("messages/x", b""), "unexpected sent record entry 'x'"),
    "named in no UTF-8": (lambda s: (s.folder("messages") / "\udcff").write_bytes(b""), "is not UTF-8"),
    "a directory": (lambda s: instead(row(s), Path.mkdir), "is no regular file"),
    "a link": (lambda s: instead(row(s), lambda p: p.symlink_to(row(s, 0))), "Too many levels"),
    "a folder that is none": (lambda s: (shutil.rmtree(s.folder("messages")),
                                         s.folder("messages").write_bytes(b"")), "Not a directory"),
    "all gone": (lambda s: shutil.rmtree(s.folder("messages")), "missing committed sent record"),
}  # fmt: skip
NODES: dict[str, tuple[Damage, str]] = {
    "missing": (lambda s: node(s).unlink(), "missing sent commit node"),
    "the newest missing": (lambda s: node(s, 0).unlink(), "missing sent commit node"),
    "extra": (lambda s: s.put_node({**s.chain()[0][1], "ordinal": 9}), "unexplained sent commit node"),
    "under another name": (lambda s: edited(node(s), ordinal=7), "sent commit filename mismatch"),
    "with a wrong ordinal": (lambda s: relinked(s, 1, ordinal=7), "ordinal mismatch: .* says 7, not 2"),
    "with a lost predecessor": (lambda s: relinked(s, 1, previous="0" * 64), "missing sent commit node 000"),
    "that ends too early": (lambda s: relinked(s, 1, previous=None), "count/genesis mismatch: 1 nodes"),
    "that goes on too far": (lambda s: relinked(s, 2, previous="0" * 64), "count/genesis mismatch: 000"),
    "for one row twice": (lambda s: relinked(s, 1, **same_row(s)), "references one row more than once"),
    "for a lost row": (lambda s: relinked(s, 1, filename=OTHER), f"missing committed sent record {OTHER}"),
    "for another row": (lambda s: relinked(s, 1, rowDigest="0" * 64), "sent row digest mismatch"),
    "of another version": (lambda s: relinked(s, 1, version=2), "unsupported sent commit version 2"),
    "with a path for a row": (lambda s: relinked(s, 1, filename="../x"), "invalid sent commit filename"),
    "corrupt": (lambda s: node(s).write_bytes(b"[]"), "reading sent commit"),
    "not named .json": (lambda s: s.put("commits/x", b""), "unexpected sent commit entry 'x'"),
}  # fmt: skip
KEYS: dict[str, tuple[Damage, str]] = {
    "missing": (lambda s: receipt(s).unlink(), "is missing its idempotency receipt"),
    "for two rows": (repeated_key, f"is missing its idempotency receipt: {OTHER}"),
    "extra": (foreign_receipt, "unexplained sent idempotency receipt"),
    "for another row": (lambda s: edited(receipt(s), recordDigest="0" * 64), "differs from committed row"),
    "for another file": (lambda s: edited(receipt(s), filename=OTHER), "differs from committed row"),
    "under another name": (lambda s: edited(receipt(s), key="other"), "sent key filename mismatch"),
    "of another version": (lambda s: edited(receipt(s), version=2), "unsupported sent key version 2"),
    "corrupt": (lambda s: receipt(s).write_bytes(b"\xff"), "reading sent idempotency receipt"),
    "not named .json": (lambda s: s.put("keys/x", b""), "unexpected sent key entry 'x'"),
}
INTENTS: dict[str, tuple[Damage, str]] = {
    "two": (lambda s: (pend(s, 2), pend(s, 2, body="b")), "multiple pending sent intents"),
    "not named .json": (lambda s: s.put("pending/x", b""), "unexpected pending sent record entry 'x'"),
    "not named by a digest": (lambda s: s.put("pending/x.json", b""), "invalid pending sent record digest"),
    "under another digest": (lambda s: s.put(f"pending/{'0' * 64}.json", load(row(s))), "digest mismatch"),
    "without filename": (lambda s: pend(s, 2, filename="x.md"), "invalid sent record filename"),
    "for an older row": (lambda s: pend(s, 1), "is missing its active marker: 1800000001000"),
    "for the newest row, but another": (lambda s: pend(s, 2, body="b"), "differs from head tip"),
    "with the pointer to another": (lambda s: (pend(s, 2, True), edited(s.active, recordDigest="0" * 64)),
                                    "active sent intent differs from pending record"),
    "a pointer alone, to nothing": (lambda s: s.put_active({**load(row(s)), "filename": OTHER}),
                                    f"active sent intent {OTHER} is not committed"),
    "a pointer alone, to an older row": (lambda s: s.put_active(load(row(s, 1))), "before the newest row"),
    "a pointer alone, to another row": (lambda s: s.put_active({**load(row(s, 2)), "body": "b"}),
                                        "differs from committed row"),
    "both, for an older row": (lambda s: pend(s, 1, True), "before the newest row"),
    "a corrupt pointer": (lambda s: s.active.write_bytes(b"{}"), "reading active sent intent"),
    "a pointer of another version": (lambda s: (s.put_active(load(row(s, 2))), edited(s.active, version=2)),
                                     "unsupported active sent version 2"),
}  # fmt: skip
