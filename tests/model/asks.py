"""What the state machine asks: few names, so that things meet; settings small, so that time matters."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from model.checks import HUSHED
from tessera.names import EFFECT_CLASSES

QUEUES = ("alpha", "beta")
KINDS = ("compile", "review")
IDS = ("a", "b", "c", "d", "e", "f", "g", "h")  # few: enqueue and split meet tasks that exist
UNKNOWN = "ghost"
CLAIM_KEYS = ("once", "again")

queues = st.sampled_from([*QUEUES, *QUEUES, *QUEUES, "nowhere"])
workers = st.sampled_from(["ann", "bob"])
texts = st.sampled_from([f"{HUSHED} one", f"{HUSHED} “two”", f"{HUSHED}\n\u2028\U0001f980"])
errors = st.none() | texts
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
briefs = st.builds(lambda number, word: {"n": number, "word": word}, st.integers(0, 9), texts)
used_keys = st.sampled_from([None, None, None, None, 0, 1, 2])  # None: a fresh one; else which of those used
delays = st.sampled_from([0, 0, 0.5, 0.5, 3, 20])
priorities = st.sampled_from([0, 0, 0, 1, -1, 1000])
kinds = st.sampled_from(KINDS)
effects = st.sampled_from(EFFECT_CLASSES)

_SETTINGS = {
    "heartbeat_seconds": st.sampled_from([1, 2, 5]),
    "miss_limit": st.integers(1, 3),
    "lease_seconds": st.sampled_from([2, 8, 30]),
    "max_attempts": st.integers(1, 4),
    "backoff_base_seconds": st.sampled_from([0, 1, 3]),
    "backoff_cap_seconds": st.sampled_from([0, 2, 7]),
}
first_settings = st.fixed_dictionaries(_SETTINGS)
settings = st.fixed_dictionaries(
    {}, optional=_SETTINGS | {"weight": st.integers(1, 3), "paused": st.sampled_from([False] * 7 + [True])}
)

filters = st.none() | st.lists(kinds, min_size=1, max_size=2)
effect_filters = st.none() | st.lists(effects, min_size=1, max_size=4)


def specs(known: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """A task to enqueue, depending on some that are known, now and then on one that is not."""
    return st.fixed_dictionaries(
        {
            "queue": queues,
            "kind": kinds,
            "brief": briefs,
            "effect_class": effects,
            "priority": priorities,
            "depends_on": st.just([]) | st.lists(st.sampled_from([*known * 9, UNKNOWN]), max_size=3),
            "delay_seconds": st.just(0) | delays,
        },
        optional={"task_id": st.sampled_from(IDS)},
    )


@st.composite
def families(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Children to split into, in waves; now and then one of them is not allowed."""
    children = []
    for index in range(draw(st.integers(1, 4))):
        child: dict[str, Any] = {"brief": draw(briefs), "after": []}
        if index:
            child["after"] = draw(st.lists(st.integers(0, index - 1), max_size=3))
        if draw(st.booleans()):
            child |= draw(
                st.fixed_dictionaries(
                    {}, optional={"kind": kinds, "queue": st.sampled_from(QUEUES), "priority": priorities}
                )
            )
        children.append(child)
    odd = draw(st.sampled_from(children))
    flaw = draw(st.sampled_from(["", "", "", "", "effect", "task_id", "twice", "queue", "after"]))
    if flaw == "effect":
        odd["effect_class"] = draw(effects)
    elif flaw in ("task_id", "twice"):
        odd["task_id"] = draw(st.sampled_from(IDS))
        if flaw == "twice":
            children[0]["task_id"] = odd["task_id"]
    elif flaw == "queue":
        odd["queue"] = "nowhere"
    elif flaw == "after":
        odd["after"] = [draw(st.sampled_from([-1, len(children), children.index(odd)]))]
    return children


_ACTS = {
    "heartbeat": st.tuples(st.just("heartbeat")),
    "submit": st.tuples(st.just("submit"), documents, used_keys, st.booleans(), errors),
    "split": st.tuples(st.just("split"), families()),
    "park": st.tuples(st.just("park"), texts, st.sampled_from([None, 0.5, 4, 20])),
    "release": st.tuples(st.just("release"), delays),
}

# What a holder does with a lease: the verb, then what it takes.
acts = st.sampled_from(["heartbeat", "submit", "submit", "split", "park", "release"]).flatmap(
    _ACTS.__getitem__
)
