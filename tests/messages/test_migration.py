"""From identities to ids: what migration gives, what it records, and who an old row then means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from messages.ground import ALICE, Sent, canonical, load, sha, snapshot
from messages.noted import Death
from messages.test_agents import declare
from messages.test_crashes import mortal
from tessera import messages
from tessera.errors import IdempotencyConflict, InvalidState
from tessera.messages import AgentId, Mail, collisions
from tessera.messages.errors import AmbiguousAgent, LedgerDamaged, PendingStuck, Unattributed
from tessera.messages.wire import Since
from tessera.testing import World

FORM_A = ".st2/legacy-id-collisions.json"
FORM_B = ".st2/agent-id-migration.json"
OLD = "1700000000000-aaaaaa.md"


@pytest.fixture
def old(mail: Mail, catalog: Path) -> Mail:
    """A catalog with agents from before ids: `h.old`, and `h.twin`, once live and once retired."""
    declare(catalog, "h/old", host="h", identity="old")
    declare(catalog, "h/twin", host="h", identity="twin")
    declare(catalog, "h/twin~1", host="h", identity="twin", retired=True)
    return mail


def give(catalog: Path, name: str, document: object) -> None:
    path = catalog / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())


def form_a(*reassigned: str) -> dict[str, object]:
    entry = {"legacyBusIdentity": "h.twin", "keeper": "h.twin", "reassigned": [*reassigned]}
    return {"schema": "st2.catalog-legacy-id-collisions.v1", "entries": [entry]}


def form_b(reassigned: str) -> dict[str, object]:
    entry = {
        "legacyBusIdentity": "h.twin", "keptByAgentId": "h.twin", "keptByPlane": "live",
        "reassignedAgentId": reassigned, "reassignedHost": "h", "reassignedIdentity": "twin",
        "reassignedPlane": "archived",
    }  # fmt: skip
    return {"schema": "st2.agent-id-migration.v1", "migratedAtMs": 1, "reassigned": [entry]}


def old_row(sent: Sent, from_: str, to: str, key: str | None = None, body: str = "old\n") -> None:
    """A whole ledger of version 1 with one row."""
    lines = f"idempotency-key: {key}\n" if key else ""
    row = {
        "version": 1, "filename": OLD, "ts": 1_700_000_000_000, "from": from_, "to": to, "subject": None,
        "inReplyTo": None, "tags": [], "priority": None, "idempotencyKey": key, "body": body,
        "renderedMessage": f"---\nfrom: {from_}\n{lines}---\n{body}",
    }  # fmt: skip
    digest = sha(canonical(row))
    sent.put(f"messages/{OLD}.json", row)
    tip = sent.put_node({"version": 1, "ordinal": 1, "previous": None, "filename": OLD, "rowDigest": digest})
    sent.put("index.json", {"version": 1, "since": 1_600_000_000_000, "count": 1, "tip": tip})
    if key:
        receipt = {"version": 1, "to": to, "key": key, "filename": OLD, "recordDigest": digest}
        sent.put(f"keys/{sha(canonical([to, key]))}.json", receipt)


def test_who_gets_what(old: Mail, catalog: Path) -> None:
    """The bytes by which an agent was known become its id; where a live one keeps them, the retired one gets
    a new id, recorded. A second run changes nothing.
    """
    changed = {one.folder: one.agent.id for one in old.migrate_ids()}
    new = changed["twin~1"]

    assert (changed["old"], changed["twin"]) == ("h.old", "h.twin")
    assert new not in (None, "h.twin")
    assert load(catalog / FORM_A) == form_a(str(new))
    before = snapshot(catalog)
    assert old.migrate_ids() == []
    assert snapshot(catalog) == before


@pytest.mark.parametrize("point", ["message.collisions"])
def test_a_migration_that_died_goes_on_with_the_recorded_ids(
    old: Mail, catalog: Path, world: World, point: str
) -> None:
    """The collision is recorded before any agent changes, and the next run gives the id that was recorded."""
    with messages.open(catalog, runtime=mortal(world, point)) as one, pytest.raises(Death):
        one.migrate_ids()
    (recorded,) = load(catalog / FORM_A)["entries"][0]["reassigned"]
    with pytest.raises(AmbiguousAgent):
        old.find(AgentId("h.twin"))

    assert {one.agent.id for one in old.migrate_ids()} == {"h.old", "h.twin", recorded}


def test_nobody_guesses_who_keeps_an_id(old: Mail, catalog: Path) -> None:
    """Two live agents of one identity, or a live one whose bytes are another's id, stop it unwritten."""
    declare(catalog, "h/twin~2", host="h", identity="twin")
    before = snapshot(catalog)
    with pytest.raises(AmbiguousAgent, match=r"who keeps the id 'h\.twin'"):
        old.migrate_ids()
    assert snapshot(catalog) == before
    (catalog / "agents/h/twin~2/agent.json").write_text('{"host":"g","identity":"x","id":"h.old"}')
    with pytest.raises(AmbiguousAgent, match=r"who keeps the id 'h\.old'"):
        old.migrate_ids()
    (catalog / "agents/h/twin~2/agent.json").write_text("{")
    with pytest.raises(LedgerDamaged, match="not every agent can be read"):
        old.migrate_ids()


