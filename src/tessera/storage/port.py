"""What a verb sees of a store, and what a door sees of an engine. Every engine gives exactly this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from tessera.runtime import Runtime
from tessera.storage.meter import Meter


class Transaction(Protocol):
    """One verb's view: one instant, all reads before the first write, no way to refuse after it."""

    now: int  # microseconds since 1970; read once the lock is held; never runs backwards in a store
    settled: int  # how many overdue things were settled on behalf of this verb so far

    def one(self, name: str, /, **params: object) -> Any:
        """A statement's only row, as the struct that its block names, or None."""

    def all(self, name: str, /, **params: object) -> list[Any]:
        """Every row of a statement."""

    def write(self, name: str, /, **params: object) -> None:
        """Run a writing statement. It must change a row: none changed means the race was lost, and the verb
        re-runs.
        """

    def save(self, name: str, row: Any) -> None:
        """The same for a statement whose parameters are attributes of a row."""

    def save_all(self, name: str, rows: Sequence[Any]) -> None:
        """The same for each of several rows."""

    def count(self, queue: int, came_from: int | None, goes_to: int, tasks: int = 1) -> None:
        """Note a change of state for the queue's counts; written once, before the commit."""

    def event(
        self, type_name: str, queue: int | None = None, task_id: str | None = None, worker: str | None = None,
        fencing_token: int | None = None, key_id: str | None = None, data: str | None = None,
    ) -> None:  # fmt: skip
        """Note a line of the log; written once, before the commit."""

    def alarm(self, queue: int, at: int) -> None:
        """Something in the queue falls due at that instant."""

    def quiet(self, queue: int) -> bool:
        """Whether nothing in the queue can be overdue, as far as memory knows, or what is was passed over;
        False when nobody knows.
        """

    def pass_over(self, queue: int) -> None:
        """What is overdue in the queue cannot be settled now: others are about to, or its rows are damaged.
        The verb goes on without.
        """

    def quiet_until(self, queue: int, at: int) -> None:
        """Remember that nothing in the queue falls due before that instant, unless an alarm says so."""

    def ready(self, queue: int) -> None:
        """Tell the queue's waiting claims after the commit; a count that goes to ready does so by itself."""

    def after_commit(self, tell: Callable[[], None]) -> None:
        """Call this once the verb's changes are committed; never on a rollback or a re-run."""


Verb = Callable[..., Any]  # verb(tx, runtime, caller, ask)
Settle = Callable[[Transaction, Runtime], int]  # returns how many things it settled


class Answer(Protocol):
    """What will come of a verb: a `concurrent.futures.Future`, an `asyncio.Future`, or the like."""

    def done(self) -> bool:
        """Whether it has come."""

    def result(self) -> Any:
        """The answer; raises the refusal."""


class Engine(Protocol):
    """A store that runs verbs. An answer is given only once it would survive a power cut."""

    def submit(self, verb: Verb, *args: Any) -> Answer:
        """Run `verb(tx, runtime, *args)` in a transaction. The future holds its answer or its refusal. A verb
        whose `provisional` is true may be answered before it is on disk: a later one will be, and it with
        it. Of those that stand in line, one whose `patient` is true goes after the others, and one whose
        `presses` is true may go before them.
        """

    def read(self, look: Verb, *args: Any) -> Any:
        """Run a verb that only reads, beside the writer; return its answer or raise its refusal."""

    def close(self) -> None:
        """Finish what runs and let go of the store."""


class News(Struct, frozen=True):
    """What a commit has changed, for whoever waits for that."""

    ready: frozenset[str] = frozenset()  # queues, by name, that gained a task to claim
    events: Sequence[tuple[str, str | None]] = ()  # of each new line of the log: its type and its task
    foreign: bool = False  # another process has written since the last news: anything may have changed


class EngineOnLoop(Protocol):
    """The same for callers on one event loop: answers are awaited, and commits are news."""

    meter: Meter

    def submit(self, verb: Verb, *args: Any) -> Awaitable[Any]:
        """Run `verb(tx, runtime, *args)` in a transaction."""

    def call(self, then: Callable[[Any], None], verb: Verb, *args: Any) -> None:
        """The same, where a future would cost as much as the verb: `then` is called on the loop with the
        answer, or with the refusal or error that came instead; at once if the store is closed. It may not
        raise.
        """

    def read(self, look: Verb, *args: Any) -> Awaitable[Any]:
        """Run a verb that only reads, beside the writer."""

    def compute(self, work: Callable[[], Any]) -> Awaitable[Any]:
        """Compute something in a thread."""

    def watch(self, tell: Callable[[News], None]) -> None:
        """From now on, call this on the loop after each commit that changed something."""

    def close(self) -> None:
        """Finish what runs and let go of the store."""


class Overdue(Exception):
    """A verb found something that has fallen due. Its engine settles that in a transaction of its own, then
    runs the verb again: this is how a claim reaps first, and how a lapse is kept though the caller is
    refused. Raised before the verb's first write only.
    """

    def __init__(self, settle: Settle) -> None:
        super().__init__("settle first")
        self.settle = settle


class LostRace(Exception):
    """A row was not as the verb had read it: nothing was changed, run the verb again."""
