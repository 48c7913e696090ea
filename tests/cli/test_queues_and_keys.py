"""`queues`, `keys`, `approvals`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera import TesseraError


def test_define_gives_every_setting(cli) -> None:
    """Each setting of a queue has an option, and what is given comes back."""
    asked = dict(
        heartbeat_seconds=5, miss_limit=2, lease_seconds=50, max_attempts=4, backoff_base_seconds=6,
        backoff_cap_seconds=7, weight=8,
    )  # fmt: skip
    options = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]

    assert cli.json("queues", "define", "builds", *options, "--paused") == {
        "name": "builds",
        **asked,
        "paused": True,
    }


def test_define_again_changes_only_what_is_given(cli) -> None:
    """A second definition keeps the settings it does not name."""
    cli("queues", "define", "builds", "--weight", "8", "--paused")

    config = cli.json("queues", "define", "builds", "--no-paused")

    assert (config["weight"], config["paused"]) == (8, False)


def test_pause_and_resume(cli) -> None:
    """A paused queue says so in JSON and in words, until it is resumed."""
    assert cli.json("queues", "pause", "q")["paused"] is True
    assert "paused" in cli("queues", "list").stdout
    assert cli.json("queues", "resume", "q")["paused"] is False
    assert "paused" not in cli("queues", "list").stdout


def test_list_of_queues(cli) -> None:
    """The list is the wire's model."""
    assert [queue["name"] for queue in cli.json("queues", "list")["queues"]] == ["q"]


def test_no_queues_is_said(cli, tmp_path) -> None:
    """An empty store answers with a sentence that says what to do, not with an empty table."""
    new = ("--store", str(tmp_path / "new.db"))
    cli("records", "put", "s", "k", "1", *new)
    assert "tessera queues define NAME" in cli("queues", "list", *new).stdout


def test_a_store_that_is_not_there(cli, tmp_path) -> None:
    """Only what may be the first thing ever done with a store makes one; every other command says that there
    is none, so that a mistyped name does not look like an empty store.
    """
    path = tmp_path / "mistyped.db"
    for words in (
        ("counts",), ("queues", "list"), ("tasks", "list"), ("events",), ("claim", "q", "--worker", "w"),
        ("enqueue", "q", "k", "{}"), ("records", "list", "s"), ("feeds", "poll", "f"), ("keys", "list"),
        ("work", "q", "--worker", "w", "--", "true"), ("objects", "list", "nouns"), ("jobs", "list"),
    ):  # fmt: skip
        place = words.index("--") if "--" in words else len(words)
        refused = cli(*words[:place], "--store", str(path), *words[place:], code=1)
        assert f"not_found: there is no store at {path}" in refused.stderr
        assert not path.exists()
    cli("queues", "define", "q", "--store", str(path))
    assert cli.json("queues", "list", "--store", str(path))["queues"][0]["name"] == "q"


def test_a_service_without_its_scheme(cli) -> None:
    """A host and a port are not taken for a file's name."""
    refused = cli("counts", "--store", "localhost:8787", code=1)
    assert "localhost:8787 looks like a service: say http://localhost:8787" in refused.stderr
    assert not Path("localhost:8787").exists()


def test_a_folder_that_is_not_there(cli, tmp_path) -> None:
    """A store in a folder that does not exist names the folder."""
    refused = cli("queues", "define", "q", "--store", str(tmp_path / "no" / "store.db"), code=1)
    assert f"there is no folder {tmp_path / 'no'} for the store" in refused.stderr


def test_a_field_that_does_not_fit(cli) -> None:
    """A refusal names the field first, then what was expected, in words."""
    refused = cli("queues", "define", "A B", code=1)
    assert refused.stderr.startswith("error: invalid_request: name: expected a name: a small letter or digit")
    refused = cli("keys", "issue", "--days", "99", code=1)
    assert "days: at most 14" in refused.stderr


def test_a_refusal_shows_its_code(cli) -> None:
    """What the store refuses ends with exit code 1 and the error's code on stderr, nothing on stdout."""
    refused = cli("queues", "pause", "absent", code=1)

    assert refused.stderr.startswith("error: not_found: ")
    assert refused.stdout == ""


