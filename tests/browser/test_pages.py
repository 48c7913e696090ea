"""The pages as people meet them."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.conftest import WAIT_MS, faults, sign_in
from playwright.sync_api import Page, expect
from service.pages.browsing import parked
from service.running import Running

import tessera

Opened = Callable[..., Page]
SCHEMA = {
    "type": "object",
    "properties": {
        "ship": {"type": "boolean", "title": "Ship it?"},
        "level": {"enum": ["low", "high"], "title": "Level"},
        "parts": {"type": "array", "items": {"enum": ["app", "docs"]}, "title": "Parts"},
        "count": {"type": "integer", "minimum": 1, "title": "Count"},
        "note": {"type": "string", "title": "Note"},
    },
    "required": ["ship"],
}
LOOKS: dict[str, dict[str, Any]] = {
    "light-desktop": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark-desktop": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "light-phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    "dark-phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}


@pytest.fixture(scope="module")
def town(service: Running) -> dict[str, str]:
    """A service with something of everything: its pages by what they show."""
    queue, other = (
        service.queue("town", max_attempts=1),
        service.queue("a-long-name-for-a-queue-that-is-paused"),
    )
    service.post("/v1/queues/pause", {"name": other})
    for number in range(6):
        service.enqueue(queue, brief={"n": number})
        lease = service.claim(queue, worker="a worker").json
        body = {"task_id": lease["task_id"], "fencing_token": 1, "ok": number > 0, "output": {"n": number}}
        body |= {} if number else {"error": "it broke\nin the middle"}
        service.post("/v1/tasks/submit", body, headers={"idempotency-key": f"town-{number}"})
    first = service.enqueue(queue, kind="first")
    service.enqueue(queue, kind="after", depends_on=[first])
    lease = service.claim(queue).json
    split = {"children": [{"brief": {}, "kind": "child"}, {"brief": {}, "kind": "child", "after": [0]}]}
    service.post("/v1/tasks/split", {"task_id": first, "fencing_token": lease["fencing_token"], **split})
    waits = parked(
        service, service.queue("asking"), "Which of the two, and why?\nTell me.", brief={"wall": "north"},
        resume_within=90_000, input_schema=SCHEMA,
    )  # fmt: skip
    return {
        "board": "/board", "work": "/work", "parked": f"/work/tasks/{waits}", "queues": "/admin",
        "tasks": "/admin/tasks", "story": f"/admin/tasks/{first}", "done": f"/admin/tasks/{lease['task_id']}",
        "keys": "/admin/keys",
    }  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_use_the_pages(
    service: Running, town: dict[str, str], opened: Opened, look: str
) -> None:
    """In light and dark, at a desk and on a phone, axe-core finds nothing serious on any page, and no page is
    wider than its window. (Pictures of them are kept where TESSERA_PICTURES says.)
    """
    page = opened("/admin", **LOOKS[look])
    found = {"sign-in": faults(page)}
    sign_in(page, service.admin)
    for name, path in town.items():
        page.goto(path)
        found[name] = faults(page)
        wide = page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, name
        if (folder := os.environ.get("TESSERA_PICTURES")) is not None:
            page.screenshot(path=Path(folder) / f"{name}-{look}.png", full_page=True)

    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_a_person_answers_a_park(service: Running, opened: Opened) -> None:
    """From the link to the answer: sign in, read why, fill in the form; the worker's next lease has it."""
    queue = service.queue("answer")
    task_id = parked(service, queue, "Shall we?", input_schema=SCHEMA)
    page = opened(f"/work/tasks/{task_id}")
    sign_in(page, service.key(queues=[queue]))
    expect(page.get_by_label("Why it waits")).to_have_text("Shall we?")
    page.get_by_label("Ship it?").select_option("yes")
    page.get_by_label("Level").select_option("high")
    page.get_by_label("docs").check()
    page.get_by_label("Count").fill("3")
    page.get_by_label("Note").fill("gently\nplease")
    page.get_by_role("button", name="Answer and resume").click()
    expect(page.get_by_role("status")).to_contain_text(task_id)

    assert service.claim(queue).json["inputs"][0]["input"] == {
        "ship": True, "level": "high", "parts": ["docs"], "count": 3, "note": "gently\nplease",
    }  # fmt: skip


def test_ones_own_park_is_refused(service: Running, opened: Opened) -> None:
    """Whoever parked a task is told that somebody else must answer it."""
    queue = service.queue("own")
    key = service.key(queues=[queue])
    task_id = parked(service, queue, key=key)
    page = opened("/work")
    sign_in(page, key)
    expect(page.get_by_role("main")).to_contain_text("Nothing waits")
    page.goto(f"/work/tasks/{task_id}")

    expect(page.get_by_role("alert")).to_contain_text("may not resume it")


