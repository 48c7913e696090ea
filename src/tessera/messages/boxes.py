"""An agent's inbox and archive: files that arrive whole, never change, and are moved by their owner alone."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from tessera.errors import NotFound
from tessera.messages import forms, rendering
from tessera.messages.catalog import ARCHIVE, INBOX, RESOURCES
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged, MessageCollision


class Boxes:
    """The open boxes of one agent. One that nobody has made is an empty one."""

    def __init__(self, inbox: Folder | None, archive: Folder | None, stack: ExitStack) -> None:
        self.inbox = inbox
        self.archive = archive
        self._stack = stack

    @classmethod
    def open(cls, home: Folder) -> Boxes:
        """The boxes of the agent whose folder this is. Raises OSError."""
        with ExitStack() as stack:
            resources = home.sub_or_none(RESOURCES)
            if resources is None:
                return cls(None, None, stack.pop_all())
            with resources:
                boxes = [resources.sub_or_none(name) for name in (INBOX, ARCHIVE)]
                for box in boxes:
                    if box is not None:
                        stack.enter_context(box)
            return cls(boxes[0], boxes[1], stack.pop_all())

    @classmethod
    def make(cls, home: Folder, *, sync: bool = False) -> Boxes:
        """The same, made where they are missing. Raises OSError."""
        with home.make_sub(RESOURCES, sync=sync) as resources, ExitStack() as stack:
            inbox, archive = (
                stack.enter_context(resources.make_sub(name, sync=sync)) for name in (INBOX, ARCHIVE)
            )
            return cls(inbox, archive, stack.pop_all())

    def __enter__(self) -> Boxes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def has(self, filename: str) -> bool:
        """Whether a message of this name is in either."""
        return any(box is not None and box.has(filename) for box in (self.inbox, self.archive))

    def deliver(self, filename: str, content: bytes) -> None:
        """Let a message stand in the inbox, durably. The same one there already, or in the archive, is
        success. Raises `MessageCollision` for other bytes in its place, OSError.
        """
        assert self.inbox is not None
        if self._is_archived(filename, content):
            return
        try:
            self.inbox.create(filename, content)
        except FileExistsError:
            if self.inbox.read(filename) != content:
                raise MessageCollision(
                    f"message filename collision with different bytes: {filename}"
                ) from None
            self.inbox.settle(filename)
        if self._is_archived(filename, content):  # meanwhile, by its recipient: it does not come back
            self.inbox.remove(filename)

    def _is_archived(self, filename: str, content: bytes) -> bool:
        archived = None if self.archive is None else self.archive.read_or_none(filename)
        if archived is not None and archived != content:
            raise MessageCollision(f"archived message differs from pending send {filename}")
        return archived is not None

    def put_away(self, filename: str) -> None:
        """Move a message from the inbox to the archive, durably; again changes nothing. Raises `NotFound`,
        `MessageCollision` if the archive holds other bytes under its name, OSError.
        """
        content = None if self.inbox is None else self.inbox.read_or_none(filename)
        archived = None if self.archive is None else self.archive.read_or_none(filename)
        if content is None and archived is None:
            raise NotFound(f"no message {filename!r} in the inbox")
        if content is None:
            return
        assert self.inbox is not None
        assert self.archive is not None
        try:
            self.inbox.link_to(filename, self.archive)
        except FileNotFoundError:  # another one of the agent's processes was faster
            return
        except FileExistsError:
            if self.archive.read(filename) != content:
                raise MessageCollision(f"the archive holds other bytes under {filename}") from None
            self.archive.settle(filename)
        self.inbox.remove(filename)

    def listed(self, *, archive: bool = False) -> list[str]:
        """The filenames in one box, oldest first. What is archived is not in the inbox any more, whatever a
        restored copy says. Raises `LedgerDamaged`, OSError.
        """
        box = self.archive if archive else self.inbox
        names = [] if box is None else [name for name in box.names() if forms.is_filename(name)]
        if archive or self.archive is None:
            return names
        gone = set(self.archive.names())
        return [name for name in names if name not in gone]

    def message(self, filename: str, *, archive: bool = False) -> bytes | None:
        """The bytes of a message in one box, or None. Raises `LedgerDamaged`, OSError."""
        box = self.archive if archive else self.inbox
        return None if box is None else box.read_or_none(filename)


def text_of(content: bytes, where: str) -> str:
    """A message's text. Raises `LedgerDamaged` for one that is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LedgerDamaged(f"{where} is not UTF-8: {error.reason} at byte {error.start}") from error


def parsed(content: bytes, where: str) -> rendering.Parsed:
    """What a message says. Raises `LedgerDamaged`."""
    return rendering.parse(text_of(content, where))
