"""`/admin`: who gets in, what one task's story holds, and that acts are the API's verbs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from service.pages.browsing import Visitor
from service.running import Running

Visit = Callable[..., Visitor]


def submit(service: Running, lease: dict[str, Any], **fields: Any) -> None:
    """Hand in a lease's outcome."""
    body = {"task_id": lease["task_id"], "fencing_token": lease["fencing_token"], **fields}
    key = f"{lease['task_id']}-{lease['fencing_token']}"
    reply = service.post("/v1/tasks/submit", body, headers={"idempotency-key": key})
    assert reply.status == 200, reply.body


@pytest.mark.parametrize("path", ["/admin", "/admin/tasks", "/admin/tasks/t", "/admin/keys"])
def test_needs_the_admin_scope(service: Running, visit: Visit, path: str) -> None:
    """A key without the admin scope signs in and is 403 at every page of the desk."""
    page = visit(service.key(scopes=["store"]), "/admin").get(path, status=403)

    assert "needs an admin key" in page.text


def test_acts_need_the_admin_scope(service: Running, queue: str, visit: Visit) -> None:
    """The acts of operators are refused to other keys by the verbs themselves, and change nothing."""
    task_id = service.enqueue(queue)
    visitor = visit(service.key(effect_classes=["read"]))
    token = visitor.get("/work").form("/work/sign-out")["form"]
    key_id = service.get("/v1/admin/keys").json["keys"][0]["key_id"]
    for path in (f"/admin/queues/{queue}/pause", f"/admin/tasks/{task_id}/requeue",
                 f"/admin/keys/{key_id}/revoke"):  # fmt: skip
        visitor.post(path, {"form": token}, status=403)

    assert service.get("/v1/queues").status == 200
    assert service.claim(queue).status == 200


def test_lists_tasks_by_queue_state_and_kind(service: Running, queue: str, visit: Visit) -> None:
    """The list is narrowed by each filter, leads on to later tasks, and refuses what no task can be."""
    tasks = [service.enqueue(queue, kind=kind) for kind in ["k"] * 50 + ["l"] * 2]
    service.claim(queue, kinds=["l"])
    visitor = visit(service.admin, "/admin")

    def listed(**fields: str) -> set[str]:
        page = visitor.get("/admin/tasks?" + "&".join(f"{name}={value}" for name, value in fields.items()))
        links = [given.get("href") or "" for given in page.named("a")]
        return {link.rpartition("/")[2] for link in links if link.startswith("/admin/tasks/")}

    assert listed(queue=queue) == set(tasks[:50])
    assert listed(queue=queue, after=tasks[49]) == set(tasks[50:])
    assert listed(queue=queue, kind="l") == set(tasks[50:])
    assert listed(queue=queue, kind="l", state="leased") == {tasks[50]}
    assert listed(queue=queue, kind="", state="done") == set()
    following = [given.get("href") for given in visitor.get(f"/admin/tasks?queue={queue}").named("a")]
    assert f"/admin/tasks?queue={queue}&after={tasks[49]}" in following
    visitor.get("/admin/tasks?state=asleep", status=400)
    visitor.get("/admin/tasks?queue=no-such-queue", status=404)
    visitor.get("/admin/tasks?worker=w", status=400)


def test_a_key_sees_its_queues(service: Running, queue: str, visit: Visit) -> None:
    """An admin key sees the queues that it covers, and no others: on no page, in no picture."""
    other = service.queue(f"{queue}-hidden")
    secret = service.enqueue(other, kind="secret")
    task_id = service.enqueue(queue, depends_on=[secret])
    visitor = visit(service.key(queues=[queue], scopes=["admin"]), "/admin")
    assert other not in visitor.get("/admin").text
    assert secret not in visitor.get("/admin/tasks").text
    visitor.get(f"/admin/tasks/{secret}", status=403)
    page = visitor.get(f"/admin/tasks/{task_id}")

    assert secret[-12:] not in page.text
    assert "as far as this key may see" in page.text


