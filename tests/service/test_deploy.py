"""What the files under deploy/ make of the figures."""

from __future__ import annotations

import re
from pathlib import Path

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_what_every_node_tells_alike_is_not_added_up() -> None:
    """Of a figure of the store, which every node gives, the dashboard and the alerts take the greatest."""
    board = (DEPLOY / "grafana" / "tessera.json").read_text()
    asked = re.findall(r'"expr": "(.*)",?$', board, re.MULTILINE)
    rules = (DEPLOY / "prometheus" / "alerts.yml").read_text()
    asked += re.findall(r"expr: (?:>-\n)?((?:.|\n)*?)\n +(?:for|labels):", rules)
    alike = re.compile(r"tessera_(?:tasks|oldest_ready|late|expired|overdue|queue_paused|reaped)")
    of_the_store = [one for one in asked if alike.search(one)]
    assert len(of_the_store) > 15
    for one in of_the_store:
        found = alike.findall(one)
        greatest = re.findall(r"max(?: by \([a-z, ]+\) )?\((?:\w+\()?tessera_", one)
        assert len(greatest) == len(found), one
