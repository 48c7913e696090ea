"""Signing in at the pages: what a session opens, what it does not, and when it ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from service.pages.browsing import Visitor, parked
from service.running import Running, serving

import tessera
from tessera.limits import SESSION_SECONDS, SESSIONS_PER_KEY_MAX, WRONG_KEYS_AT_ONCE
from tessera.rules.grants import OWNER
from tessera.service.pages.sessions import Sessions
from tessera.testing import World

Visit = Callable[..., Visitor]
PLACES = ("/work", "/work/tasks/t", "/admin", "/admin/tasks", "/admin/tasks/t", "/admin/keys")
ACTS = (
    "/work/tasks/t", "/work/sign-out", "/admin/tasks/t/cancel", "/admin/tasks/t/requeue",
    "/admin/queues/q/pause", "/admin/queues/q/resume", "/admin/keys/k/revoke", "/admin/sign-out",
)  # fmt: skip


@pytest.mark.parametrize("path", PLACES)
def test_asks_to_sign_in(visit: Visit, path: str) -> None:
    """Without a session every page of an area is a sign-in form and 401, and shows nothing else."""
    page = visit().get(path, status=401)

    assert [form["action"] for form in page.forms] == [f"/{path.split('/')[1]}/sign-in"]


@pytest.mark.parametrize("path", ACTS)
def test_no_act_without_a_session(visit: Visit, path: str) -> None:
    """Without a session no form does anything, whatever it says."""
    answer = visit().post(path, {"form": "x", "park": "1"}, status=401)

    assert "nothing was done" in answer.text


def test_the_cookie_is_out_of_reach(service: Running, visit: Visit) -> None:
    """The session's cookie is for HTTP alone, for this site alone and for eight hours, and it is not the
    key.
    """
    visitor = visit()
    answer = visitor.sign_in(service.admin)
    (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith("tessera-session")]

    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={SESSION_SECONDS}"} <= set(cookie.split("; "))
    assert service.admin not in str(answer.headers) + visitor.http.get("/work").text
    assert list(visitor.http.cookies) == ["tessera-session"]


def test_the_cookie_is_secure_off_loopback(tmp_path: Path) -> None:
    """Behind an edge the cookies are `Secure`, under a name that browsers keep to the one host."""
    with serving(tmp_path, TESSERA_EDGE_SECRET="an edge secret") as own:
        visitor = Visitor(own)
        assert visitor.http.get("/work").status_code == 403
        answer = visitor.http.get("/work", headers={"x-edge-auth": "an edge secret"})
        visitor.close()

    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-tessera-sign-in=")
    assert cookie.endswith("; Secure")


def test_a_session_opens_pages_alone(service: Running, visit: Visit) -> None:
    """The cookie of a session is no key: `/v1` is 401 with it, and a key in a header signs nobody in."""
    visitor = visit(service.admin)

    assert visitor.http.get("/v1/queues").status_code == 401
    assert visitor.http.post("/v1/tasks/claim", json={"queue": "q", "worker": "w"}).status_code == 401
    assert service.get("/work").status == 401
    assert service.get("/admin").status == 401


def test_a_wrong_key_is_refused_and_throttled(own: Running) -> None:
    """A wrong key is 401 with the form again, many are 429, and the right one is let in all the same."""
    visitor = Visitor(own)
    form = visitor.get("/work", status=401).form("/work/sign-in")
    for number in range(WRONG_KEYS_AT_ONCE):
        wrong = {**form, "key": f"tessera_{number:04d}{'x' * 39}"}
        assert "unknown" in visitor.post("/work/sign-in", wrong, status=401).text
    refused = visitor.post("/work/sign-in", {**form, "key": "tessera_9999"}, status=429)

    assert int(refused.headers["retry-after"]) >= 1
    assert visitor.sign_in(own.admin).headers["location"] == "/work"
    visitor.close()


def test_signing_in_leads_where_one_was_going(service: Running, visit: Visit) -> None:
    """After the sign-in one is at the page that asked for it, and never at another site's."""
    visitor = visit()
    form = visitor.get("/work/tasks/some%20task", status=401).form("/work/sign-in")
    there = visitor.post("/work/sign-in", {**form, "key": service.admin})
    assert there.headers["location"] == "/work/tasks/some%20task"
    for place in ("//evil.example", "https://evil.example", "/admin//evil", "/v1/queues", "/work\r\nx: y"):
        visitor = visit()
        form = visitor.get("/work", status=401).form("/work/sign-in")
        there = visitor.post("/work/sign-in", {**form, "key": service.admin, "next": place})
        assert there.headers["location"] == "/work"


