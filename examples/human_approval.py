"""An agent asks before it acts, and somebody else answers: a park, a resume, two keys, one service.

python examples/human_approval.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `examples`, wherever this is run from

import tessera
from examples.serving import serving
from tessera.errors import Forbidden
from tessera.models import Lease
from tessera.worker import Context, Park, Worker

QUESTION = {  # what an answer must look like: the store refuses any other
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}
MAIL = {"to": "the team", "text": "We ship on Friday."}


def send(lease: Lease, context: Context) -> Any:
    """Ask when nobody has answered yet, act when somebody has."""
    if not lease.inputs:
        return Park(f"Send this to {lease.brief['to']}?", input_schema=QUESTION)
    return {"sent": lease.inputs[-1].input["approved"]}


def main(path: Path) -> None:
    """The owner gives out two keys; the agent and the person reach the service with one each."""
    # Both may do what changes things in the house; neither may do what reaches beyond it.
    grant = {"queues": ["mail"], "effect_classes": ["write-internal"]}
    with tessera.open(str(path)) as owner:
        owner.define_queue("mail")
        keys = [owner.issue_key(name=name, **grant).key for name in ("agent", "person")]
        task_id = owner.enqueue(queue="mail", kind="send", effect_class="write-internal", brief=MAIL)

    with serving(path) as url, tessera.Client(url, keys[0]) as agent, tessera.Client(url, keys[1]) as person:
        worker = Worker("mail", agent, name="agent")
        worker.handles("send")(send)
        worker.run_once()
        print("The agent parked the task and is free for other work.")

        [parked] = [task for task in person.tasks(state="waiting").tasks if task.wait_reason == "input"]
        print(f"It waits: {parked.park_reason}")
        try:
            agent.resume(task_id, {"approved": True})
        except Forbidden as refusal:
            print(f"The agent may not answer itself: {refusal}.")
        person.resume(task_id, {"approved": True, "note": "after lunch"}, park=parked.parks)

        worker.run_once()
        [result] = person.results(task_id)
        did = "sent it" if result.output["sent"] else "let it be"
        print(f"The agent went on and {did}: the task is {person.task(task_id).state}.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "store.db")
