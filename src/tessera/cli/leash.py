"""The end of a process group with the process that started it, however that one ends."""

from __future__ import annotations

import subprocess
from typing import Final

# The first line is the group; the end of the input is the end of the process that writes here.
_WATCH: Final = """trap '' HUP INT TERM; read -r group && { read -r more; kill -s KILL -- "-$group"; }"""


class Leash:
    """A helper process that waits for the end of a pipe of which this process alone has the writing end, and
    then kills a group. Nobody can keep the pipe open or forget to close it: SIGKILL and a crash do it too.

    It is in a session of its own, so what ends this process or the group does not end it first. Until `hold`
    has been called, which takes an instant after the group's start, the group is not held.
    """

    def __init__(self) -> None:
        """Raises OSError when this machine cannot start a process more."""
        self._watcher = subprocess.Popen(  # noqa: S603 - a script of our own
            ["/bin/sh", "-c", _WATCH], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, bufsize=0,
        )  # fmt: skip

    def hold(self, group: int) -> None:
        """Let this process group end with this process. Raises OSError when the helper is gone."""
        assert self._watcher.stdin is not None
        self._watcher.stdin.write(b"%d\n" % group)

    def let_go(self) -> None:
        """End the helper and leave the group alone: to be done while the group's number is still taken."""
        self._watcher.kill()
        self._watcher.wait()
        assert self._watcher.stdin is not None
        self._watcher.stdin.close()
