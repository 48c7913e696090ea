"""Repository chores by a swarm of coding agents, where the effect classes are what keeps the repository safe.

Each chore is three tasks, each waiting for the one before it:

    survey   read            which files does it concern?
    patch    write-internal  do it in a worktree, hand in the diff
    merge    write-repo      ask somebody, then commit to main

The scouts' key holds `read` alone, so no scout can be handed work that changes anything, whatever it is told.
The merger may commit, but not answer its own question: that takes the maintainer's key.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import tessera
from examples.coding_swarm.chores import CHORES, applied, git, new_repository, patched, survey
from examples.serving import serving
from tessera.errors import Forbidden, ScopeDenied
from tessera.library import Tessera
from tessera.models import Lease, TaskView
from tessera.worker import Context, Park, Worker

QUEUE = "chores"
QUESTION = {"type": "object", "properties": {"merge": {"type": "boolean"}}, "required": ["merge"]}


def plan(owner: Tessera) -> None:
    """Three tasks a chore. A chore waits for the one before it, so that its diff is fresh when merged."""
    owner.define_queue(QUEUE, heartbeat_seconds=10, backoff_base_seconds=0)
    before: list[str] = []
    for chore in CHORES:
        ids = {step: f"{chore}:{step}" for step in ("survey", "patch", "merge")}
        task = {"queue": QUEUE, "brief": {"chore": chore}}
        owner.enqueue(task, kind="survey", task_id=ids["survey"], depends_on=before)
        owner.enqueue(
            task,
            kind="patch",
            task_id=ids["patch"],
            effect_class="write-internal",
            depends_on=[ids["survey"]],
        )
        owner.enqueue(
            task, kind="merge", task_id=ids["merge"], effect_class="write-repo", depends_on=[ids["patch"]]
        )
        before = [ids["merge"]]


def keys(owner: Tessera) -> dict[str, str]:
    """One key for each kind of agent, with what its work needs and nothing more."""
    held = {
        "scout": {"kinds": ["survey"], "effect_classes": ["read"]},
        "smith": {"kinds": ["patch"], "effect_classes": ["write-internal"]},
        "merger": {"kinds": ["merge"], "effect_classes": ["write-repo"]},
        # Answering for a repository takes the admin scope, too.
        "maintainer": {"kinds": ["merge"], "effect_classes": ["write-repo"], "scopes": ["admin"]},
    }
    return {name: owner.issue_key(name=name, queues=[QUEUE], **grant).key for name, grant in held.items()}


def agents(repository: Path, store_of: dict[str, Tessera]) -> list[Worker]:
    """The agents: what each does with a lease. An exception is a failed attempt, tried again."""

    def look(lease: Lease, context: Context) -> Any:
        return {"files": survey(repository, lease.brief["chore"])}

    def patch(lease: Lease, context: Context) -> Any:
        [found] = lease.dependencies
        return {"diff": patched(repository, lease.brief["chore"], found.output["files"])}

    def merge(lease: Lease, context: Context) -> Any:
        [patch] = lease.dependencies
        if not lease.inputs:
            changed = patch.output["diff"].count("\n-") + patch.output["diff"].count("\n+")
            return Park(f"{lease.brief['chore']}: {changed} lines of diff. Merge?", input_schema=QUESTION)
        if not lease.inputs[-1].input["merge"]:
            return {"commit": None}
        return {"commit": applied(repository, lease.brief["chore"], patch.output["diff"])}

    made = []
    for name, kind, act in (("scout", "survey", look), ("smith", "patch", patch), ("merger", "merge", merge)):
        made.append(Worker(QUEUE, store_of[name], name=name))
        made[-1].handles(kind)(act)
    return made


def show_the_walls(scout: Tessera, smith: Tessera) -> None:
    """What an agent cannot do, even when somebody talks it into trying."""
    try:
        scout.claim(QUEUE, "scout", effect_classes=["write-repo"])
    except ScopeDenied as refusal:
        print(f"A scout that wants to write: {refusal}.")
    try:
        smith.enqueue(queue=QUEUE, kind="patch", brief={}, effect_class="write-repo")
    except ScopeDenied as refusal:
        print(f"A smith that makes itself a merge: {refusal}.")


def main(folder: Path) -> None:
    """Let the swarm do the chores, one agent of each kind, and a maintainer who answers."""
    repository, path = new_repository(folder / "shop"), folder / "store.db"
    with tessera.open(str(path)) as owner:
        plan(owner)
        key_of = keys(owner)
    with serving(path) as url, ExitStack() as clients:
        store_of = {name: clients.enter_context(tessera.Client(url, key)) for name, key in key_of.items()}
        maintainer = store_of["maintainer"]
        show_the_walls(store_of["scout"], store_of["smith"])
        swarm = agents(repository, store_of)
        while any(task.state not in ("done", "dead") for task in maintainer.tasks(QUEUE).tasks):
            reports = [worker.run_once() for worker in swarm]
            for task in maintainer.tasks(QUEUE, "waiting").tasks:
                if task.wait_reason == "input":
                    answer(maintainer, store_of["merger"], task)
            assert any(reports), "nobody found anything to do"
    print(git(repository, "log", "--format=%s").strip())
    assert all(survey(repository, chore) == [] for chore in CHORES)


def answer(maintainer: Tessera, merger: Tessera, task: TaskView) -> None:
    """The maintainer's word. The merger, who asked, is refused it."""
    try:
        merger.resume(task.task_id, {"merge": True})
    except (Forbidden, ScopeDenied) as refusal:
        print(f"{task.park_reason} The merger may not say so itself ({refusal.code}); the maintainer does.")
    maintainer.resume(task.task_id, {"merge": True}, park=task.parks)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        main(Path(home))