def test_nobody_sends_without_an_id(old: Mail) -> None:
    """Before the migration an old agent can be read, but neither sends nor gets anything."""
    assert old.sent("h.old").messages == []
    for sender, to in (("h.old", ALICE), (ALICE, "h.old")):
        with pytest.raises(InvalidState, match="run `tessera message migrate-ids`"):
            old.send(sender, to, "x")


def test_old_rows_stay_and_go_on(old: Mail, catalog: Path) -> None:
    """A ledger of version 1 is read, answered from under its keys, and goes on in version 2."""
    sent = Sent(catalog, "h.old")
    old_row(sent, "h.old", "h.uncontested", key="k")
    declare(catalog, "h/uncontested", host="h", identity="uncontested")
    old.migrate_ids()
    before = snapshot(sent.path)

    assert old.send("h.old", "h.uncontested", "old", idempotency_key="k") == OLD
    assert {name: content for name, content in snapshot(sent.path).items() if name != ".lock"} == before
    with pytest.raises(IdempotencyConflict):
        old.send("h.old", "h.uncontested", "new", idempotency_key="k")
    second = old.send("h.old", "h.uncontested", "new")
    answer = old.sent("h.old")
    assert [row.filename for row in answer.messages] == [OLD, second]
    assert [row.to for row in answer.messages] == ["h.uncontested"] * 2
    assert answer.messages[0].to_kind is messages.mail.UNSET
    assert [load(path)["version"] for path in sorted(sent.folder("messages").iterdir())] == [1, 2]
    assert [report.ok for report in old.verify("h.old")] == [True]


@pytest.mark.parametrize("form", ["a", "b", "both"])
def test_whom_a_contested_identity_means(old: Mail, catalog: Path, form: str) -> None:
    """In an old row it is the row's owner, if it stands for the owner; else it is an address of the past,
    shown as such, and nobody's id.
    """
    (new,) = [one.agent.id for one in old.migrate_ids() if one.folder == "twin~1"]
    if form in ("b", "both"):
        give(catalog, FORM_B, form_b(str(new)))
    if form == "b":
        (catalog / FORM_A).unlink()
    old_row(Sent(catalog, "h.old"), "h.old", "h.twin")
    old_row(Sent(catalog, "h.twin~1"), "h.twin", "h.old")

    (row,) = old.sent("h.old").messages
    assert (row.to, row.to_address) == ("h.twin (historical address)", "h.twin")
    assert old.sent("h.old", to="h.twin").messages == []
    assert [report.ok for report in old.verify(AgentId(str(new)))] == [True]
    assert [report.ok for report in old.verify("h.twin")] == [True]


def test_a_reply_to_a_contested_identity_is_refused(old: Mail, catalog: Path) -> None:
    """The keeper is not written to in the retired agent's stead; an uncontested old sender is."""
    old.migrate_ids()
    inbox = catalog / "agents/h/alice/resources/inbox"
    (inbox / OLD).write_text("---\nfrom: h.twin\n---\nx\n")
    (inbox / OLD.replace("aaaaaa", "bbbbbb")).write_text("---\nfrom: h.old\nsubject: S\n---\nx\n")
    (inbox / OLD.replace("aaaaaa", "cccccc")).write_text("nobody\n")

    with pytest.raises(Unattributed, match="historical address with no attributable subject"):
        old.reply(ALICE, OLD, "y")
    with pytest.raises(Unattributed, match="has no `from`"):
        old.reply(ALICE, OLD.replace("aaaaaa", "cccccc"), "y")
    old.reply(ALICE, OLD.replace("aaaaaa", "bbbbbb"), "y")
    assert [row.subject for row in old.ls("h.old")] == ["re: S"]


