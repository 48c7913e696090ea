"""What MCP clients keep about their servers: Claude Code as JSON, Codex as TOML. No key goes in: a file names
the variable, or the file, that holds it.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tessera.agent_files import json_object, program, text_of, with_json
from tessera.errors import InvalidRequest

KEY_VARIABLE: Final = "TESSERA_KEY"
TOOL_SECONDS: Final = 60  # a claim may wait 25; Codex gives up after 60 unless told otherwise
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TABLE: Final = "mcp_servers"

Entry = dict[str, Any]


def default_path(client: str, home: Path, environ: Mapping[str, str]) -> Path:
    """Where the client looks: Claude Code in the project's folder, Codex in its user's."""
    if client == "claude":
        return Path(".mcp.json").absolute()
    return Path(environ.get("CODEX_HOME") or home / ".codex") / "config.toml"


def entry(client: str, url: str, key_file: str | None) -> Entry:
    """The server as the client is to know it. A service is asked by Codex itself, which takes a key from a
    variable; Claude Code starts the bridge, for it passes variables on to a program more reliably than into
    a header. A store's file takes the bridge too.
    """
    from tessera.store_urls import is_service

    if client == "codex" and is_service(url) and key_file is None:
        return {
            "url": f"{url.rstrip('/')}/mcp", "bearer_token_env_var": KEY_VARIABLE,
            "tool_timeout_sec": TOOL_SECONDS,
        }  # fmt: skip
    store = url if "://" in url else str(Path(url).absolute())
    keyed = [] if key_file is None else ["--key-file", str(Path(key_file).absolute())]
    made: Entry = {"command": program(), "args": ["mcp", "stdio", "--store", store, *keyed]}
    if is_service(url) and key_file is None:
        made["env"] = {KEY_VARIABLE: f"${{{KEY_VARIABLE}}}"}
    return made


def text_with(client: str, path: Path, name: str, entry: Entry | None) -> str:
    """The client's file with the entry under that name, or without it. Refuses a file that is not understood;
    all else in it stays as it is.
    """
    if not _NAME.fullmatch(name):
        raise InvalidRequest("a server's name is 1 to 64 letters, digits, _ or -")
    return (_claude if client == "claude" else _codex)(path, name, entry)


def _claude(path: Path, name: str, entry: Entry | None) -> str:
    settings = json_object(path)
    after = _with(settings, "mcpServers", name, None if entry is None else {"type": "stdio", **entry}, path)
    return with_json(path, after)


def _codex(path: Path, name: str, entry: Entry | None) -> str:
    """TOML is changed as text, so that comments stay: our table is cut out, or written at the end. What came
    of it is read back and compared before anybody sees it.
    """
    text = text_of(path)
    after = _with(_toml(text, path), _TABLE, name, entry, path)
    if after == _toml(text, path):
        return text
    kept = _without_table(text, name)
    written = kept if entry is None else f"{kept}{kept and chr(10)}{_table(name, entry)}"
    if _toml(written, path) != after:
        raise InvalidRequest(
            f"{path} spells {_TABLE}.{name} in a way that is not known here: edit it by hand"
        )
    return written


def _with(settings: dict[str, Any], key: str, name: str, entry: Entry | None, path: Path) -> dict[str, Any]:
    """The settings with an entry, or without it and without what would be left empty by that."""
    after = copy.deepcopy(settings)
    servers = after.setdefault(key, {})
    if not isinstance(servers, dict):
        raise InvalidRequest(f"{path}: {key} has a shape that is not known here: edit it by hand")
    if entry is not None:
        servers[name] = entry
    else:
        servers.pop(name, None)
    if not servers and (settings.get(key) or key not in settings):
        del after[key]
    return after


def _toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{path} is not TOML ({error}): mend it first") from error


def _without_table(text: str, name: str) -> str:
    """The text without the table of that name and the tables in it."""
    ours = re.compile(rf'\s*\[\s*{_TABLE}\s*\.\s*"?{re.escape(name)}"?\s*[.\]]')
    kept, cutting = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            cutting = bool(ours.match(line))
        if not cutting:
            kept.append(line)
    text = "".join(kept).rstrip()
    return text and text + "\n"


def _table(name: str, entry: Entry) -> str:
    """One table of plain values; JSON's spelling of strings and lists is TOML's too."""
    lines = (f"{key} = {json.dumps(value)}" for key, value in entry.items())
    return "\n".join([f"[{_TABLE}.{name}]", *lines]) + "\n"
