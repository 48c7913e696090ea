"""`enqueue-batch`, `submit-batch`, `claim --limit`, `claim` of several queues."""

from __future__ import annotations

import json

import pytest


def lines(*documents: object) -> str:
    """JSON Lines."""
    return "".join(f"{json.dumps(document, ensure_ascii=False)}\n" for document in documents)


def spec(**fields: object) -> dict[str, object]:
    """A task for `q`."""
    return {"queue": "q", "kind": "k", "brief": {}, **fields}


@pytest.fixture
def leased(store, enqueue) -> list[str]:
    """Three tasks of `q`, each leased under token 1."""
    task_ids = [enqueue() for _ in range(3)]
    assert len(store.claim_batch("q", "w1", 3)) == 3
    return task_ids


def test_a_file_may_be_named_as_elsewhere(cli, tmp_path) -> None:
    """@FILE is FILE, as with the commands that take one document."""
    file = tmp_path / "tasks.jsonl"
    file.write_text(lines(spec(task_id="a")))
    assert cli("enqueue-batch", f"@{file}").stdout == "a\n"


def test_enqueue_batch_prints_bare_ids_in_order(cli) -> None:
    """The ids stand line by line in the order given, ready for a shell loop; a later task may depend on an
    earlier one.
    """
    given = lines(spec(task_id="b"), spec(task_id="a", depends_on=["b"]), spec(brief={"n": 1}))

    ids = cli("enqueue-batch", "-", input=given).stdout.splitlines()

    assert ids[:2] == ["b", "a"]
    assert cli.json("tasks", "show", "a")["wait_reason"] == "dependencies"
    assert cli.json("tasks", "show", ids[2])["brief"] == {"n": 1}


@pytest.mark.parametrize(
    "text",
    [
        lines(spec(task_id="a"), spec(task_id="b")),
        lines(spec(task_id="a"), spec(task_id="b")).strip(),
        "\r\n" + lines(spec(task_id="a"), spec(task_id="b")).replace("\n", "\r\n \r\n"),
        json.dumps([spec(task_id="a"), spec(task_id="b")]),
        " \n" + json.dumps([spec(task_id="a"), spec(task_id="b")], indent=2),
    ],
    ids=["lines", "no last line feed", "blank lines", "array", "pretty array"],
)
def test_a_batch_is_an_array_or_lines(cli, tmp_path, text) -> None:
    """A file of JSON Lines and a file with one array mean the same, whatever their white space."""
    (tmp_path / "tasks").write_bytes(text.encode())

    assert cli.json("enqueue-batch", "tasks") == {"task_ids": ["a", "b"]}


def test_only_a_line_feed_ends_a_line(cli) -> None:
    """Separators that are white space elsewhere may stand in a string of a line."""
    odd = "\u2028\u2029\x85\xa0"

    (task_id,) = cli.json("enqueue-batch", "-", input=lines(spec(brief={"text": odd})))["task_ids"]

    assert cli.json("tasks", "show", task_id)["brief"] == {"text": odd}


@pytest.mark.parametrize("command", ["enqueue-batch", "submit-batch"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}\n{\n", "not JSON: line 2: "),
        ("{}\n{} {}\n", "not JSON: line 2: "),
        ("{}\nNaN\n", "not JSON: line 2: "),
        ('{\n"queue": "q"\n}', "not JSON: line 1: "),
        ("[{}", "not JSON: "),
        ("[{}] x", "not JSON: "),
        ("\ufeff{}", "not JSON: line 1: "),
        (b'{"a": "\xff"}', "not UTF-8"),
        ("[" * 9_999, "not JSON: nested too deeply"),
    ],
)
def test_a_broken_file_is_wrong_usage(cli, command, text, why) -> None:
    """What is neither an array nor lines of JSON is wrong usage, and the line is named."""
    assert f"Invalid value for 'FILE': {why}" in cli(command, "-", input=text, code=2).stderr


@pytest.mark.parametrize("command", ["enqueue-batch", "submit-batch"])
def test_a_file_that_cannot_be_read_is_wrong_usage(cli, tmp_path, command) -> None:
    """A missing file and a folder are named."""
    assert "cannot read absent: No such file" in cli(command, "absent", code=2).stderr
    assert "Is a directory" in cli(command, str(tmp_path), code=2).stderr


