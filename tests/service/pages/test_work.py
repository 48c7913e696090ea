"""`/work`: who sees which park, what an answer may look like, and that it is the API's own verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from service.pages.browsing import Page, Visitor, parked
from service.running import Running

from conformance.receipts import receipt as receipt_of

Visit = Callable[..., Visitor]
SCHEMA = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Go ahead?"},
        "branch": {"enum": ["main", "next"]},
        "checks": {"type": "array", "items": {"enum": ["lint", "test"]}},
        "note": {"type": "string", "description": "For the record"},
        "retries": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["approve"],
}


def field(page: Page, label: str) -> str:
    """What the form calls the field with that label."""
    properties = sorted(SCHEMA["properties"])
    assert label in properties
    return f"field-{properties.index(label)}"


def answer(service: Running, task_id: str) -> Any:
    """What the next lease of an answered task is told."""
    state = service.get(f"/v1/tasks/{task_id}").json
    assert state["state"] == "ready"
    lease = service.claim(state["queue"]).json
    assert lease["task_id"] == task_id
    return lease["inputs"][-1]["input"]


def test_shows_why_it_waits(service: Running, queue: str, visit: Visit) -> None:
    """The list and the task's page show its reason, its brief, the time left and by the key of which name it
    was parked, and later what was answered before; the key itself is not there.
    """
    key = service.key(name="the <painter>")
    task_id = parked(service, queue, "red or green?", brief={"wall": "north"}, resume_within=7_000, key=key)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    assert "red or green?" in visitor.get("/work").text
    page = visitor.get(path)
    assert "red or green?" in page.text
    assert '"wall": "north"' in page.text
    assert "1 h 56 min left" in page.text
    assert "by key the <painter> " in page.text
    assert key not in page.text
    visitor.send(path, path, input="a shade of red")
    lease = service.call("POST", "/v1/tasks/claim", {"queue": queue, "worker": "w"}, key=key).json
    again = {"task_id": task_id, "fencing_token": lease["fencing_token"], "reason": "which shade?"}
    assert service.post("/v1/tasks/park", again, key=key).status == 200

    assert "a shade of red" in visitor.get(path).text
    assert "no deadline" in visitor.get(path).text


def test_an_answer_as_text(service: Running, queue: str, visit: Visit) -> None:
    """A text is the input, a JSON string with its line breaks, and the page says that it is answered."""
    task_id = parked(service, queue)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    there = visitor.send(path, path, input="yes,\r\nbut 'gently'").headers["location"]
    assert "Answered" in visitor.get(there).text
    assert task_id in visitor.get(there).text

    assert answer(service, task_id) == "yes,\nbut 'gently'"


def test_an_answer_as_json(service: Running, queue: str, visit: Visit) -> None:
    """JSON is the input as it is; text that is none is 400, changes nothing and is still there to mend."""
    task_id = parked(service, queue)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    refused = visitor.send(f"{path}?as=json", path, 400, input='{"a": }')
    assert "is no JSON" in refused.text
    assert '{"a": }' in Page(refused.text).text
    visitor.send(f"{path}?as=json", path, input='{"a": [1, null]}')

    assert answer(service, task_id) == {"a": [1, None]}


def test_a_form_from_the_schema(service: Running, queue: str, visit: Visit) -> None:
    """A park's schema makes a field of each property, and what is filled in becomes the input; what is left
    empty is left out.
    """
    task_id = parked(service, queue, input_schema=SCHEMA)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    page = visitor.get(path)
    assert "Go ahead?" in page.text
    assert "For the record" in page.text
    filled = {
        field(page, "approve"): "true", field(page, "branch"): '"next"', field(page, "retries"): "2",
        field(page, "checks"): ['"lint"', '"test"'], field(page, "note"): "",
    }  # fmt: skip
    visitor.send(path, path, **filled)

    assert answer(service, task_id) == {
        "approve": True, "branch": "next", "checks": ["lint", "test"], "retries": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("label", "value", "says"),
    [("approve", "", "Go ahead?: needs a value"), ("branch", '"other"', "branch: not one of the choices"),
     ("retries", "2.5", "retries: a whole number"), ("retries", "11", "input.retries")],
)  # fmt: skip
def test_a_form_filled_in_wrongly(
    service: Running, queue: str, visit: Visit, label: str, value: str, says: str
) -> None:
    """What a field or the schema does not allow is 400 and says which; the task stays parked, and what was
    filled in is kept.
    """
    task_id = parked(service, queue, input_schema=SCHEMA)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    page = visitor.get(path)
    filled = {field(page, "approve"): "true", field(page, "note"): "keep this", field(page, label): value}
    refused = visitor.send(path, path, 400, **filled)

    assert says in Page(refused.text).text
    assert "keep this" in refused.text
    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"


def test_ones_own_park_is_refused(service: Running, queue: str, visit: Visit) -> None:
    """Whoever parked a task neither finds it nor may answer it, though the form is right in every way."""
    key = service.key(name="its own")
    task_id = parked(service, queue, key=key)
    elsewhere = parked(service, queue)
    own = visit(key)
    path = f"/work/tasks/{task_id}"
    assert [task_id in own.get("/work").text, elsewhere[-12:] in own.get("/work").text] == [False, True]
    assert "may not resume it" in own.get(path, status=403).text
    form = own.get(f"/work/tasks/{elsewhere}").form(f"/work/tasks/{elsewhere}")
    own.post(path, {**form, "input": "yes"}, status=403)

    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"


def test_lists_what_one_may_answer(service: Running, visit: Visit) -> None:
    """The list holds the parks of the key's queues, kinds and effect classes, and those of `write-repo` only
    for admin keys.
    """
    queues = [service.queue(f"rights-{name}") for name in ("a", "b")]
    tasks = {
        (queue, kind, effect): parked(
            service, queue, kind=kind, effect_class=effect, key=service.admin
        )
        for queue in queues for kind in ("k", "l") for effect in ("read", "write-internal", "write-repo")
    }  # fmt: skip

    def seen(**grant: Any) -> set[tuple[str, str, str]]:
        text = visit(service.key(**grant)).get("/work").text
        return {name for name, task_id in tasks.items() if task_id[-12:] in text}

    a, b = queues
    assert seen(queues=[a]) == {(a, "k", "read"), (a, "l", "read")}
    assert seen(queues=[a, b], kinds=["l"]) == {(a, "l", "read"), (b, "l", "read")}
    assert seen(queues=[b], effect_classes=["write-internal"], kinds=["k"]) == {(b, "k", "write-internal")}
    assert seen(queues=[b], effect_classes=["write-repo"]) == set()
    assert seen(queues=[b], effect_classes=["write-repo"], scopes=["admin"]) == {
        (b, "k", "write-repo"), (b, "l", "write-repo"),
    }  # fmt: skip
    one = visit(service.key()).get(f"/work?queue={a}").text
    assert [tasks[q, "k", "read"][-12:] in one for q in queues] == [True, False]


def test_a_park_is_answered_once(service: Running, queue: str, visit: Visit) -> None:
    """A form sent twice, or made for an earlier park, is 409 and changes nothing; the former is told that the
    task was resumed already.
    """
    task_id = parked(service, queue)
    first, second = visit(service.admin), visit(service.admin)
    path = f"/work/tasks/{task_id}"
    late = second.get(path).form(path)
    first.send(path, path, input="yes")
    told = second.post(path, {**late, "input": "no"}, status=409).text
    assert "not parked: its park 1 has an input, and it was resumed already" in told
    assert "it was resumed already" in second.get(path, status=409).text
    lease = service.claim(queue).json
    again = {"task_id": task_id, "fencing_token": lease["fencing_token"], "reason": "and now?"}
    service.post("/v1/tasks/park", again)
    second.post(path, {**late, "input": "no"}, status=409)

    assert service.get(f"/v1/tasks/{task_id}").json["parks"] == 2


def test_an_answer_is_recorded_with_its_key(service: Running, queue: str, visit: Visit) -> None:
    """The log tells of an answer by the page as of one by the API, under the key that signed in; the result
    that follows has a receipt that anybody can compute.
    """
    issued = service.post("/v1/admin/keys", {"name": "answerer", "queues": [queue]}).json
    task_id = parked(service, queue)
    path = f"/work/tasks/{task_id}"
    visit(issued["key"]).send(path, path, input="yes")
    lines = service.get("/v1/events?limit=10000").json["events"]
    (line,) = [one for one in lines if one["task_id"] == task_id and one["type"] == "resumed"]
    lease = service.claim(queue).json
    submit = {"task_id": task_id, "fencing_token": lease["fencing_token"], "output": lease["inputs"]}
    receipt = service.post("/v1/tasks/submit", submit, headers={"idempotency-key": task_id}).json

    assert (line["key_id"], line["data"]) == (issued["grant"]["key_id"], {"park": 1})
    assert receipt["sha256"] == receipt_of(task_id, lease["fencing_token"], True, lease["inputs"], None)


def test_an_answer_may_not_hold_the_key(service: Running, queue: str, visit: Visit) -> None:
    """The key that signed in is no part of an answer: it would be stored and shown."""
    task_id = parked(service, queue)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    refused = visitor.send(path, path, 400, input=f"use {service.admin} please")

    assert service.admin not in refused.text
    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"
    visitor.send(path, path, input="use tessera_another-key-that-is-nobody's")


def test_a_form_that_is_none(service: Running, queue: str, visit: Visit) -> None:
    """A body that is no form, or names no park, is refused and changes nothing."""
    task_id = parked(service, queue)
    visitor = visit(service.admin)
    path = f"/work/tasks/{task_id}"
    form = visitor.get(path).form(path)
    assert visitor.http.post(path, json=form).status_code == 415
    garbled = {"content-type": "application/x-www-form-urlencoded"}
    assert visitor.http.post(path, content=b"input=%ff&form=\xff", headers=garbled).status_code == 400
    for park in ("", "x", "0x1", "9" * 17, "\u0661"):
        visitor.post(path, {**form, "park": park, "input": "yes"}, status=400)
    visitor.post(path, {**form, "mode": "fields", "input": "yes"}, status=400)
    visitor.get(f"{path}?as=poem", status=400)
    visitor.get("/work?order=1", status=400)

    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"


def test_what_is_not_parked(service: Running, queue: str, visit: Visit) -> None:
    """A task that does not exist is 404, one that does not wait 409, one of another queue 403."""
    visitor = visit(service.key(queues=[queue]))
    elsewhere = parked(service, service.queue(f"{queue}-other"))
    visitor.get("/work/tasks/nothing", status=404)
    visitor.get(f"/work/tasks/{'x' * 200}", status=404)
    visitor.get(f"/work/tasks/{service.enqueue(queue)}", status=409)

    visitor.get(f"/work/tasks/{elsewhere}", status=403)
