"""The room stands apart: no database, no server, and its steps are the table's."""

from __future__ import annotations

import subprocess
import sys

from messages.test_crashes import POINTS
from tessera.messages import publish
from tessera.states import NEW, PUBLICATION, PUBLISHED

FOREIGN = ["apsw", "sqlite3", "psycopg", "uvicorn", "starlette", "httpx", "mcp", "rich",
           "tessera.app", "tessera.library", "tessera.storage", "tessera.verbs"]  # fmt: skip


def test_the_room_loads_no_database_and_no_server() -> None:
    """Importing it, and sending with it, loads no driver, no server and nothing of the queue."""
    code = f"""
import sys, tempfile
from tessera import messages
with messages.open(tempfile.mkdtemp() + "/c") as mail:
    for name in ("h.a", "h.b"):
        mail.add_agent(name)
    mail.send("h.a", "h.b", "x")
    assert len(mail.sent("h.a").messages) == 1
assert not [name for name in {FOREIGN} if name in sys.modules], sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_its_help_loads_no_more_than_click() -> None:
    """`tessera message --help` loads the table of its commands, and none of them."""
    code = """
import sys
from tessera.cli.main import main
try:
    main(["message", "--help"])
except SystemExit:
    pass
assert not {"tessera.messages", "tessera.cli.message_options", "msgspec", "json", "rich"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_steps_are_the_tables() -> None:
    """Every step is a transition of the table, and the way from a new message to a published one is whole."""
    steps = {(before, after) for before, (_, after) in publish.STEPS.items()}
    state, way = NEW, []
    while state != PUBLISHED:
        state = publish.STEPS[state][1]
        way.append(state)

    assert steps == {pair for pair in PUBLICATION if pair[1] != "abandoned"}
    assert len(way) == len(steps)
    assert POINTS == [
        "message.coverage", "message.pending", "message.active", "message.recipient", "message.row",
        "message.node", "message.head", "message.key", "message.pending_cleanup", "message.active_cleanup",
    ]  # fmt: skip