def test_one_tasks_whole_story(service: Running, visit: Visit) -> None:
    """A task that failed, was parked, answered, split and finished: its page has every lease with its end,
    every event, input and result, and a receipt that matches.
    """
    queue = service.queue("story", backoff_base_seconds=0)
    task_id = service.enqueue(queue, brief={"chapter": 1})
    submit(service, service.claim(queue, worker="first").json, ok=False, error="out of ink")
    lease = service.claim(queue, worker="second").json
    park = {"task_id": task_id, "fencing_token": lease["fencing_token"], "reason": "which ink?"}
    assert service.post("/v1/tasks/park", park).status == 200
    assert service.post("/v1/tasks/resume", {"task_id": task_id, "input": "blue ink"}).status == 200
    lease = service.claim(queue, worker="third").json
    held = visit(service.admin, "/admin").get(f"/admin/tasks/{task_id}").text
    assert "Held by" in held
    assert "third, token 3" in held
    submit(service, lease, output={"pages": 7})
    text = visit(service.admin, "/admin").get(f"/admin/tasks/{task_id}").text

    for said in ('"chapter": 1', "out of ink", "blue ink", '"pages": 7', "parked at", "first", "second"):
        assert said in text, said
    told = service.get("/v1/events?limit=10000").json["events"]
    for event in (one for one in told if one["task_id"] == task_id):
        assert event["at"] in text
        assert event["type"] in text
    assert text.count("receipt matches") == 2
    assert "Held by" not in text


def test_a_receipt_that_does_not_match(service: Running, visit: Visit) -> None:
    """A result that was changed behind the store's back is shown as one whose receipt does not match."""
    queue = service.queue("forged")
    task_id = service.enqueue(queue)
    submit(service, service.claim(queue).json, output={"paid": 10})
    beside = sqlite3.connect(service.store)
    with beside:
        beside.execute("""update results set output = '{"paid":99}' where output = '{"paid":10}'""")
    beside.close()
    text = visit(service.admin, "/admin").get(f"/admin/tasks/{task_id}").text

    assert "receipt does not match" in text
    assert "receipt matches" not in text


def test_the_family_is_a_picture(service: Running, visit: Visit) -> None:
    """A task's page draws its dependency, its children and what waits for it, each with its state in words
    and a link, and a line for each bond, broken where one depends on another.
    """
    queue = service.queue("family")
    first = service.enqueue(queue, kind="first")
    task_id = service.enqueue(queue, kind="itself", depends_on=[first])
    after = service.enqueue(queue, kind="after", depends_on=[task_id])
    submit(service, service.claim(queue).json, output=1)
    lease = service.claim(queue).json
    children = [{"brief": {}, "kind": "child-a"}, {"brief": {}, "kind": "child-b", "after": [0]}]
    split = {"task_id": task_id, "fencing_token": lease["fencing_token"], "children": children}
    ids = service.post("/v1/tasks/split", split).json["children"]
    page = visit(service.admin, "/admin").get(f"/admin/tasks/{task_id}")
    links = {given.get("href"): given.get("aria-label") or "" for given in page.named("a")}

    for one, kind, state in (
        (first, "first", "done"), (task_id, "itself", "waiting"), (ids[0], "child-a", "ready"),
        (ids[1], "child-b", "waiting"), (after, "after", "waiting"),
    ):  # fmt: skip
        label = links[f"/admin/tasks/{one}"]
        assert label.startswith(f"{kind} ")
        assert state in label
    lines = [given.get("class") for given in page.named("path")]
    assert (lines.count("line"), lines.count("line depends")) == (2, 3)


