"""The command line under test: in this process through click's runner, or as a process of its own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tessera
from tessera.cli.main import main
from tessera.errors import Unavailable
from tessera.library import Door, Tessera

PATIENCE_SECONDS = 20  # of a test with a process that says nothing


class Cli:
    """`tessera` on one store."""

    def __init__(self, url: str) -> None:
        self.env = {**os.environ, "TESSERA_STORE": url, "COLUMNS": "100"}

    def __call__(self, *args: str, code: int = 0, input: str | bytes | None = None) -> Result:
        """Run a command that must end with this exit code."""
        result = CliRunner().invoke(main, args, env=self.env, input=input, prog_name="tessera")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def json(self, *args: str, code: int = 0, input: str | bytes | None = None) -> Any:
        """The same with `--json`; what it printed, parsed."""
        return json.loads(self(*args, "--json", code=code, input=input).stdout)

    @contextmanager
    def process(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A process of its own, killed at the end if it is still there. Ctrl-C works in it even where the
        tests run in the background.
        """
        with subprocess.Popen(
            [sys.executable, "-m", "tessera.cli.main", *args], env=self.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()


class Pipe:
    """A named pipe through which a command tells how far it is. Reading it to the end proves that every
    process which held it is gone.
    """

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def line(self) -> str:
        """The next line somebody writes."""
        text = b""
        while not text.endswith(b"\n"):
            byte = self._byte()
            assert byte, f"the pipe was closed after {text!r}"
            text += byte
        return text.decode().rstrip("\n")

    def wait_for_end(self) -> None:
        """Until nobody holds it any more."""
        while self._byte():
            pass

    def close(self) -> None:
        os.close(self._end)

    def _byte(self) -> bytes:
        ready, _, _ = select.select([self._end], [], [], PATIENCE_SECONDS)
        assert ready, "nothing came through the pipe"
        return os.read(self._end, 1)


class Outage:
    """A door that refuses to answer as often as told, after doing what was asked if told so."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.times = 0
        self.only: str | None = None  # the verb that is not answered, if not every one
        self.answers_get_lost = False

    def call(self, verb: str, ask: bytes, body: Any = b"") -> Any:
        if self.times == 0 or self.only not in (None, verb):
            return self._door.call(verb, ask, body)
        self.times -= 1
        if self.answers_get_lost:
            self._door.call(verb, ask, body)
        raise Unavailable

    def as_key(self, secret: str) -> Door:
        return self._door.as_key(secret)

    def close(self) -> None:
        self._door.close()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's environment reaches a test, and what a command leaves behind is swept."""
    for name in [name for name in os.environ if name.startswith("TESSERA_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def store(url: str) -> Iterator[Tessera]:
    """The store behind the command line, with a queue `q` that retries at once."""
    with tessera.open(url) as store:
        store.define_queue("q", heartbeat_seconds=1, backoff_base_seconds=0)
        yield store
        assert store.counts(recount=True).agree


@pytest.fixture
def cli(url: str, store: Tessera) -> Cli:
    return Cli(url)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    pipe = Pipe(tmp_path / "pipe")
    yield pipe
    pipe.close()


@pytest.fixture
def outage(store: Tessera) -> Outage:
    """The store's door, which can be told not to answer."""
    return Outage(store._door)


@pytest.fixture
def enqueue(store: Tessera) -> Callable[..., str]:
    """Put a task on `q`; its id."""
    return lambda **spec: store.enqueue({"queue": "q", "kind": "k", "brief": {}, **spec})
