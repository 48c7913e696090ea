"""`claim`, `heartbeat`, `submit`, `split`, `park`, `resume`, `release`."""

from __future__ import annotations

import pytest


@pytest.fixture
def leased(store, enqueue) -> str:
    """A task of `q` that is leased under token 1."""
    task_id = enqueue()
    assert store.claim("q", "w1") is not None
    return task_id


def test_claim_gives_the_wire_s_lease(cli, enqueue) -> None:
    """A claim under `--json` is the lease itself."""
    task_id = enqueue(brief={"n": 1})

    lease = cli.json("claim", "q", "--worker", "w1")

    assert (lease["task_id"], lease["fencing_token"], lease["worker"]) == (task_id, 1, "w1")
    assert (lease["brief"], lease["children"], lease["inputs"]) == ({"n": 1}, [], [])


def test_claim_for_people_says_what_to_do_next(cli, enqueue) -> None:
    """A lease shows its brief and the commands that end it."""
    task_id = enqueue(brief={"aim": "bread"})

    text = cli("claim", "q", "--worker", "w1").stdout

    assert '"aim": "bread"' in text
    assert f"tessera submit {task_id} 1 OUTPUT" in text


def test_an_empty_claim_is_no_failure(cli) -> None:
    """Nothing ready exits 0 and says when to come back, in JSON and in words."""
    empty = cli.json("claim", "q", "--worker", "w1")

    assert list(empty) == ["lease", "retry_after_seconds"]
    assert empty["lease"] is None
    assert 1 <= empty["retry_after_seconds"] <= 30
    assert cli("claim", "q", "--worker", "w1").stdout.startswith("Nothing is ready. Ask again in ")


def test_claim_filters(cli, enqueue) -> None:
    """Kinds and effect classes narrow a claim."""
    enqueue(kind="a")
    wanted = enqueue(kind="b", effect_class="write-internal")

    lease = cli.json(
        "claim", "q", "--worker", "w", "--kind", "b", "--kind", "c", "--effect", "write-internal"
    )

    assert lease["task_id"] == wanted


def test_claim_waits_for_a_task(cli, enqueue) -> None:
    """`--wait` asks again until a task is there."""
    task_id = enqueue(delay_seconds=0.1)

    assert cli.json("claim", "q", "--worker", "w", "--wait", "20")["task_id"] == task_id


def test_claim_waits_no_longer_than_asked(cli) -> None:
    """At the end of `--wait` the empty answer comes, and more than 30 seconds are wrong usage."""
    assert cli.json("claim", "q", "--worker", "w", "--wait", "0.1")["lease"] is None
    cli("claim", "q", "--worker", "w", "--wait", "31", code=2)


def test_claim_again_under_the_same_key(cli, enqueue) -> None:
    """The same idempotency key gives the same lease and costs no second task."""
    enqueue(), enqueue()
    claim = ("claim", "q", "--worker", "w", "--idempotency-key", "once")

    assert cli.json(*claim)["task_id"] == cli.json(*claim)["task_id"]


def test_heartbeat(cli, leased) -> None:
    """A heartbeat answers the lease; under a wrong token it is `stale_lease`."""
    assert cli.json("heartbeat", leased, "1")["task_id"] == leased
    assert "lapses" in cli("heartbeat", leased, "1").stdout
    assert cli("heartbeat", leased, "2", code=1).stderr.startswith("error: stale_lease: ")


def test_submit_derives_its_key(cli, leased) -> None:
    """Left out, the idempotency key comes from task and token, so the same command again is a replay."""
    first = cli.json("submit", leased, "1", '{"n": 1}')

    assert (first["idempotency_key"], first["ok"], first["state"]) == (f"{leased}:1", True, "done")
    assert cli.json("submit", leased, "1", '{"n": 2}') == {**first, "replayed": True}
    assert "nothing was stored" in cli("submit", leased, "1", "null").stdout


def test_submit_under_a_key_of_ones_own(cli, leased) -> None:
    """A given idempotency key is used; null is an output like any other."""
    assert cli.json("submit", leased, "1", "null", "--idempotency-key", "mine")["idempotency_key"] == "mine"


def test_submit_of_a_failure(cli, leased) -> None:
    """A failure needs no output and keeps its error."""
    assert cli.json("submit", leased, "1", "--failed", "--error", "boom")["state"] == "ready"
    assert cli.json("tasks", "show", leased)["last_error"] == "boom"


@pytest.mark.parametrize("rest", [[], ["null", "--error", "boom"], ["{"], ["null", "--failed", "more"]])
def test_submit_used_wrongly(cli, leased, rest) -> None:
    """A success without output, an error without a failure and broken JSON are wrong usage."""
    cli("submit", leased, "1", *rest, code=2)
    assert cli.json("tasks", "results", leased) == {"results": []}


def test_an_error_alone_is_told_what_it_lacks(cli, leased) -> None:
    """Whoever says what went wrong is asked for --failed, not for an output."""
    assert "--error goes with --failed" in cli("submit", leased, "1", "--error", "boom", code=2).stderr


def test_split(cli, leased) -> None:
    """Children come back as ids, in order; the parent waits and shows them."""
    children = cli.json("split", leased, "1", '[{"brief": {}}, {"brief": {}, "after": [0]}]')["children"]

    shown = cli("tasks", "show", leased).stdout
    assert len(children) == 2
    assert "waits for" in shown
    assert "2 of its children to end" in shown
    assert all(child in shown for child in children)


def test_split_prints_ids_line_by_line(cli, leased) -> None:
    """Without `--json` the children's ids are lines, ready for a shell loop."""
    lines = cli("split", leased, "1", "-", input='[{"brief": {}}]').stdout.splitlines()

    assert cli.json("tasks", "show", lines[0])["parent_id"] == leased


def test_split_into_something_else_than_a_list(cli, leased) -> None:
    """Children that are no list are wrong usage."""
    assert "'CHILDREN': not a JSON list" in cli("split", leased, "1", "{}", code=2).stderr


def test_park_and_resume(cli, leased) -> None:
    """A parked task says why and how to go on; the input is checked against its schema and comes back."""
    schema = '{"type": "object", "required": ["licence"]}'
    cli("park", leased, "1", "which licence?", "--resume-within", "600", "--input-schema", schema)
    shown = cli("tasks", "show", leased).stdout
    assert "which licence?" in shown
    assert f"tessera resume {leased} INPUT --park 1" in shown
    assert "comes back" in shown

    assert cli("resume", leased, "{}", code=1).stderr.startswith("error: invalid_request: ")
    assert cli("resume", leased, '{"licence": "x"}', "--park", "2", code=1).stderr.startswith(
        "error: invalid_state"
    )
    assert cli.json("resume", leased, '{"licence": "x"}', "--park", "1")["state"] == "ready"

    assert '{"licence":"x"}' in cli("claim", "q", "--worker", "w").stdout


def test_resume_with_null(cli, store, leased) -> None:
    """Null is an input like any other."""
    store.park(leased, 1, "why")

    assert cli.json("resume", leased, "null")["state"] == "ready"


def test_release(cli, leased) -> None:
    """A released task is ready at once or after a delay, without a failure."""
    task = cli.json("release", leased, "1", "--delay", "60")

    assert (task["state"], task["failures"], task["worker"]) == ("ready", 0, None)
    assert task["not_before"] is not None
    assert cli("release", leased, "1", code=1).stderr.startswith("error: stale_lease: ")
