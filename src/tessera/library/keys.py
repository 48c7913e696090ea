"""The library's methods for keys. (`store.py` says how methods are.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from tessera import models
from tessera.library.fields import GrantFields, KeyFields


class KeyVerbs:
    """What `Tessera` can do with keys, under an admin key or on the store's own machine."""

    _call: Callable[..., Any]
    _whole: Callable[[str], list[Any]]

    # Keys

    def issue_key(self, **body: Unpack[KeyFields]) -> models.IssuedKey:
        """Make a key. The answer is the only place that ever shows its secret. `name` is a label; left out,
        `queues` and `kinds` are all (`*`), `effect_classes` is `["read"]`, `scopes` (`admin`, `store`,
        `agent:runtime`) none, `days` 14, which is the most. `public` needs `approval`, else it is
        `scope_denied`.
        """
        return self._call("issue_key", **body)

    def issue_approval(self, **grant: Unpack[GrantFields]) -> models.Approval:
        """The owner's single-use word that one key of this grant may be `public`. Good for an hour."""
        return self._call("issue_approval", **grant)

    def revoke_key(self, key_id: str) -> models.KeyGrant:
        """Let a key count no more, at once."""
        return self._call("revoke_key", key_id=key_id)

    def keys(self) -> list[models.KeyGrant]:
        """Every key without its secret, oldest first."""
        return self._whole("keys")

    def keys_page(self, *, limit: int = 100, after: str | None = None) -> models.Keys:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._call("keys", limit=limit, after=after)
