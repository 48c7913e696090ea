"""The external eval mailbox: one flat inbox in the catalog, and messages that no ledger knows.

`TESSERA_EVAL_REQUESTER` names it. A message to it or from it is delivered like any other, but no sender's
history holds it: whoever evaluates a swarm leaves no trace in what the swarm says of itself.
"""

from __future__ import annotations

from contextlib import ExitStack

from tessera import limits
from tessera.errors import InvalidRequest, NotFound, Unavailable
from tessera.messages import forms, rendering
from tessera.messages.agents import AGENTS, Subject
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import ARCHIVE, INBOX, Catalog
from tessera.messages.sending import Draft


def is_mailbox_name(name: str) -> bool:
    """Whether it may name the mailbox: one step of a path that is no part of the catalog's own."""
    return forms.is_component(name) and name != AGENTS


def open_boxes(catalog: Catalog, name: str) -> Boxes:
    """The mailbox's inbox, and its archive if there is one. Raises `NotFound`: nobody makes it in passing."""
    if not is_mailbox_name(name):
        raise InvalidRequest(f"the external mailbox {name!r} is no name of a folder")
    home = catalog.root.sub_or_none(name)
    if home is None:
        raise NotFound(f"no external mailbox {name!r} in catalog {catalog.path}")
    with home, ExitStack() as stack:
        inbox = home.sub_or_none(INBOX)
        if inbox is None:
            raise NotFound(f"the external mailbox {name!r} has no inbox")
        stack.enter_context(inbox)
        archive = home.sub_or_none(ARCHIVE)
        if archive is not None:
            stack.enter_context(archive)
        return Boxes(inbox, archive, stack.pop_all())


def send(catalog: Catalog, sender: Subject | str, to: Subject | str, draft: Draft) -> str:
    """Deliver a message of which at least one end is the mailbox, given by its name. Gives the filename.

    Raises `InvalidRequest` for an idempotency key, which needs a ledger; `NotFound`, `Unavailable`.
    """
    draft.checked()
    if draft.idempotency_key is not None:
        raise InvalidRequest("external requester messages do not own an ordinary sent-message index")
    try:
        with ExitStack() as stack:
            if isinstance(to, Subject):
                home = stack.enter_context(catalog.folder(to))
                boxes = stack.enter_context(Boxes.make(home))
            else:
                boxes = stack.enter_context(open_boxes(catalog, to))
            return _deliver(catalog, boxes, _rendered(sender, draft))
    except OSError as error:
        raise Unavailable(f"the message may not be delivered: {error.strerror}") from error


def _rendered(sender: Subject | str, draft: Draft) -> bytes:
    if isinstance(sender, Subject):
        from_, from_id = sender.agent.shown, sender.agent.id
    else:
        from_, from_id = sender, None
    return rendering.render(
        from_, draft.body, from_id=from_id, subject=draft.subject, in_reply_to=draft.in_reply_to,
        tags=[tag.strip() for tag in draft.tags],
    ).encode()  # fmt: skip


def _deliver(catalog: Catalog, boxes: Boxes, content: bytes) -> str:
    assert boxes.inbox is not None
    for _ in range(limits.MESSAGE_NAMES_MAX):
        filename = forms.fresh_filename(catalog.runtime.now_us() // 1_000, catalog.runtime.token())
        if boxes.has(filename):
            continue
        try:
            boxes.inbox.create(filename, content)
        except FileExistsError:
            continue
        return filename
    raise Unavailable("no unused message filename was found; try again", definite=True)
