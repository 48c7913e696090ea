"""A visitor of the pages without a browser: cookies, and forms as they stand on the page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import httpx
from service.running import HOST, Running


class Page(HTMLParser):
    """What a page is made of: its elements, its forms, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[dict[str, Any]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "form":
            self.forms.append({**given, "fields": {}})
        elif tag == "input" and self.forms and given.get("type") != "checkbox":
            self.forms[-1]["fields"][given.get("name")] = given.get("value") or ""

    def handle_data(self, data: str) -> None:
        """Some text."""
        self.text += data

    def form(self, action: str) -> dict[str, str]:
        """The fields of the form that goes there, as they stand."""
        (found,) = [form["fields"] for form in self.forms if form["action"] == action]
        return dict(found)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every such element."""
        return [attributes for name, attributes in self.tags if name == tag]


class Visitor:
    """Somebody at the pages of a service."""

    def __init__(self, service: Running) -> None:
        self._service = service
        self.http = httpx.Client(base_url=f"http://{HOST}:{service.port}", timeout=40)

    def close(self) -> None:
        """Leave."""
        self.http.close()

    def get(self, path: str, status: int = 200) -> Page:
        """A page, answered with this status."""
        answer = self.http.get(path)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return Page(answer.text)

    def post(self, path: str, fields: dict[str, Any], status: int = 303, **headers: str) -> httpx.Response:
        """A form sent as it is."""
        answer = self.http.post(path, data=fields, headers=headers)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer

    def sign_in(self, key: str, area: str = "/work") -> httpx.Response:
        """Sign in by the form of an area."""
        form = self.get(area, status=401).form(f"{area}/sign-in")
        return self.post(f"{area}/sign-in", {**form, "key": key})

    def send(self, page: str, action: str, status: int = 303, **filled: Any) -> httpx.Response:
        """Fill in the form of a page and send it."""
        return self.post(action, {**self.get(page).form(action), **filled}, status)


def parked(service: Running, queue: str, reason: str = "may I?", **more: Any) -> str:
    """A task of that queue, parked by a key of its own."""
    schema, within = more.pop("input_schema", None), more.pop("resume_within", None)
    key = more.pop("key", None) or service.key(
        name="worker", effect_classes=[more.get("effect_class", "read"), "read"]
    )
    task_id = service.enqueue(queue, **more)
    lease = service.call("POST", "/v1/tasks/claim", {"queue": queue, "worker": "w"}, key=key).json
    assert lease["task_id"] == task_id
    park = {
        "task_id": task_id, "fencing_token": lease["fencing_token"], "reason": reason,
        "input_schema": schema, "resume_within": within,
    }  # fmt: skip
    reply = service.post("/v1/tasks/park", park, key=key)
    assert reply.status == 200, reply.body
    return task_id