def test_a_key_of_a_contested_recipient_is_not_the_keepers(old: Mail, catalog: Path) -> None:
    """A retry to the keeper under the key of an old row that may have meant the other one is a conflict."""
    old_row(Sent(catalog, "h.old"), "h.old", "h.twin", key="k")
    old.migrate_ids()

    with pytest.raises(IdempotencyConflict):
        old.send("h.old", "h.twin", "old", idempotency_key="k")


def test_an_old_message_in_flight_to_a_contested_identity_is_stuck(old: Mail, catalog: Path) -> None:
    """Recovery does not deliver to the keeper what may have been meant for the other one."""
    sent = Sent(catalog, "h.old")
    old_row(sent, "h.old", "h.other")
    old.migrate_ids()
    record = {**sent.rows()[0], "filename": OLD.replace("aaaaaa", "bbbbbb"), "to": "h.twin"}
    sent.put_pending(record)

    with pytest.raises(PendingStuck, match="a legacy bus identity that a migration reassigned"):
        old.send("h.old", ALICE, "x")
    assert Sent(catalog, "h.twin").inbox() == []


def test_endpoints_that_are_no_agents(old: Mail, catalog: Path) -> None:
    """A principal's or external address is shown as it stands, contested or not, and gets no delivery."""
    give(catalog, FORM_A, form_a("id-1"))
    sent = Sent(catalog, ALICE)
    old.send(ALICE, "h.bob", "x")
    (row,) = sent.rows()
    record = {**row, "to": "h.twin", "toKind": "principal"}
    del record["toAddress"]
    sent.put(f"messages/{row['filename']}.json", record)
    tip = sent.put_node({**sent.chain()[0][1], "rowDigest": sha(canonical(record))})
    (sent.folder("commits") / f"{sent.head()['tip']}.json").unlink()
    sent.put_head(tip=tip)

    (shown,) = old.sent(ALICE).messages
    assert (shown.to, shown.to_kind, shown.to_address) == ("h.twin", "principal", messages.mail.UNSET)
    sent.put_pending({**record, "filename": OLD})
    with pytest.raises(PendingStuck, match="is a principal address"):
        old.send(ALICE, "h.bob", "y")


@pytest.mark.parametrize(
    ("name", "document"),
    [
        (FORM_A, {**form_a("x"), "schema": "v9"}),
        (FORM_A, {**form_a("x"), "more": 1}),
        (FORM_A, form_a("a b")),
        (FORM_A, b"{"),
        (FORM_A, b""),
        (FORM_B, {**form_b("x"), "schema": "st2.catalog-legacy-id-collisions.v1"}),
        (FORM_B, {**form_b("x"), "migratedAtMs": "1"}),
        (FORM_B, form_b("")),
        (FORM_B, b'{"schema":"st2.agent-id-migration.v1","schema":"st2.agent-id-migration.v1"}'),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_read_is_never_empty(
    old: Mail, catalog: Path, name: str, document: object
) -> None:
    """Corrupt, unknown or contradictory collision metadata refuses reading and sending."""
    give(catalog, name, document)

    for act in (lambda: old.sent(ALICE), lambda: old.send(ALICE, "h.bob", "x"), old.migrate_ids):
        with pytest.raises(LedgerDamaged, match=r"collision metadata|reading .*json"):
            act()


def test_a_link_to_metadata_is_refused(old: Mail, catalog: Path, tmp_path: Path) -> None:
    """A link in the metadata's place is not followed."""
    give(tmp_path, "elsewhere/x.json", form_a("id-1"))
    (catalog / ".st2").mkdir()
    (catalog / FORM_A).symlink_to(tmp_path / "elsewhere/x.json")

    with pytest.raises(LedgerDamaged, match="Too many levels"):
        old.sent(ALICE)


def test_no_collision_is_no_metadata(mail: Mail, catalog: Path) -> None:
    """Without a collision, migration writes no metadata; without metadata nothing is contested."""
    declare(catalog, "h/old", host="h", identity="old")
    mail.migrate_ids()

    assert not (catalog / ".st2").exists()
    assert collisions.read(mail.catalog.root) == {}
    assert isinstance(mail.sent(ALICE).coverage, Since) is False
