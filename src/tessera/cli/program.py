"""Somebody else's program, run once for one lease: its files, its process group, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from tessera.cli.leash import Leash
from tessera.cli.text import cut_front, json_value
from tessera.limits import ERROR_BYTES_MAX, OUTPUT_BYTES_MAX
from tessera.scratch import Scratch

FOLDERS: Final = "tessera-work."  # how the names of private directories begin
STDOUT_BYTES_MAX: Final = 4 * OUTPUT_BYTES_MAX  # white space and escapes may fall away; beyond, nobody looks


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to hand in for a program that has ended."""

    ok: bool
    output: Any = None
    error: str | None = None


def judge(code: int, stdout: bytes, stderr: bytes) -> Verdict:
    """Exit code 0 and one JSON document (or nothing) on stdout is success; all else fails and says why."""
    if code != 0:
        said = cut_front(stderr.decode(errors="replace"), ERROR_BYTES_MAX)
        return Verdict(ok=False, error=said if said.strip() else _how_it_ended(code))
    if len(stdout) > STDOUT_BYTES_MAX:
        return Verdict(ok=False, error=f"stdout is over the limit of {OUTPUT_BYTES_MAX} bytes")
    if not stdout.strip():
        return Verdict(ok=True)
    try:
        return Verdict(ok=True, output=json_value(stdout.decode()))
    except (ValueError, RecursionError) as error:
        return Verdict(ok=False, error=f"stdout is not one JSON document: {error}")


def _how_it_ended(code: int) -> str:
    if code > 0:
        return f"the command ended with exit code {code} and wrote nothing to stderr"
    return f"the command was killed by {signal.Signals(-code).name} and wrote nothing to stderr"


class Program:
    """A command in a session of its own. It reads and writes files in a private directory, not pipes: a pipe
    would let whatever the command leaves behind keep it open, and its reader waiting, for ever.

    Leaving the block ends the whole process group and removes the files. The group ends as well when this
    process does, even if it is killed.
    """

    def __init__(self, command: Sequence[str], stdin: bytes, lease: bytes, env: Mapping[str, str]) -> None:
        self._command = command
        self._given = {"stdin": stdin, "lease.json": lease}
        self._env = env
        self._files = ExitStack()
        self._started = False

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._started:
            self.reap()
        self._files.close()

    def start(self) -> None:
        """Start the command. Raises OSError when this machine cannot."""
        self._home = self._files.enter_context(Scratch(FOLDERS))
        for name, content in self._given.items():
            with self._create(name) as file:
                file.write(content)
        stdin = self._files.enter_context((self._home / "stdin").open("rb"))
        self._stdout = self._files.enter_context(self._create("stdout"))
        self._stderr = self._files.enter_context(self._create("stderr"))
        self._leash = Leash()
        self._files.callback(self._leash.let_go)
        self._process = subprocess.Popen(  # noqa: S603 - running the user's command is the purpose
            self._command, stdin=stdin, stdout=self._stdout, stderr=self._stderr, start_new_session=True,
            env={**self._env, "TESSERA_LEASE_FILE": str(self._home / "lease.json")},
        )  # fmt: skip
        self._started = True
        self._leash.hold(self._process.pid)

    def when_ended(self, tell: Callable[[], None]) -> None:
        """Call `tell` from another thread as soon as the command has ended."""

        def watch() -> None:
            # Only noticing, not reaping: the process id stays taken until `reap`, so the group's signal
            # cannot hit a stranger. Where the platform cannot do that, reaping it is.
            if hasattr(os, "waitid"):
                with suppress(ChildProcessError):  # it was reaped before we looked: it has ended too
                    os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._process.wait()
            tell()

        threading.Thread(target=watch, name="tessera-work-watch", daemon=True).start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the group that is left."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def reap(self) -> int:
        """End what is left of the group and give the exit code; minus the signal's number if one ended it."""
        if self._process.returncode is None:
            self.signal(signal.SIGKILL)
            self._leash.let_go()
        return self._process.wait()

    def verdict(self) -> Verdict:
        """What to hand in, once it has ended."""
        code = self.reap()
        self._stdout.seek(0)
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 2 * ERROR_BYTES_MAX))
        return judge(code, self._stdout.read(STDOUT_BYTES_MAX + 1), self._stderr.read())

    def _create(self, name: str) -> Any:
        """A new file of the directory, for nobody else's eyes."""
        return open(self._home / name, "x+b", opener=lambda path, flags: os.open(path, flags, 0o600))