def test_forms_carry_a_token(service: Running, queue: str, visit: Visit) -> None:
    """A form without the session's token, with another's, or sent by another site is 403, and does nothing;
    so is a sign-in without the token of its own form.
    """
    task_id = parked(service, queue)
    visitor, other = visit(service.admin), visit(service.admin)
    path = f"/work/tasks/{task_id}"
    form = visitor.get(path).form(path)
    theirs = other.get(path).form(path)["form"]
    for token in ("", "x", theirs):
        visitor.post(path, {**form, "form": token, "input": "yes"}, status=403)
    visitor.post(path, {"park": "1", "mode": "text", "input": "yes"}, status=403)
    visitor.post(path, {**form, "input": "yes"}, status=403, **{"sec-fetch-site": "cross-site"})
    sign_in = {"key": service.admin, "form": "0" * 64}
    visit().post("/work/sign-in", sign_in, status=403)

    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"
    visitor.post(path, {**form, "input": "yes"}, **{"sec-fetch-site": "same-origin"})


def test_signing_out_ends_the_session(service: Running, visit: Visit) -> None:
    """Once signed out, the old cookie opens nothing, though somebody kept it."""
    visitor = visit(service.admin)
    kept = dict(visitor.http.cookies)
    visitor.send("/work", "/work/sign-out")
    assert list(visitor.http.cookies) == []
    visitor.http.cookies.update(kept)

    visitor.get("/work", status=401)


def test_a_revoked_key_ends_its_sessions(service: Running, queue: str, visit: Visit) -> None:
    """A key that is revoked by another process counts no more at the next request, for looks and for acts."""
    task_id = parked(service, queue)
    path = f"/work/tasks/{task_id}"
    with tessera.open(str(service.store)) as store:
        issued = store.issue_key(name="brief")
        looking, acting = visit(issued.key), visit(issued.key)
        form = acting.get(path).form(path)
        store.revoke_key(issued.grant.key_id)
    assert "counts no more" in looking.get("/work", status=401).text
    acting.post(path, {**form, "input": "yes"}, status=401)

    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"
    assert looking.http.get("/work").status_code == 401


def test_an_expired_key_ends_its_sessions(service: Running, visit: Visit) -> None:
    """A key that has expired counts no more, though its session would last; nor does it sign in again."""
    key = service.key(name="until now")
    visitor = visit(key)
    visitor.get("/work")
    beside = sqlite3.connect(service.store)
    with beside:
        beside.execute("update keys set expires_at = 1 where name = 'until now'")
    beside.close()

    visitor.get("/work", status=401)
    form = visitor.get("/work", status=401).form("/work/sign-in")
    visitor.post("/work/sign-in", {**form, "key": key}, status=401)


def test_a_session_lasts_eight_hours() -> None:
    """A session is over at its eighth hour, not before; its secret is kept as a hash."""
    world = World()
    sessions = Sessions(world.runtime())
    secret = sessions.start(OWNER, "hash")
    world.pass_seconds(SESSION_SECONDS - 1)
    assert sessions.find(secret) is not None
    assert secret not in repr(vars(sessions))
    world.pass_seconds(1)

    assert sessions.find(secret) is None


def test_one_key_has_so_many_sessions() -> None:
    """Beyond the limit of a key its oldest session ends, and nobody else's."""
    sessions = Sessions(World().runtime())
    other = sessions.start(OWNER, "other")
    secrets = [sessions.start(OWNER, "one") for _ in range(SESSIONS_PER_KEY_MAX + 1)]

    assert [sessions.find(secret) is None for secret in secrets] == [True] + [False] * SESSIONS_PER_KEY_MAX
    assert sessions.find(other) is not None
