"""Refusals over HTTP: each a problem document, each with its kind's status, none with a word too many."""

from __future__ import annotations

import socket
import sqlite3

import pytest
from service.running import Running, reply_on

from tessera.service.routes import Routes
from tessera.surface import SURFACE

TEMPLATES = {route.template: route for route in Routes(SURFACE.values())}


def test_nothing_is_there(service: Running) -> None:
    """An unknown path is `not_found`, with or without a key."""
    for path in ("/nothing", "/v1", "/v1/tasks/", "/v1/nothing", "/v1/tasks/a/b/c", "/V1/tasks"):
        reply = service.get(path)
        assert reply.code == "not_found"
        assert "/docs lists all" in reply.json["detail"]
        assert service.get(path, key=None).status == 404


@pytest.mark.parametrize("template", TEMPLATES)
def test_h08_other_methods_are_told_which_there_are(service: Running, template: str) -> None:
    """H08: a method that a path does not have is `method_not_allowed`, with the path's own methods in
    `Allow`; and OPTIONS tells the same.
    """
    path, allowed = template.replace("{", "").replace("}", ""), TEMPLATES[template].allow
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"} - set(allowed.split(", ")):
        reply = service.call(method, path)
        assert reply.status == 405
        assert reply.headers["allow"] == allowed
        assert method == "HEAD" or reply.code == "method_not_allowed"
        assert method == "HEAD" or "Allow" in reply.json["detail"]
    options = service.call("OPTIONS", path, key=None)
    assert (options.status, options.headers["allow"]) == (204, allowed)


def test_a_misspelt_field_is_told_with_the_one_that_was_meant(service: Running) -> None:
    """A body's and a query's unknown field is told with the one that was meant; without a near one, and
    where one is missing, with all that are taken there: not those that the path or a header has.
    """
    assert (
        service.post("/v1/tasks", {"queu": "q"}).json["detail"]
        == "Unknown field 'queu': did you mean 'queue'?"
    )
    assert service.get("/v1/tasks?limt=3").json["detail"] == "Unknown field 'limt': did you mean 'limit'?"
    taken = "(optional: after, kind, limit, queue, state)"
    assert service.get("/v1/tasks?colour=red").json["detail"] == f"Unknown field 'colour' {taken}"
    taken = "(required: value; optional: expected_version)"
    assert service.post("/v1/stores/s/records/k", {"x": 1}).json["detail"] == f"Unknown field 'x' {taken}"
    taken = "(required: fencing_token, task_id; optional: error, ok, output)"
    said = service.post("/v1/tasks/submit", {"result": 1}).json["detail"]
    assert said == f"Unknown field 'result' {taken}"
    lacking = service.post("/v1/tasks", {"queue": "q"}).json["detail"]
    assert lacking.startswith("Field 'kind' is missing (required: brief, kind, queue; optional: ")


def test_json_that_is_cut_off_is_told(service: Running) -> None:
    """A body that ends before its JSON does is told so."""
    assert service.post("/v1/tasks", b'{"queue": "q"').json["detail"] == "The JSON ends too early"


def test_a_look_at_a_writing_path_changes_nothing(service: Running) -> None:
    """GET on every writing path leaves counts and log as they were."""
    service.queue("untouched")
    service.enqueue("untouched")
    before = service.get("/v1/events?limit=10000").json["events"][-1]["seq"]
    for template in TEMPLATES:
        if "GET" not in TEMPLATES[template].targets:
            assert service.get(template.replace("{", "").replace("}", "")).status == 405

    assert service.get("/v1/events?limit=10000").json["events"][-1]["seq"] == before


def test_head_is_get_without_the_body(service: Running) -> None:
    """HEAD answers with the headers of GET and no body."""
    whole, head = service.get("/v1/queues"), service.call("HEAD", "/v1/queues")

    assert head.body == b""
    assert head.status == whole.status == 200
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(whole.body))


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"null", 400),
        (b"[]", 400),
        (b"{", 400),
        (b'{"queue": "q"} x', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {}, "colour": "red"}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": []}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {}, "priority": 1.5}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {}, "priority": 2147483648}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {}, "task_id": "claim"}', 400),
        (b'{"queue": "problems\\n", "kind": "k", "brief": {}}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {"a": NaN}}', 400),
        (b'{"queue": "problems", "kind": "k", "brief": {"a": 9007199254740993}}', 400),
        (b'{"queue": "nowhere", "kind": "k", "brief": {}}', 404),
    ],
)
def test_h08_a_wrong_body_is_refused_by_its_kind(service: Running, body: bytes, status: int) -> None:
    """H08: what the model does not take is 400 `invalid_request`, never 422, and says where; what it names
    and does not exist is 404.
    """
    service.queue("problems")
    reply = service.post("/v1/tasks", body, headers={"content-type": "application/json"})

    assert reply.status == status
    assert reply.code == ("invalid_request" if status == 400 else "not_found")
    assert reply.json["definite"] is True