def test_cancels(service: Running, queue: str, visit: Visit) -> None:
    """A cancel by the page is the verb's: task and reason as by the API, recorded under the operator's key;
    what has ended already is 409.
    """
    task_id = service.enqueue(queue)
    visitor = visit(service.admin, "/admin")
    page, act = f"/admin/tasks/{task_id}", f"/admin/tasks/{task_id}/cancel"
    form = visitor.get(page).form(act)
    there = visitor.post(act, {**form, "reason": "not <needed>"}).headers["location"]
    task = service.get(f"/v1/tasks/{task_id}").json

    assert (task["state"], task["cancel_reason"]) == ("cancelled", "not <needed>")
    assert "not <needed>" in visitor.get(there).text
    visitor.post(act, {**form, "reason": "again"}, status=409)


def test_requeues(service: Running, visit: Visit) -> None:
    """A dead task is requeued as a new one, whose page follows; a living one is 409."""
    queue = service.queue("dying", max_attempts=1)
    task_id = service.enqueue(queue, brief={"try": "again"})
    visitor = visit(service.admin, "/admin")
    act = f"/admin/tasks/{task_id}/requeue"
    token = visitor.get("/admin").form("/admin/sign-out")
    visitor.post(act, token, status=409)
    submit(service, service.claim(queue).json, ok=False, error="no")
    there = visitor.send(f"/admin/tasks/{task_id}", act).headers["location"]
    new = service.claim(queue).json

    assert there.startswith(f"/admin/tasks/{new['task_id']}?")
    assert new["brief"] == {"try": "again"}
    assert task_id[-12:] in visitor.get(there).text


def test_pauses_and_resumes_a_queue(service: Running, queue: str, visit: Visit) -> None:
    """A queue that the page pauses gives no leases until the page resumes it; the board says so meanwhile."""
    service.enqueue(queue)
    visitor = visit(service.admin, "/admin")
    visitor.send("/admin", f"/admin/queues/{queue}/pause")
    assert service.claim(queue).status == 204
    assert "paused" in visitor.get("/board?still=1").text
    visitor.send("/admin", f"/admin/queues/{queue}/resume")

    assert service.claim(queue).status == 200


def test_revokes_a_key(service: Running, visit: Visit) -> None:
    """A key that the page revokes counts no more at once; the list says so, and never shows a secret."""
    issued = service.post("/v1/admin/keys", {"name": "<b>gone</b>"}).json
    visitor = visit(service.admin, "/admin")
    there = visitor.send("/admin/keys", f"/admin/keys/{issued['grant']['key_id']}/revoke").headers["location"]
    assert service.get("/v1/queues", key=issued["key"]).status == 401
    text = visitor.get(there).text

    assert "<b>gone</b>" in text
    assert "revoked 20" in text
    assert issued["key"] not in text


def test_pages_of_keys(own: Running) -> None:
    """Beyond a hundred keys the list leads on to later ones, and revoking one there comes back there."""
    issued = [own.post("/v1/admin/keys", {"name": f"key {n}"}).json["grant"]["key_id"] for n in range(101)]
    visitor = Visitor(own)
    visitor.sign_in(own.admin, "/admin")
    first = visitor.get("/admin/keys")
    [later] = [given["href"] for given in first.named("a") if "after=" in (given.get("href") or "")]

    assert issued[-1] not in first.text
    sent = visitor.send(str(later), f"/admin/keys/{issued[-1]}/revoke?{str(later).partition('?')[2]}")
    back = visitor.get(sent.headers["location"])
    assert issued[-1] in back.text
    assert issued[0] not in back.text
    assert "The key counts no more." in back.text
    visitor.close()


def test_acts_need_the_forms_token(service: Running, queue: str, visit: Visit) -> None:
    """Every act of the desk without its form's token is 403 and does nothing."""
    task_id = service.enqueue(queue)
    visitor = visit(service.admin, "/admin")
    for act in (f"tasks/{task_id}/cancel", f"tasks/{task_id}/requeue", f"queues/{queue}/pause",
                f"queues/{queue}/resume", "keys/k/revoke", "sign-out"):  # fmt: skip
        visitor.post(f"/admin/{act}", {"form": "x", "reason": "r"}, status=403)
        assert visitor.http.get(f"/admin/{act}").status_code == 405

    assert service.claim(queue).json["task_id"] == task_id
