"""A service that lasts as long as whoever started it: it ends when its standard input does.

python -m examples.serving STORE

An example starts one with `serving`. A real one is started with `tessera serve`, by systemd or the like.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tessera import app

ROOT: Final = Path(__file__).parents[1]  # where `examples` can be imported from
END_SECONDS: Final = 15


@contextmanager
def serving(store: Path, log: Path | None = None) -> Iterator[str]:
    """Serve a store on a free port of this machine while the block runs; gives the service's URL."""
    command = [sys.executable, "-m", "examples.serving", str(store.absolute())]
    with (log or store.with_suffix(".log")).open("ab") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
            start_new_session=True,  # so that Ctrl-C reaches the example alone, which ends this in order
        )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            if not url:
                raise RuntimeError(f"the service did not start; see {file.name}")
            yield url
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def end_with_stdin() -> None:
    """Have this process told to end when its standard input does: when whoever started it is gone."""

    def watch() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve the store that the command line names; the first line on standard output is the URL."""
    end_with_stdin()
    app.serve(started=lambda url: print(url, flush=True), store=sys.argv[1], port=0)


if __name__ == "__main__":
    main()