@pytest.mark.parametrize("command", ["enqueue-batch", "submit-batch"])
@pytest.mark.parametrize("text", ["", "[]", "1", '"q"', "null", "[[]]", "{}", '{"queue": "q"}'])
def test_what_is_json_but_no_batch_is_refused_by_the_store(cli, command, text) -> None:
    """Empty batches and things that are no task or outcome are `invalid_request`, and nothing is stored."""
    assert cli(command, "-", input=text, code=1).stderr.startswith("error: invalid_request: ")
    assert cli.json("tasks", "list")["tasks"] == []


def test_a_misspelt_field_of_a_file_is_told_with_the_one_that_was_meant(cli) -> None:
    """A field that no task has is named with its place in the file, and with the field that was meant."""
    refused = cli("enqueue-batch", "-", input=lines(spec(), {**spec(), "prority": 3}), code=1)

    said = "error: invalid_request: tasks[1]: unknown field 'prority': did you mean 'priority'?"
    assert refused.stderr.startswith(said)


def test_enqueue_batch_is_all_or_none(cli) -> None:
    """One bad task refuses the batch, named by its place, and nothing is put on a queue."""
    given = lines(*(spec() for _ in range(9)), spec(queue="absent"))

    refused = cli("enqueue-batch", "-", input=given, code=1)

    assert refused.stderr.startswith("error: not_found: tasks[9]: no queue absent")
    assert refused.stdout == ""
    assert cli.json("counts")["queues"]["q"]["ready"] == 0


def test_submit_batch_prints_a_line_for_each(cli, leased) -> None:
    """Each outcome gets its line, in the order given, and all being stored exits 0."""
    given = lines(
        {"task_id": leased[0], "fencing_token": 1, "output": {"n": 1}},
        {"task_id": leased[1], "fencing_token": 1, "ok": False, "error": "boom"},
        {"task_id": leased[0], "fencing_token": 1},
    )

    head, *rows = cli("submit-batch", "-", input=given).stdout.splitlines()

    assert head.split()[:2] == ["task", "outcome"]
    assert [row.split()[:2] for row in rows] == [
        [leased[0], "ok"],
        [leased[1], "failed"],
        [leased[0], "ok,"],
    ]
    assert "replayed" in rows[2]
    assert cli.json("tasks", "show", leased[1])["last_error"] == "boom"


def test_submit_batch_derives_its_keys(cli, leased) -> None:
    """A key that is left out, or null, is the one `tessera submit` would choose, so that the same file again
    is a replay; a given one is used.
    """
    given = lines(
        {"task_id": leased[0], "fencing_token": 1},
        {"task_id": leased[1], "fencing_token": 1, "idempotency_key": None},
        {"task_id": leased[2], "fencing_token": 1, "idempotency_key": "mine"},
    )

    first = cli.json("submit-batch", "-", input=given)["results"]
    again = cli.json("submit-batch", "-", input=given)["results"]

    assert [one["idempotency_key"] for one in first] == [f"{leased[0]}:1", f"{leased[1]}:1", "mine"]
    assert again == [{**one, "replayed": True} for one in first]
    assert cli.json("submit", leased[0], "1", "null")["replayed"] is True


def test_submit_batch_exits_1_when_one_is_refused(cli, leased) -> None:
    """The refused ones are told by code, in the table, in JSON and on stderr; the others are stored."""
    given = lines(
        {"task_id": leased[0], "fencing_token": 2},
        {"task_id": leased[1], "fencing_token": 1, "output": "kept"},
        {"task_id": "absent", "fencing_token": 1},
        {"task_id": leased[2], "fencing_token": 1, "idempotency_key": f"{leased[1]}:1"},
    )

    answer = cli("submit-batch", "-", input=given, code=1)
    results = cli.json("submit-batch", "-", input=given, code=1)["results"]

    assert answer.stderr == "error: 3 of 4 were refused: idempotency_conflict, not_found, stale_lease\n"
    rows = answer.stdout.splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["refused", "ok", "refused", "refused"]
    assert "stale_lease: The lease is not live" in rows[0]
    assert [one.get("code") for one in results] == ["stale_lease", None, "not_found", "idempotency_conflict"]
    assert cli.json("tasks", "results", leased[1])["results"][0]["output"] == "kept"
    assert cli.json("tasks", "show", leased[0])["state"] == "leased"