@pytest.mark.parametrize("path", [
    "/v1/tasks?limit=0", "/v1/tasks?limit=1001", "/v1/tasks?limit=x", "/v1/tasks?limit=1&limit=2",
    "/v1/tasks?colour=red", "/v1/tasks?state=finished", "/v1/tasks?limit", "/v1/tasks?kind=%ff",
    "/v1/events?after=-1", "/v1/events?limit=10001", "/v1/tasks/x?task_id=y", "/v1/tasks/x?wait=31",
    "/v1/tasks/x?wait=nan", "/v1/counts?recount=perhaps", "/v1/tasks/%ff",
])  # fmt: skip
def test_a_wrong_query_is_refused(service: Running, path: str) -> None:
    """Unknown names, names given twice, wrong types and values out of range are 400 in a query too."""
    assert service.get(path).code == "invalid_request"


def test_a_writing_path_takes_no_query(service: Running) -> None:
    """A query where none belongs is refused rather than ignored."""
    assert service.post("/v1/tasks/claim?queue=q", {"queue": "q", "worker": "w"}).code == "invalid_request"


def test_a_name_of_the_path_stays_out_of_the_body(service: Running) -> None:
    """A field that the path gives already is refused in the body, once or twice."""
    reply = service.post("/v1/jobs/one", {"job_id": "two", "status": "completed"})

    assert reply.code == "invalid_request"
    assert "path" in reply.json["detail"]


def test_an_idempotency_key_is_a_header(service: Running) -> None:
    """In the body of a submit it is refused, and without the header too; twice the header is refused."""
    service.queue("headers")
    task = service.enqueue("headers")
    service.claim("headers")
    body = {"task_id": task, "fencing_token": 1}

    assert service.post("/v1/tasks/submit", {**body, "idempotency_key": "a"}).code == "invalid_request"
    assert service.post("/v1/tasks/submit", body).code == "invalid_request"
    assert service.get(f"/v1/tasks/{task}/results").json["results"] == []


def test_h08_the_unforeseen_has_no_detail(own: Running) -> None:
    """H08: a store that was broken under the service gives 500 `internal`: the log has the trace, the answer
    has nothing of it, and the service goes on.
    """
    own.queue("q")
    broken = sqlite3.connect(own.store)
    with broken:
        broken.execute("drop table briefs")
    broken.close()

    reply = own.post("/v1/tasks", {"queue": "q", "kind": "k", "brief": {"needle": 1}})

    assert (reply.status, reply.code) == (500, "internal")
    assert reply.json["detail"] == "Something unforeseen happened."
    assert reply.json["definite"] is False
    assert "Traceback" in own.log.read_text()
    assert "needle" not in own.log.read_text()
    assert own.get("/healthz").status == 200


def test_no_http_is_a_problem_too(service: Running) -> None:
    """What is no HTTP at all is answered with a problem document and the end of the connection."""
    with service.raw(b"HELLO\r\n\r\n") as bare:
        reply = reply_on(bare)
        assert reply.code == "invalid_request"
        assert reply.headers["connection"] == "close"
        bare.shutdown(socket.SHUT_WR)
        assert bare.recv(1) == b""


def test_each_answer_has_an_id_that_the_log_knows(service: Running) -> None:
    """The id in the header of an answer is in the log, with the route's template and no path or query."""
    reply = service.get("/v1/tasks/very-secret-path?wait=0")
    request_id = reply.headers["x-request-id"]
    service.get("/v1/nothing/very-secret-path?very-secret-query=1")
    while request_id not in (text := service.log.read_text()):
        service.get("/healthz")

    assert f"{request_id} GET /v1/tasks/{{task_id}} 404" in text
    assert "very-secret" not in text
