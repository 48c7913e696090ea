"""Where a database is, as anybody may read it."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit


def shown(url: str) -> str:
    """A libpq URL as it was given, without the passwords in it."""
    parts = urlsplit(url)
    user, _, hosts = parts.netloc.rpartition("@")
    user = user.partition(":")[0]
    named = [
        one for one in parts.query.split("&") if one and "password" not in unquote(one.partition("=")[0])
    ]
    query = "?" * bool(named) + "&".join(named)
    return f"{parts.scheme}://{user}{'@' * bool(user)}{hosts}{parts.path}{query}"
