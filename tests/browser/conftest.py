"""A real browser on a real service."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from service.running import HOST, Running, serving

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
WAIT_MS = 15_000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for a module. Nothing unforeseen may be in its log at the end."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's chromium, without its window. (It has no sandbox for the superuser.)"""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program is not None, "run `make browser`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else []
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(service: Running, browser: Browser) -> Iterator[Callable[..., Page]]:
    """New pages, each of a visitor of its own. At the end none of them may have said anything on its console:
    neither an error nor a broken policy.
    """
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def opened(path: str, **options: Any) -> Page:
        context = browser.new_context(base_url=f"http://{HOST}:{service.port}", **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    refused = "Failed to load resource: the server responded with a status of"  # what a test asks for
    assert [text for text in said if not text.startswith(refused)] == []


def sign_in(page: Page, key: str) -> None:
    """Fill in the form and send it, with the keyboard alone."""
    page.get_by_label("Key", exact=True).focus()
    page.keyboard.type(key)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def faults(page: Page) -> list[str]:
    """What axe-core finds wrong with a page that is serious or worse. It is run from outside the page, whose
    policy lets no other script in.
    """
    assert AXE.is_file(), "run `make browser`"
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found = page.evaluate("() => axe.run()")
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
