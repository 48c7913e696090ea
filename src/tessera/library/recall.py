"""The library's methods for finding what is known. (`store.py` says how methods are.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tessera import models
from tessera.errors import InvalidRequest


class RecallVerbs:
    """What `Tessera` can do to find records and objects, and what was learned."""

    _call: Callable[..., Any]

    # Recall

    def search_nouns(
        self, query: str, store: str | None = None, bucket: str | None = None, *, limit: int = 10
    ) -> list[models.NounScent]:
        """Records and objects that have the words of a query, in any language, the best first, each told in
        at most 150 tokens. `store` looks among its records only, `bucket` among its objects only, both in
        both.
        """
        found: models.Nouns = self._call("search_nouns", query=query, store=store, bucket=bucket, limit=limit)
        return found.nouns

    def noun(self, ref: str, *, home: str | None = None) -> models.Noun:
        """What is known of the noun that a scent's `ref` names, and its last versions. `home` (`store` or
        `bucket`) says which is meant where both have one of that name.
        """
        return self._call("noun", home=home, **_halves(ref))

    def read_noun(
        self, ref: str, first: int = 0, length: int = 4096, *, version: int | None = None,
        home: str | None = None,
    ) -> models.NounText:  # fmt: skip
        """Some of a noun's text, from a byte on, at most 65,536 of them; pass its `next` as `first` to go on.
        What is no text is refused: `get_object` gives bytes.
        """
        return self._call(
            "read_noun", first=first, length=length, version=version, home=home, **_halves(ref)
        )  # fmt: skip

    def match_reflex(self, query: str, *, limit: int = 10) -> models.Recalled:
        """What was learned for something like it (`matches`, the records of `tessera.reflexes`), and tasks
        like it that came to a dead end (`warnings`), the most alike first.
        """
        return self._call("match_reflex", query=query, limit=limit)


def _halves(ref: str) -> dict[str, str]:
    place, slash, key = str(ref).partition("/")
    if not slash:
        raise InvalidRequest("ref: a store or bucket, a slash and a key, as search_nouns gives it")
    return {"place": place, "key": key}