def test_a_forged_form_is_refused(service: Running, opened: Opened) -> None:
    """A form whose token is not the session's does nothing; nor does one that another origin's page sends,
    for the browser keeps the cookie back.
    """
    queue = service.queue("forged")
    task_id = parked(service, queue)
    page = opened("/work")
    sign_in(page, service.admin)
    page.goto(f"/work/tasks/{task_id}")
    page.locator('form.card input[name="form"]').evaluate("(input) => { input.value = 'x'; }")
    page.get_by_label("Input, as text").fill("yes")
    page.get_by_role("button", name="Answer and resume").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing was done")
    action = f"http://127.0.0.1:{service.port}/work/tasks/{task_id}"
    page.goto(f"http://localhost:{service.port}/healthz")
    page.evaluate(f"""() => {{
      document.body.innerHTML = '<form method=post action="{action}"><input name=input value=yes></form>';
      document.forms[0].submit();
    }}""")
    expect(page.get_by_role("alert")).to_contain_text("nothing was done")

    assert service.get(f"/v1/tasks/{task_id}").json["state"] == "waiting"


def test_a_key_that_ends_ends_the_session(service: Running, opened: Opened) -> None:
    """Once the key has expired the next click leads to the sign-in, and says why."""
    page = opened("/work")
    sign_in(page, service.key(name="short"))
    beside = sqlite3.connect(service.store)
    with beside:
        beside.execute("update keys set expires_at = 1 where name = 'short'")
    beside.close()
    page.get_by_role("link", name="Work").click()

    expect(page.get_by_role("alert")).to_contain_text("counts no more")


def test_html_is_text(service: Running, opened: Opened) -> None:
    """A brief, a reason and a schema full of HTML run nothing, load nothing, and are read as they were
    written.
    """
    evil = "</textarea></pre><script>alert(1)</script><img src=/x onerror=alert(2)><svg onload=alert(3)>"
    schema = {"type": "object", "properties": {evil: {"enum": [evil], "description": evil}}}
    task_id = parked(service, service.queue("evil"), evil, brief={evil: evil}, input_schema=schema)
    page = opened("/work")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    sign_in(page, service.admin)
    for path in ("/work", f"/work/tasks/{task_id}", f"/admin/tasks/{task_id}"):
        page.goto(path)
        assert page.locator("script, img").count() == 0

    expect(page.get_by_label("Why it waits")).to_have_text(evil)
    assert [url for url in asked if url.endswith("/x")] == []


def test_the_board_is_alive(service: Running, opened: Opened) -> None:
    """The board shows what has changed without a reload, keeps the focus meanwhile, and holds still when
    told; without scripts it shows the same.
    """
    queue = service.queue("alive")
    page = opened("/board")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=queue, exact=True))
    expect(row.get_by_role("cell").first).to_have_text("0")
    page.get_by_role("region", name="Queues").focus()
    service.enqueue(queue)
    expect(row.get_by_role("cell").first).to_have_text("1", timeout=WAIT_MS)
    assert page.evaluate("() => document.activeElement.className") == "wide"
    page.get_by_role("button", name="Hold still").click()
    expect(page.get_by_role("button", name="Hold still")).to_have_attribute("aria-pressed", "true")
    plain = opened("/board", java_script_enabled=False)

    expect(plain.get_by_role("rowheader", name=queue, exact=True)).to_be_visible()
    expect(plain.get_by_role("link", name="Hold still")).to_be_visible()


def test_the_desk_works_by_keyboard(service: Running, opened: Opened) -> None:
    """Without a mouse: skip to the content, open the cancel of a task, say why, and it is cancelled."""
    task_id = service.enqueue(service.queue("keys"))
    page = opened("/admin")
    sign_in(page, service.admin)
    page.goto(f"/admin/tasks/{task_id}")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("no longer wanted")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Cancelled")

    with tessera.open(str(service.store)) as store:
        assert store.task(task_id).cancel_reason == "no longer wanted"


@pytest.mark.parametrize("look", ["light-desktop", "dark-phone"])
def test_everybody_can_read_the_docs(opened: Opened, look: str) -> None:
    """In both themes and widths the pages of the docs are no wider than their window, and axe-core finds
    nothing serious on them: on what opens and the first few entries, for the others are made alike, and all
    of them would take it half a minute.
    """
    page = opened("/docs", **LOOKS[look])
    for path in ("/docs", "/docs/models"):
        page.goto(path)
        wide = page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, path
        page.evaluate("() => [...document.querySelectorAll('article')].slice(5).forEach(one => one.remove())")
        for summary in page.locator("summary").all():
            summary.click()
        assert faults(page) == [], path


def test_the_docs_are_read_without_a_script(opened: Opened) -> None:
    """By keyboard and without scripts: from the list of operations to one of them, open what it takes and
    gives, and go on to the model that it answers.
    """
    page = opened("/docs", java_script_enabled=False)
    page.get_by_role("navigation", name="Operations").get_by_role(
        "link", name="POST /v1/tasks/claim"
    ).first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#claim$"))
    claim = page.get_by_role("article", name="POST /v1/tasks/claim", exact=True)
    expect(claim.get_by_text("Idempotency-Key")).to_be_hidden()
    claim.get_by_text("Request, answers, refusals").click()
    expect(claim.get_by_role("region", name="Request of claim")).to_contain_text("Idempotency-Key")
    claim.get_by_role("region", name="Answers of claim").get_by_role("link", name="Lease", exact=True).click()

    expect(page).to_have_url(re.compile("/docs/models#Lease$"))
    expect(page.get_by_role("article", name="Lease", exact=True)).to_contain_text("hard_expires_at")