def test_claim_with_a_limit_answers_a_list(cli, enqueue) -> None:
    """`--limit` takes that many or what there is; the answer is a list even of one."""
    ids = [enqueue() for _ in range(4)]

    first = cli.json("claim", "q", "--worker", "w", "--limit", "3")
    rest = cli.json("claim", "q", "--worker", "w", "--limit", "3")

    assert [lease["task_id"] for lease in first["leases"]] == ids[:3]
    assert [lease["task_id"] for lease in rest["leases"]] == ids[3:]


def test_claim_with_a_limit_for_people(cli, enqueue) -> None:
    """Each lease is a line with its token and brief."""
    ids = [enqueue(brief={"n": n}) for n in range(2)]

    rows = cli("claim", "q", "--worker", "w", "--limit", "9").stdout.splitlines()[1:]

    assert [row.split()[:2] for row in rows] == [[task_id, "1"] for task_id in ids]
    assert [f'{{"n":{n}}}' in row for n, row in enumerate(rows)] == [True, True]


def test_an_empty_claim_with_a_limit(cli) -> None:
    """Nothing ready exits 0: an empty list, and when to come back."""
    empty = cli.json("claim", "q", "--worker", "w", "--limit", "3")

    assert empty["leases"] == []
    assert 1 <= empty["retry_after_seconds"] <= 30
    assert cli("claim", "q", "--worker", "w", "--limit", "3").stdout.startswith("Nothing is ready.")


def test_claim_with_a_limit_waits_for_the_first(cli, enqueue) -> None:
    """`--wait` with `--limit` ends when there is anything at all."""
    task_id = enqueue(delay_seconds=0.1)

    leases = cli.json("claim", "q", "--worker", "w", "--limit", "5", "--wait", "20")["leases"]

    assert [lease["task_id"] for lease in leases] == [task_id]


@pytest.mark.parametrize("limit", ["0", "101", "-1"])
def test_claim_s_limit_has_bounds(cli, enqueue, limit) -> None:
    """Fewer than one and more than a hundred are the store's to refuse, and nothing is leased."""
    enqueue()

    refused = cli("claim", "q", "--worker", "w", "--limit", limit, code=1)

    assert refused.stderr.startswith("error: invalid_request: ")
    assert cli.json("counts")["queues"]["q"]["leased"] == 0
    cli("claim", "q", "--worker", "w", "--limit", "many", code=2)


def test_claim_of_several_queues(cli, store, enqueue) -> None:
    """A claim names any number of queues and takes from those that have something."""
    store.define_queue("other", weight=5)
    store.define_queue("third")
    ids = {enqueue(), enqueue(queue="other"), enqueue(queue="other")}

    one = cli.json("claim", "third", "q", "other", "third", "--worker", "w")
    two = cli.json("claim", "third", "q", "other", "--worker", "w", "--limit", "9")["leases"]

    assert {one["task_id"], *(lease["task_id"] for lease in two)} == ids
    assert cli.json("claim", "third", "q", "other", "--worker", "w")["lease"] is None
    assert cli("claim", "q", "absent", "--worker", "w", code=1).stderr.startswith("error: not_found: ")


def test_claim_needs_a_queue(cli) -> None:
    """No queue at all is wrong usage."""
    assert "Missing argument 'QUEUE...'" in cli("claim", "--worker", "w", code=2).stderr


def test_claim_batch_again_under_the_same_key(cli, enqueue) -> None:
    """The same idempotency key gives the same leases and costs no further task."""
    for _ in range(4):
        enqueue()
    claim = ("claim", "q", "--worker", "w", "--limit", "2", "--idempotency-key", "once")

    assert cli.json(*claim) == cli.json(*claim)
    assert cli.json("counts")["queues"]["q"]["leased"] == 2
