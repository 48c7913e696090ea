"""A visitor of `/work` who knows no more than HTML: forms are filled in as they stand on the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx

TIMEOUT_SECONDS = 60


@dataclass
class Form:
    """A form of a page: where it goes, what it holds, and the names of its password and its long text."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    password: str | None = None
    text: str | None = None


class _Forms(HTMLParser):
    """Every form of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given["action"]))
        elif self.found and tag == "input" and given.get("type") == "password":
            self.found[-1].password = given["name"]
        elif self.found and tag == "input":
            self.found[-1].fields[given["name"]] = given.get("value", "")
        elif self.found and tag == "textarea":
            self.found[-1].text = given["name"]


class Visitor:
    """Somebody signed in at `/work`."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT_SECONDS, follow_redirects=True)
        (form,) = self.forms("/work")
        assert form.password is not None
        signed_in = self._http.post(urljoin("/work", form.action), data={**form.fields, form.password: key})
        assert signed_in.status_code == 200, signed_in.status_code

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def status(self, path: str) -> int:
        """How a page answers."""
        return self._http.get(path).status_code

    def page(self, path: str) -> str:
        """A page."""
        return self._http.get(path).text

    def forms(self, path: str) -> list[Form]:
        """The forms of a page."""
        return _Forms(self._http.get(path).text).found

    def answer_form(self, task_id: str) -> Form:
        """The form that takes a parked task's answer."""
        (form,) = [form for form in self.forms(f"/work/tasks/{task_id}") if form.text is not None]
        return form

    def send(self, form: Form, text: str) -> int:
        """Fill in a form's text, send it under this visitor's own token, and return the status."""
        own = {name: value for one in self.forms("/work") for name, value in one.fields.items()}
        assert form.text is not None
        fields = {name: own.get(name, value) for name, value in form.fields.items()}
        action = urljoin("/work", form.action)
        return self._http.post(action, data={**fields, form.text: text}).status_code
