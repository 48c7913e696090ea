"""What every page carries, and what it does not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from service.pages.browsing import Page, Visitor, parked
from service.running import Running

Visit = Callable[..., Visitor]
PAGES = (
    "/board",
    "/docs",
    "/docs/models",
    "/work",
    "/work/tasks/nothing",
    "/admin",
    "/admin/tasks",
    "/admin/keys",
    "/admin/tasks/nothing",
)


@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize("path", PAGES)
def test_pages_are_guarded(service: Running, visit: Visit, path: str, signed_in: bool) -> None:
    """Every page, refusals and sign-ins too, allows nothing from elsewhere, no frame around it, no guess at
    its type, no referrer, and no copy in a cache.
    """
    answer = visit(service.admin if signed_in else None).http.get(path)
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))

    assert policy.pop("default-src") == policy.pop("frame-ancestors") == policy.pop("base-uri") == "'none'"
    assert set(policy.values()) == {"'self'"}
    assert ("script-src" in policy) == (path == "/board")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", PAGES)
def test_pages_hold_no_code_of_their_own(service: Running, visit: Visit, path: str) -> None:
    """No page holds a script, a style or a handler in its text, and all that it loads is the service's."""
    answer = visit(service.admin).http.get(path)
    page = Page(answer.text)

    assert all(given.get("src") for given in page.named("script"))
    assert page.named("style") == []
    assert [
        name for _, given in page.tags for name in given if name == "style" or name.startswith("on")
    ] == []
    loaded = [given.get("src") or "" for given in page.named("script")]
    loaded += [given.get("href") or "" for given in page.named("link")]
    for address in loaded:
        assert address.startswith("/pages/")
        assert visit().http.get(address).status_code == 200


def test_a_brief_full_of_html_is_text(service: Running, queue: str, visit: Visit) -> None:
    """What workers wrote, in a brief, a reason, a schema, an error or a worker's name, adds no element to any
    page, and stands there letter for letter.
    """
    evil = "</pre></textarea><script>alert(1)</script><img src=x onerror=alert(1)>\"'><a href=javascript:1>"
    schema = {"type": "object", "properties": {evil: {"enum": [evil], "title": evil, "description": evil}}}
    task_id = parked(service, queue, evil, brief={evil: evil}, input_schema=schema)
    other = service.enqueue(queue, brief={"x": evil})
    lease = service.claim(queue, worker=evil).json
    service.post(
        "/v1/tasks/submit",
        {"task_id": other, "fencing_token": lease["fencing_token"], "ok": False, "error": evil},
        headers={"idempotency-key": f"{other}-1"},
    )
    visitor = visit(service.admin)
    paths = ("/work", f"/work/tasks/{task_id}", f"/work/tasks/{task_id}?as=json", f"/admin/tasks/{task_id}",
             f"/admin/tasks/{other}", "/admin/tasks", "/work?resumed=%3Cscript%3E")  # fmt: skip
    for path in paths:
        page = visitor.get(path)
        assert page.named("script") == page.named("img") == []
        links = [given.get("href") or "" for given in page.named("a")]
        assert [link for link in links if not re.match(r"/|#|\?", link)] == []
    assert evil in visitor.get(f"/work/tasks/{task_id}").text
    assert evil in visitor.get(f"/admin/tasks/{other}").text


def test_the_bare_address_leads_to_the_board(visit: Visit) -> None:
    """Whoever opens the address that `serve` has printed sees the board, which needs no key."""
    answer = visit().http.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/board")


@pytest.mark.parametrize("path", ["/work/tasks/a/b", "/admin/nothing", "/board/", "/docs/a"])
def test_a_wrong_address_is_told_on_a_page(visit: Visit, path: str) -> None:
    """Whoever follows a wrong link below a page reads so on a page, with a way back; elsewhere it is JSON."""
    answer = visit().http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "there is nothing at this path" in answer.text
    assert f'href="/{path.split("/")[1]}"' in answer.text
    assert visit().http.get("/nothing/else").headers["content-type"] == "application/problem+json"


def test_other_methods_are_refused(visit: Visit) -> None:
    """A method that a page has no use for is 405 with `Allow`; OPTIONS lists it, HEAD has no body."""
    visitor = visit()
    for path, allow in (("/board", "GET, HEAD, OPTIONS"), ("/work/sign-in", "POST, OPTIONS")):
        answer = visitor.http.request("DELETE", path)
        assert (answer.status_code, answer.headers["allow"]) == (405, allow)
        assert visitor.http.options(path).headers["allow"] == allow
    assert visitor.http.post("/board").status_code == 405
    assert visitor.http.get("/work/sign-in").status_code == 405
    assert visitor.http.head("/board").content == b""


def test_a_key_in_an_address_is_refused(service: Running, visit: Visit) -> None:
    """A key in a query is 401, though a page would not look at it, and stands nowhere in the answer."""
    for path in ("/board", "/work", "/admin/tasks"):
        answer = visit(service.admin).http.get(f"{path}?queue={service.admin}")
        assert answer.status_code == 401
        assert service.admin not in answer.text
    assert service.admin[:24] not in service.log.read_text()
