"""Where a key comes from, and where it never goes."""

from __future__ import annotations

import logging
import traceback

import pytest

import tessera
from tessera.client.wire import Key
from tessera.errors import InvalidRequest, Unauthorized, Unavailable

SECRET = "s3cret-of-this-test-and-no-other"


def test_a_key_shows_itself_nowhere(service, caplog) -> None:
    """Not in a `repr`, not in any log at its finest, not in what a failed request leaves behind."""
    caplog.set_level(logging.DEBUG)
    with tessera.Client(service.url, SECRET) as client, pytest.raises(Unauthorized) as refusal:
        client.counts()
    with (
        tessera.Client("http://127.0.0.1:9", SECRET, retries=0) as nobody,
        pytest.raises(Unavailable) as gone,
    ):
        nobody.counts()

    said = [
        repr(client), repr(nobody), repr(client.door.wire), repr(vars(client.door.wire)),
        repr(client.door.wire.request("counts", b"{}")), str(refusal.value), caplog.text,
        *("".join(traceback.format_exception(info.value)) for info in (refusal, gone)),
    ]  # fmt: skip
    assert service.url in said[0]
    assert [text for text in said if SECRET[:8] in text] == []
    assert repr(Key(SECRET)) == "Key(...)"


def test_the_environment_holds_the_key(service, key, monkeypatch) -> None:
    """Without a key of its own a client takes the one in TESSERA_KEY, and `tessera.open` does too."""
    monkeypatch.setenv("TESSERA_KEY", key + "\n")

    with tessera.Client(service.url) as client, tessera.open(service.url) as opened:
        assert client.counts()
        assert opened.counts()
        assert isinstance(opened, tessera.Client)


def test_a_file_is_its_owner_s_whatever_the_environment_holds(path, monkeypatch) -> None:
    """TESSERA_KEY is for services: a file is opened with all rights, or under a key that is given."""
    monkeypatch.setenv("TESSERA_KEY", SECRET)

    with tessera.open(str(path)) as owner:
        assert owner.keys()
    with tessera.open(str(path), key=SECRET) as stranger, pytest.raises(Unauthorized):
        stranger.counts()


@pytest.mark.parametrize(
    "url",
    [
        "http://key:secret@host", "http://host/?key=secret", "http://host/#secret", "http://", "ftp://host",
        "https:///path", "",
    ],
)  # fmt: skip
def test_a_url_holds_no_secret(url) -> None:
    """A URL with a user, a query or no host is refused, and not repeated."""
    with pytest.raises(InvalidRequest) as refusal:
        tessera.Client(url)
    assert "secret" not in refusal.value.detail


@pytest.mark.parametrize("secret", ["", "a b", "x\nHost: evil", "schlüssel", "x" * 513])
def test_what_no_header_can_carry_is_no_key(secret) -> None:
    """A key is visible ASCII; another is refused without being repeated."""
    with pytest.raises(InvalidRequest) as refusal:
        tessera.Client("http://host", secret)
    assert "evil" not in refusal.value.detail
