"""Bring a store to the schema of a folder of migrations.

python upgrade.py STORE FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tessera.runtime import real_runtime
from tessera.storage.migrate import migrate
from tessera.storage.sqlite import connect


def run(path: str, folder: str) -> None:
    """All the steps that are missing."""
    connection = connect(path)
    try:
        migrate(connection, real_runtime(), Path(folder))
    finally:
        connection.close()


if __name__ == "__main__":
    run(*sys.argv[1:3])
