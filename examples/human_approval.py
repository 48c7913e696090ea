"""An agent asks before it acts, and somebody else answers: park and resume with two keys.

python examples/human_approval.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import tessera
from tessera.errors import Forbidden
from tessera.library import Tessera

QUESTION = {  # what an answer must look like: the store refuses any other
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}


def work(store: Tessera) -> str:
    """The agent's turn: ask when nobody has answered yet, act when somebody has."""
    lease = store.claim("mail", worker="agent")
    assert lease is not None
    handle = lease.task_id, lease.fencing_token
    if not lease.inputs:
        store.park(*handle, f"Send this to {lease.brief['to']}?", input_schema=QUESTION)
        return "The agent parked the task and is free for other work."
    answer = lease.inputs[-1].input
    receipt = store.submit(*handle, {"sent": answer["approved"]}, idempotency_key=f"{lease.task_id}:sent")
    did = "sent it" if answer["approved"] else "let it be"
    return f"The agent went on and {did}: the task is {receipt.state}."


with tempfile.TemporaryDirectory() as folder, tessera.open(str(Path(folder) / "store.db")) as owner:
    owner.define_queue("mail")
    # Both may do what changes things in the house; neither may do what reaches beyond it.
    grant = {"queues": ["mail"], "effect_classes": ["write-internal"]}
    agent = owner.as_key(owner.issue_key(name="agent", **grant).key)
    person = owner.as_key(owner.issue_key(name="person", **grant).key)
    brief = {"to": "the team", "text": "We ship on Friday."}
    owner.enqueue(queue="mail", kind="send", effect_class="write-internal", brief=brief)
    print(work(agent))

    [parked] = [task for task in person.tasks(state="waiting").tasks if task.wait_reason == "input"]
    print(f"It waits: {parked.park_reason}")
    try:
        agent.resume(parked.task_id, {"approved": True})
    except Forbidden as refusal:
        print(f"The agent may not answer itself: {refusal}.")
    person.resume(parked.task_id, {"approved": True, "note": "after lunch"}, park=parked.parks)
    print(work(agent))
