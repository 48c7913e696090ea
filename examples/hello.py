"""The whole circle in one process: define a queue, enqueue, claim, submit, and hold a receipt.

python examples/hello.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import tessera

with tempfile.TemporaryDirectory() as folder, tessera.open(str(Path(folder) / "hello.db")) as store:
    store.define_queue("greetings")
    task_id = store.enqueue(queue="greetings", kind="greet", brief={"whom": "world"})

    lease = store.claim("greetings", worker="hello.py")
    assert lease is not None
    output = {"text": f"Hello, {lease.brief['whom']}!"}
    # The key makes a submit safe to repeat: should the answer get lost, the same call brings it again.
    receipt = store.submit(lease.task_id, lease.fencing_token, output, idempotency_key=f"{task_id}:1")

    print(output["text"])
    print(f"{task_id} is {store.task(task_id).state}; its receipt is {receipt.sha256}")
