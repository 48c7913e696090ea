"""`/metrics`: the service's figures in Prometheus's form. Everything is gathered when somebody asks; the
library that writes the form is loaded then too.

What runs beside the service, such as wakes, gives its figures as `Gauge`s to `tessera.app.serve(beside=…)`: a
new room joins there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from msgspec import Struct

from tessera import figures
from tessera.errors import MethodNotAllowed, NotFound, TesseraError
from tessera.limits import SECOND_US
from tessera.models import FileFigures, Health, Nothing, QueueConfig, TimeFigures
from tessera.names import VERSION
from tessera.rules.grants import Caller
from tessera.rules.histograms import Histogram
from tessera.service import answers
from tessera.service.answers import Send, Words
from tessera.service.gate import Gate
from tessera.service.keys import NOBODY
from tessera.service.metrics import Gauge, Metrics
from tessera.service.own import METRICS
from tessera.service.requests import Headers, Receive, Scope
from tessera.states import STATES
from tessera.storage.meter import Meter
from tessera.storage.port import EngineOnLoop
from tessera.surface import SURFACE
from tessera.verbs.guarded import Guarded
from tessera.verbs.pages import every_queue

log = logging.getLogger("tessera.service")
LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost")
Beside = Callable[[], Iterable[Gauge]]


# Outcomes that alerts count, there from the start: Prometheus sees no rise in a counter that begins at one.
ALERTING: Final = (
    *(
        (name, outcome)
        for name, row in SURFACE.items()
        if row.path
        for outcome in ("internal", "unavailable")
    ),
    *((name, "stale_lease") for name, row in SURFACE.items() if "fencing_token" in row.ask.__struct_fields__),
)


class Seen(Struct, frozen=True):
    """What was found of the store, and the limit of claims, which only the loop may ask for."""

    health: Health
    queues: list[QueueConfig]
    times: TimeFigures
    limit: int


class Exposition:
    """Answers those who ask for the figures."""

    def __init__(
        self, engine: EngineOnLoop, metrics: Metrics, gate: Gate, streams: Callable[[], int],
        beside: Iterable[Beside],
    ) -> None:  # fmt: skip
        self._engine = engine
        self._metrics = metrics
        self._gate = gate
        self._streams = streams
        self._beside = list(beside)
        self._health, self._queues = SURFACE["health"].run(), Guarded(every_queue, None)

    async def page(self, caller: Caller, accept: str) -> tuple[str, bytes]:
        """Media type and text, with the queues that the caller may see."""
        health: Health = await self._engine.read(self._health, caller, Nothing())
        queues: list[QueueConfig] = await self._engine.read(self._queues, caller, Nothing())
        times: TimeFigures = await self._engine.read(figures.of_time)
        seen = Seen(health, queues, times, self._gate.limit)
        written: tuple[str, bytes] = await self._engine.compute(partial(self._written, seen, accept))
        return written

    def _others(self) -> Iterator[Gauge]:
        for look in self._beside:
            try:
                yield from look()
            except Exception:  # the store's figures are worth having without the others
                log.exception("figures of what runs beside the service are missing")

    def _written(self, seen: Seen, accept: str) -> tuple[str, bytes]:
        from prometheus_client import CollectorRegistry, ProcessCollector, exposition

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        registry.register(_Collected(self._families(seen)))
        encode, media_type = exposition.choose_encoder(accept)
        return media_type, encode(registry)

    def _families(self, seen: Seen) -> list[Any]:
        meter = self._engine.meter
        files = None if meter.path is None else figures.of_files(meter.path)
        return [
            *_of_verbs(self._metrics), *_of_gate(self._gate, seen.limit), *_of_engine(meter),
            _gauge("tessera_streams", "Followers of the log.", self._streams()),
            *_of_store(seen, files), *map(_of_others, self._others()),
        ]  # fmt: skip


class LocalFigures:
    """An ASGI application of the figures alone, for a port that nobody but this machine reaches. It wants no
    key, so it shows what is anybody's to see; and it answers under the machine's own names only, for a page
    of elsewhere that has its name point here comes with that name.
    """

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope["headers"])
        host = (headers.last(b"host") or b"").decode("latin-1").partition(":")[0]
        if scope["path"] != METRICS or host not in LOOPBACK_NAMES:
            answer = answers.refused(NotFound(f"here are only the figures: {METRICS}"))
        elif scope["method"] not in ("GET", "HEAD"):
            answer = answers.refused(MethodNotAllowed(allow="GET, HEAD"))
        else:
            try:
                accept = (headers.last(b"accept") or b"").decode("latin-1")
                answer = answers.text(*await self._exposition.page(NOBODY, accept))
            except TesseraError as refusal:
                answer = answers.refused(refusal)
        await answer.send(send, [], scope.get("tessera.words"))

    def refuse_unheard(self, refusal: TesseraError, client: Any, words: Words) -> None:
        """Answer what came instead of a request."""
        answers.refused(refusal).reply([], words)


class _Collected:
    """What a registry asks for."""

    def __init__(self, families: list[Any]) -> None:
        self._families = families

    def collect(self) -> list[Any]:
        """Everything."""
        return self._families


def _of_verbs(metrics: Metrics) -> Iterator[Any]:
    calls = _counter("tessera_verbs", "Calls of verbs, by what they came to.", ["verb", "outcome"])
    counted = {**dict.fromkeys(ALERTING, 0), **metrics.outcomes}
    for (verb, outcome), number in counted.items():
        calls.add_metric([verb, outcome], number)
    yield calls
    says = "Seconds that a verb took in the engine, until its answer was on disk."
    took = _histogram("tessera_verb_seconds", says, ["verb"])
    for verb, histogram in list(metrics.verbs.items()):
        _add(took, [verb], histogram, SECOND_US)
    yield took
    answers = _counter("tessera_http_answers", "HTTP answers; status 0: nobody was there.", ["status"])
    for status, number in list(metrics.answers.items()):
        answers.add_metric([str(status)], number)
    yield answers
    yield _gauge("tessera_build_info", "The version that runs; always 1.", 1, {"version": VERSION})


def _of_gate(gate: Gate, limit: int) -> Iterator[Any]:
    yield _gauge("tessera_claims_limit", "Claims that may be in the engine at once, for now.", limit)
    yield _gauge("tessera_claims_running", "Claims in the engine.", gate.running)
    yield _gauge("tessera_claims_in_line", "Claims that wait for their turn.", gate.standing)
    yield _gauge("tessera_waiting", "Claims and looks that wait for something to come.", gate.parked)
    refused = _counter("tessera_claims_refused", "Claims sent away before the engine, by why.", ["why"])
    for why, number in list(gate.refused.items()):
        refused.add_metric([why], number)
    yield refused


def _of_engine(meter: Meter) -> Iterator[Any]:
    verbs = _histogram("tessera_commit_verbs", "Verbs that shared a commit.", [])
    _add(verbs, [], meter.batches, 1)
    yield verbs
    syncs = _histogram("tessera_sync_seconds", "Seconds that the disk took for a sync.", [])
    _add(syncs, [], meter.syncs, SECOND_US)
    yield syncs


def _of_store(seen: Seen, files: FileFigures | None) -> Iterator[Any]:
    tasks = _gauges("tessera_tasks", "Tasks of a queue in a state.", ["queue", "state"])
    oldest = _gauges("tessera_oldest_ready_seconds", "Since when the oldest could be claimed.", ["queue"])
    expired = _gauges("tessera_expired_leases", "Leases that have run out and are not settled.", ["queue"])
    overdue = _gauges("tessera_overdue_tasks", "Delays and parks whose time has come.", ["queue"])
    late = _gauges("tessera_late_seconds", "How long the first overdue thing has been so.", ["queue"])
    for queue, health in seen.health.queues.items():
        for state in STATES:
            tasks.add_metric([queue, state], getattr(health, state))
        oldest.add_metric([queue], health.oldest_ready_age_seconds or 0.0)
        one = seen.times.late.get(queue)
        expired.add_metric([queue], 0 if one is None else one.expired_leases)
        overdue.add_metric([queue], 0 if one is None else one.overdue_tasks)
        late.add_metric([queue], 0.0 if one is None else one.late_seconds)
    paused = _gauges("tessera_queue_paused", "Whether a queue is paused (1), so gives no leases.", ["queue"])
    for one_queue in seen.queues:
        paused.add_metric([one_queue.name], float(one_queue.paused is True))
    yield from (tasks, oldest, expired, overdue, late, paused)
    behind = seen.times.clock_behind_seconds
    yield _gauge("tessera_clock_behind_seconds", "The machine's clock behind the store's instant.", behind)
    if (reaped := seen.times.reaped_seconds_ago) is not None:
        yield _gauge("tessera_reaped_ago_seconds", "Since the reaper last ran.", reaped)
    if files is not None:
        yield _gauge("tessera_wal_bytes", "Size of the write-ahead log.", files.wal_bytes)
        if (free := files.disk_free_bytes) is not None:
            yield _gauge("tessera_disk_free_bytes", "Room on the store's disk.", free)


def _of_others(gauge: Gauge) -> Any:
    labels = sorted({label for given, _ in gauge.values for label in given})
    family = _gauges(gauge.name, gauge.says, labels)
    for given, value in gauge.values:
        family.add_metric([given[label] for label in labels], value)
    return family


def _gauges(name: str, says: str, labels: list[str]) -> Any:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(name, says, labels=labels)


def _gauge(name: str, says: str, value: float, labels: dict[str, str] | None = None) -> Any:
    family = _gauges(name, says, list(labels or ()))
    family.add_metric(list((labels or {}).values()), value)
    return family


def _counter(name: str, says: str, labels: list[str]) -> Any:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(name, says, labels=labels)


def _histogram(name: str, says: str, labels: list[str]) -> Any:
    from prometheus_client.core import HistogramMetricFamily

    return HistogramMetricFamily(name, says, labels=labels)


def _add(family: Any, labels: list[str], histogram: Histogram, unit: float) -> None:
    """A histogram's counts, each with those below it, as the form wants them."""
    buckets, below = [], 0
    counts, total = list(histogram.counts), histogram.total
    for bound, count in zip([*histogram.bounds, float("inf")], counts, strict=True):
        below += count
        text = "+Inf" if bound == float("inf") else repr(bound / unit)
        buckets.append((text, below))
    family.add_metric(labels, buckets, total / unit)
