"""restore, of what a store keeps beside its tasks: feeds, records, blobs, objects."""

from __future__ import annotations

import pytest

from tessera.errors import NotFound, VersionConflict
from upkeep.conftest import Town


def test_no_cursor_comes_again(here: Town) -> None:
    """Whoever follows a feed by a cursor from before the restore meets all that is published after it, and
    no cursor that was handed out stands for something else, in feeds of the backup and in others.
    """
    file = here.backup()
    with here.open() as store:
        lost = [store.publish_feed(feed, {"lost": n}).cursor for feed in ("news", "late") for n in range(5)]
    restored = here.restore(file, force=True)
    with here.open() as store:
        assert store.verify().findings == []
        for feed in ("news", "late"):
            assert store.poll_feed(feed, after=max(lost)).items == []
            new = [store.publish_feed(feed, {"new": n}).cursor for n in range(2)]
            assert new == [restored.epoch.epoch + 1, restored.epoch.epoch + 2]
            page = store.poll_feed(feed, after=max(lost))
            assert [(item.cursor, item.payload) for item in page.items] == [
                (new[0], {"new": 0}),
                (new[1], {"new": 1}),
            ]
        assert [item.payload for item in store.poll_feed("news").items[:3]] == [{"n": n} for n in range(3)]
        assert store.verify().findings == []


def test_two_restores_of_feeds(here: Town) -> None:
    """A feed that has been through two restores still verifies, and its cursors still rise."""
    cursors = []
    for _ in range(2):
        here.world.pass_seconds(1)
        here.restore(here.backup(force=True), force=True)
        with here.open() as store:
            cursors.append(store.publish_feed("news", {}).cursor)
            assert store.verify().findings == []

    assert cursors == sorted(set(cursors))


def test_records_and_objects_come_back_as_they_were(here: Town) -> None:
    """Every version of the backup is there, what came later is not, and versions go on without a gap."""
    file = here.backup()
    with here.open() as store:
        store.put_record("facts", "one", {"n": 3}, 2)
        store.put_object("nouns", "note", b"three", expected_version=2)
        late = store.put_blob(b"late")
    here.restore(file, force=True)
    with here.open() as store:
        assert [one.value for one in store.record_history("facts", "one").versions] == [{"n": 1}, {"n": 2}]
        assert store.get_object("nouns", "note") == b"two two"
        with pytest.raises(NotFound):
            store.get_blob(late)
        with pytest.raises(VersionConflict):
            store.put_record("facts", "one", {"n": 4}, 3)
        assert store.put_record("facts", "one", {"n": 4}, 2).version == 3
        assert store.verify().findings == []