def test_issue_prints_what_http_answers_and_the_grant_beside_it(cli, store) -> None:
    """`keys issue --json` prints the key and its grant, and the grant's fields that scripts look for again
    beside the key; left out, a key covers all and may read.
    """
    issued = cli.json("keys", "issue", "--name", "swarm")

    assert list(issued) == [
        "key", "grant", "key_id", "name", "queues", "kinds", "effect_classes", "scopes", "expires_at",
    ]  # fmt: skip
    assert issued["grant"] == cli.json("keys", "list")["keys"][0]
    assert issued["grant"].items() >= {name: issued[name] for name in list(issued)[2:]}.items()
    assert (issued["name"], issued["queues"], issued["kinds"]) == ("swarm", ["*"], ["*"])
    assert (issued["effect_classes"], issued["scopes"]) == (["read"], [])
    assert store.as_key(issued["key"]).queues()


def test_issue_narrows_a_key(cli) -> None:
    """Every part of a grant has an option that may be repeated."""
    issued = cli.json(
        "keys", "issue", "--queue", "q", "--queue", "r", "--kind", "k", "--effect", "read",
        "--effect", "write-internal", "--scope", "admin", "--scope", "store", "--days", "1",
    )  # fmt: skip

    assert (issued["queues"], issued["kinds"]) == (["q", "r"], ["k"])
    assert issued["effect_classes"] == ["read", "write-internal"]
    assert issued["scopes"] == ["admin", "store"]


def test_issue_warns_that_a_secret_is_shown_once(cli) -> None:
    """The secret stands alone on the first line of stdout; the warning to keep it is on stderr."""
    issued = cli("keys", "issue")

    assert " " not in issued.stdout.splitlines()[0]
    assert "never shown again" in issued.stderr
    assert issued.stdout.splitlines()[0] not in cli("keys", "list").stdout


def test_issue_warns_of_a_queue_that_is_not_there(cli, store) -> None:
    """A key for a queue that does not exist is issued with a warning; kinds and known queues bring none."""
    issued = cli("keys", "issue", "--queue", "q", "--queue", "absent", "--kind", "any")

    assert [line for line in issued.stderr.splitlines() if line.startswith("warning: ")] == [
        "warning: there is no queue 'absent' yet; the key is issued all the same"
    ]
    assert store.keys()[-1].queues == ["absent", "q"]
    assert "warning" not in cli("keys", "issue").stderr


def test_revoked_key_counts_no_more(cli, store) -> None:
    """A revoked key is refused at once and listed as revoked."""
    issued = cli.json("keys", "issue")

    assert cli.json("keys", "revoke", issued["key_id"])["revoked_at"] is not None
    assert "revoked" in cli("keys", "list").stdout
    assert [key["key_id"] for key in cli.json("keys", "list")["keys"]] == [issued["key_id"]]
    with pytest.raises(TesseraError) as refused:
        store.as_key(issued["key"]).queues()
    assert refused.value.code == "unauthorized"


def test_revoke_shows_the_key(cli) -> None:
    """Without `--json` a revoked key is shown as a table."""
    assert "revoked" in cli("keys", "revoke", cli.json("keys", "issue")["key_id"]).stdout


def test_no_keys_is_said(cli) -> None:
    """A store without keys says so."""
    assert "Make a key" in cli("keys", "list").stdout


def test_public_needs_an_approval(cli) -> None:
    """A `public` key is refused without an approval and made with one."""
    grant = ("--queue", "q", "--effect", "public")
    cli("keys", "issue", *grant, code=1)
    approval = cli.json("approvals", "issue", *grant)

    issued = cli.json("keys", "issue", *grant, "--approval", approval["approval"])

    assert issued["effect_classes"] == ["public"]
    assert sorted(approval) == ["approval", "expires_at"]


def test_approval_says_how_long_it_is_good(cli) -> None:
    """Without `--json` the approval stands alone on the first line, and its end below it."""
    word, end = cli("approvals", "issue", "--effect", "public").stdout.splitlines()

    assert " " not in word
    assert end.startswith("Good for one key until ")


def test_unknown_effect_is_wrong_usage(cli) -> None:
    """An effect class that does not exist is wrong usage."""
    cli("keys", "issue", "--effect", "everything", code=2)
