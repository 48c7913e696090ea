"""A conversation: a message, what it answers, and all that answers it, out of every agent's boxes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tessera.errors import NotFound
from tessera.messages import boxes, forms
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import Catalog
from tessera.messages.errors import LedgerDamaged


@dataclass(frozen=True, slots=True)
class Post:
    """One message of a conversation; `depth` counts the messages that it answers, directly or not."""

    filename: str
    from_: str | None
    subject: str | None
    in_reply_to: str | None
    depth: int = 0


@dataclass(slots=True)
class Thread:
    """A conversation, oldest first, or as a tree. What could not be read is named: it may be a part."""

    posts: list[Post] = field(default_factory=list)
    tree: list[Post] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def gather(catalog: Catalog, filename: str) -> Thread:
    """The conversation that holds a message. Raises `NotFound` if no box holds it."""
    thread = Thread()
    posts: dict[str, Post] = {}
    for subject in catalog.book().subjects:
        try:
            with catalog.folder(subject) as home, Boxes.open(home) as opened:
                _read_all(opened, posts, thread.unreadable, subject.place)
        except (OSError, LedgerDamaged) as error:
            thread.unreadable.append(f"{subject.place}: {error}")
    if filename not in posts:
        raise NotFound(f"no box holds a message {filename!r}")
    answers: dict[str | None, list[Post]] = defaultdict(list)
    for post in sorted(posts.values(), key=lambda post: (forms.filename_ms(post.filename), post.filename)):
        answers[post.in_reply_to].append(post)
    thread.tree = _below(_root(posts, filename), posts, answers)
    thread.posts = sorted(thread.tree, key=lambda post: (forms.filename_ms(post.filename), post.filename))
    return thread


def _read_all(opened: Boxes, posts: dict[str, Post], unreadable: list[str], place: str) -> None:
    for archive in (False, True):
        for filename in opened.listed(archive=archive):
            try:
                content = opened.message(filename, archive=archive)
                if content is not None:
                    says = boxes.parsed(content, filename)
                    posts[filename] = Post(filename, says.from_, says.subject, says.in_reply_to)
            except (OSError, LedgerDamaged) as error:
                unreadable.append(f"{place}: {error}")


def _root(posts: dict[str, Post], filename: str) -> str:
    """The message that began it, as far as any box still has it. A circle of answers ends where it closes."""
    seen = {filename}
    while (parent := posts[filename].in_reply_to) in posts and parent not in seen:
        assert parent is not None
        seen.add(parent)
        filename = parent
    return filename


def _below(root: str, posts: dict[str, Post], answers: dict[str | None, list[Post]]) -> list[Post]:
    """The root and all that answers it, each below what it answers; each message once."""
    told: dict[str, Post] = {}
    waiting = [(posts[root], 0)]
    while waiting:
        post, depth = waiting.pop()
        if post.filename not in told:
            told[post.filename] = Post(post.filename, post.from_, post.subject, post.in_reply_to, depth)
            waiting += [(answer, depth + 1) for answer in reversed(answers[post.filename])]
    return list(told.values())
