"""A service, met through its client: one that the suite starts for itself, or the one at TESSERA_URL.

| Variable | Of the service to test |
|---|---|
| TESSERA_URL | its address; left out, the suite starts one on a fresh store |
| TESSERA_KEY | a key with every queue, kind and effect class, and the scopes `admin` and `store` |
| TESSERA_RESTART_CMD | what a shell runs to stop it and start it again; T14 needs it |
| TESSERA_LOG_PATH | the file that it logs to; T16 reads it |
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import tessera
from conformance.backend import ServiceBackend
from conformance.backends.served import Clock
from tessera.errors import Unavailable
from tessera.library import Tessera

ROOT = Path(__file__).parents[2]
EVERYTHING = {
    "effect_classes": ["read", "write-internal", "write-repo", "public"],
    "scopes": ["admin", "store"],
}
PATIENCE_SECONDS = 60.0


class HttpBackend(ServiceBackend):
    """A service on the loopback and a fresh store, its clock pushed instead of slept through."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="tessera-conformance-")
        self._folder = Path(self._home.name)
        self._clock = Clock(self._folder / "clock")
        self.log = self._folder / "log"
        with tessera.open(self.store) as owner:
            approval = owner.issue_approval(**EVERYTHING).approval
            self.key = owner.issue_key(name="suite", approval=approval, **EVERYTHING).key
        self._start()

    @property
    def store(self) -> str:
        """What is served."""
        return str(self._folder / "tessera.db")

    def pass_seconds(self, seconds: float) -> None:
        self._clock.push(seconds)

    def restart(self) -> None:
        self._stop()
        self._start()

    def close(self) -> None:
        self._stop()
        self._home.cleanup()

    def said(self) -> str:
        """All that the service has written: its log, its standard output."""
        return self.log.read_text(encoding="utf-8")

    def _start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "conformance.backends.served",
            self.store,
            str(self._folder / "clock"),
        ]
        env = {name: value for name, value in os.environ.items() if not name.startswith("TESSERA_")}
        with self.log.open("ab") as log:
            self._service = subprocess.Popen(
                command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
            )
        assert self._service.stdout is not None
        self.url = self._service.stdout.readline().decode().strip()
        assert self.url.startswith("http://"), self.said()
        self.client: Tessera = tessera.Client(self.url, self.key)

    def _stop(self) -> None:
        self.client.close()
        self._service.terminate()
        rest, _ = self._service.communicate(timeout=PATIENCE_SECONDS)
        assert (self._service.returncode, rest) == (0, b""), self.said()


class RemoteBackend(ServiceBackend):
    """The service at TESSERA_URL, on its own clock."""

    def __init__(self) -> None:
        self.url = os.environ["TESSERA_URL"]
        self.key = os.environ["TESSERA_KEY"]
        self.client = tessera.Client(self.url, self.key)

    def pass_seconds(self, seconds: float) -> None:
        time.sleep(seconds)

    def restart(self) -> None:
        subprocess.run(os.environ["TESSERA_RESTART_CMD"], shell=True, check=True)
        self.client.close()
        self.client = tessera.Client(self.url, self.key)
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            with suppress(Unavailable):
                self.client.health()
                return
        raise TimeoutError(f"no service answers at {self.url} after the restart")

    def close(self) -> None:
        self.client.close()

    def said(self) -> str:
        """What it has logged."""
        return Path(os.environ["TESSERA_LOG_PATH"]).read_text(encoding="utf-8")


def backend() -> ServiceBackend:
    """The service that the environment names, or one of our own."""
    return RemoteBackend() if os.environ.get("TESSERA_URL") else HttpBackend()
