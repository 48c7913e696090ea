"""Who there is: declarations, addresses that move, ids that stay, names that nobody guesses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from messages.ground import ALICE, BOB, CAROL, Sent, snapshot
from tessera import messages
from tessera.errors import InvalidRequest, InvalidState, NotFound
from tessera.messages import AgentId, Mail
from tessera.messages.errors import AmbiguousAgent, LedgerDamaged
from tessera.runtime import real_runtime


def declare(catalog: Path, place: str, **declaration: object) -> None:
    """Write an `agent.json` by hand."""
    home = catalog / "agents" / place
    (home / "resources" / "inbox").mkdir(parents=True)
    (home / "resources" / "archive").mkdir()
    (home / "agent.json").write_text(json.dumps(declaration))


def test_what_a_new_agent_gets(catalog: Path) -> None:
    """A declaration with a lower-case UUIDv7, and empty boxes, in a catalog for its owner alone."""
    with messages.open(catalog, runtime=real_runtime()) as mail:
        agent = mail.add_agent("dev3.ci.builder", name="The builder").agent
    home = catalog / "agents" / "dev3" / "ci.builder"

    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", agent.id or ""
    )
    assert json.loads((home / "agent.json").read_text()) == {
        "id": agent.id, "host": "dev3", "identity": "ci.builder", "address": "ci.builder",
        "name": "The builder", "retired": False,
    }  # fmt: skip
    assert sorted(path.name for path in (home / "resources").iterdir()) == ["archive", "inbox"]
    assert catalog.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "address",
    ["h", "h.", ".a", "h..a", "H.a", "h.a/b", "h.-a", "h.a-", "../x.y", "h.a\n", "h." + "a" * 64],
)
def test_addresses_that_are_none(mail: Mail, address: str) -> None:
    """What is no HOST.ADDRESS is refused, and becomes no path."""
    with pytest.raises(InvalidRequest):
        mail.add_agent(address)


@pytest.mark.parametrize("id", ["", "a b", "a/b", "a\\b", ".a", "a.", "a..b", "é", "x" * 256, "a\n"])
def test_ids_that_are_none(mail: Mail, id: str) -> None:
    """An id is 1 to 255 printable ASCII characters that could not become a path."""
    if id:
        with pytest.raises(InvalidRequest):
            mail.add_agent("h.new", id=id)
    with pytest.raises(NotFound):
        mail.find(AgentId(id))


def test_what_is_in_use(mail: Mail) -> None:
    """An address in use, an id in use, another host, and the move of a retired agent are refused."""
    alice = mail.find(ALICE).agent.known_id
    with pytest.raises(InvalidState, match=f"the address h.alice is {alice}'s"):
        mail.add_agent(ALICE)
    with pytest.raises(InvalidState, match="is in use"):
        mail.add_agent("h.new", id=alice)
    with pytest.raises(InvalidState, match=r"h\.bob is"):
        mail.move_agent(ALICE, BOB)
    with pytest.raises(InvalidRequest, match="lives on host 'h'"):
        mail.move_agent(ALICE, "g.alice")
    mail.retire_agent(CAROL)
    with pytest.raises(InvalidState, match="is retired"):
        mail.move_agent(CAROL, "h.back")


def test_a_move_and_a_retirement_keep_id_and_mail(mail: Mail, alice: Sent) -> None:
    """The id, the folder, the mail and the history stay; the address is free at once."""
    before = mail.find(ALICE)
    mail.send(ALICE, BOB, "hello")
    mail.move_agent(ALICE, "h.alpha")
    moved = mail.find("h.alpha")
    with pytest.raises(NotFound):
        mail.find(ALICE)
    mail.retire_agent("h.alpha")
    successor = mail.add_agent("h.alpha")

    assert (moved.agent.id, moved.place) == (before.agent.id, before.place)
    assert mail.find("h.alpha") == successor
    assert mail.find(AgentId(before.agent.known_id)).agent.bus_address is None
    assert len(mail.sent(AgentId(before.agent.known_id)).messages) == 1
    assert mail.sent("h.alpha").messages == []
    assert mail.retire_agent(AgentId(before.agent.known_id)).agent.retired


def test_a_retired_agent_answers_only_if_nobody_else_does(mail: Mail) -> None:
    """Its last address still finds it, until somebody lives there."""
    retired = mail.retire_agent(CAROL)
    assert mail.find(CAROL) == retired
    successor = mail.add_agent(CAROL)

    assert mail.find(CAROL) == successor
    assert successor.place != retired.place


def test_a_name_that_could_mean_two_is_refused_with_both(mail: Mail) -> None:
    """The same address on two hosts, or two ways to split one text: both candidates are named."""
    other = mail.add_agent("g.alice")
    with pytest.raises(AmbiguousAgent) as refusal:
        mail.find("alice")
    assert mail.find(ALICE).agent.known_id in refusal.value.detail
    assert other.agent.known_id in refusal.value.detail

    declare(Path(mail.catalog.path), "x.y/z", id="split-1", host="x.y", identity="z")
    declare(Path(mail.catalog.path), "x/y.z", id="split-2", host="x", identity="y.z")
    with pytest.raises(AmbiguousAgent, match=r"could mean 2 agents: split-2 .*, split-1 "):
        mail.find("x.y.z")
    assert mail.find("bob") == mail.find(BOB)


def test_an_id_is_no_address_and_no_name_routes(mail: Mail) -> None:
    """An id in an address's place finds nobody, an address in an id's place neither, a name never."""
    mail.add_agent("h.new", name="zoe")
    for wanted in (mail.find(ALICE).agent.known_id, "zoe", AgentId(ALICE), "h.alice ", "H.ALICE", "h..alice"):
        with pytest.raises(NotFound):
            mail.find(wanted)


@pytest.mark.parametrize(
    "declaration",
    ["{", "[]", '{"host":"h"}', '{"host":"h","identity":"x","id":1}', '{"host":"h","identity":"../x"}',
     '{"host":"h","identity":"x","more":1}', '{"host":"h","host":"h","identity":"x"}',
     '{"host":"h","identity":"x","retired":1}', '{"host":"h","identity":"x","name":"a\\nb"}',
     '{"host":"H","identity":"x"}', '{"host":"h","identity":"x","id":"a b"}',
     '{"host":"h","identity":"x","address":"X"}'],
)  # fmt: skip
def test_a_declaration_that_is_none(mail: Mail, catalog: Path, declaration: str) -> None:
    """It is named wherever somebody is not found, and leaves all others as they are."""
    declare(catalog, "h/broken")
    (catalog / "agents" / "h" / "broken" / "agent.json").write_text(declaration)

    assert len(mail.agents().faults) == 1
    assert mail.find(ALICE)
    with pytest.raises(NotFound, match=r"1 declaration\(s\) cannot be read, the first: reading .*h/broken"):
        mail.find("h.broken")


def test_links_lead_nowhere(mail: Mail, catalog: Path, tmp_path: Path) -> None:
    """A link in the place of a host's or an agent's folder, or of a box, is not followed."""
    outside = tmp_path / "outside"
    declare(tmp_path, "../outside", id="evil", host="h", identity="evil")
    (catalog / "agents" / "h" / "evil").symlink_to(outside)
    (catalog / "agents" / "g").symlink_to(catalog / "agents" / "h")
    box = catalog / "agents" / "h" / "bob" / "resources" / "inbox"
    box.rmdir()
    box.symlink_to(outside)
    before = snapshot(outside)

    assert [one.agent.identity for one in mail.agents().subjects] == ["alice", "bob", "carol"]
    with pytest.raises(messages.mail.LedgerDamaged):
        mail.ls(BOB)
    with pytest.raises(Exception, match="may not be sent yet"):
        mail.send(ALICE, BOB, "x")
    assert snapshot(outside) == before


def test_no_catalog_is_no_agents(tmp_path: Path) -> None:
    """A catalog that is not there is not made by asking, and a file in its place is refused."""
    with messages.open(tmp_path / "none") as mail, pytest.raises(NotFound, match="no catalog at"):
        mail.find(ALICE)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LedgerDamaged, match="cannot be opened: Not a directory"):
        messages.open(tmp_path / "file")


def test_adding_again_after_a_death(mail: Mail, catalog: Path) -> None:
    """What an interrupted `add` left, folders without a declaration, is used by the next one."""
    (catalog / "agents" / "h" / "new" / "resources" / "inbox").mkdir(parents=True)

    assert mail.add_agent("h.new").place == "agents/h/new"
    assert mail.send(ALICE, "h.new", "x")
